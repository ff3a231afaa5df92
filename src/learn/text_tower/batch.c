/* SPDX-License-Identifier: Apache-2.0 */
/* batch.c - assembling a batch: word dropout, distinct words, their trigrams. */
#include "text_tower/batch.h"

#include <string.h>

#include "base/error.h"
#include "base/rng.h"

/* The number of a word within the batch; a new word is added. */
static thr_status number_word(thr_context *context, uint32_t word, thr_batch_words *words, uint32_t *number,
                              thr_error *err) {
    if (words->local[word] == 0) {
        THR_TRY(thr_grow(context, &words->numbers, &words->numbers_capacity, words->n + 1, sizeof *words->numbers,
                         "a batch", err));
        words->numbers[words->n] = word;
        words->local[word] = (uint32_t)++words->n;
    }
    *number = words->local[word] - 1;
    return THR_OK;
}

static thr_status fill_texts(thr_context *context, const thr_batch_source *source, thr_side side,
                             const thr_batch_mode *mode, thr_batch *batch, thr_error *err) {
    const thr_text_list *list = &source->pairs->texts[side];
    const uint32_t *numbers = source->numbers;
    const size_t n = source->n;
    thr_batch_words *words = thr_batch_table(source->config, batch, side);
    THR_TRY(thr_grow(context, &batch->offsets[side], &batch->offsets_capacity[side], n + 1,
                     sizeof *batch->offsets[side], "a batch", err));
    size_t n_words = 0;
    for (size_t i = 0; i < n; i++)
        n_words += list->offsets[numbers[i] + 1] - list->offsets[numbers[i]];
    THR_TRY(thr_grow(context, &batch->words[side], &batch->words_capacity[side], n_words, sizeof *batch->words[side],
                     "a batch", err));
    const uint64_t dropped = (uint64_t)((double)mode->dropout * 0x1p32);
    uint64_t rng = mode->seed + (uint64_t)side;
    n_words = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t end = list->offsets[numbers[i] + 1];
        batch->offsets[side][i] = n_words;
        for (size_t w = list->offsets[numbers[i]]; w < end; w++) {
            const bool is_last_chance = w + 1 == end && n_words == batch->offsets[side][i];
            if (dropped != 0 && thr_rng_next(&rng) >> 32 < dropped && !is_last_chance)
                continue;
            THR_TRY(number_word(context, list->words.items[w], words, &batch->words[side][n_words++], err));
        }
    }
    batch->offsets[side][n] = n_words;
    batch->texts[side] = (thr_texts){.n_texts = n, .offsets = batch->offsets[side], .words = batch->words[side]};
    return THR_OK;
}

/* Remove the previous batch's words. */
static thr_status start_words(thr_context *context, const thr_lexicon *lexicon, thr_batch_words *words,
                              thr_error *err) {
    if (words->local == NULL)
        THR_TRY(thr_alloc_zero(context, lexicon->n_words, sizeof *words->local, &words->local, "a batch", err));
    for (size_t i = 0; i < words->n; i++)
        words->local[words->numbers[i]] = 0;
    words->n = 0;
    return THR_OK;
}

/* Look up the words' trigrams and reserve memory for their vectors. */
static thr_status spell(thr_context *context, const thr_lexicon *lexicon, size_t n_columns, bool learn,
                        thr_batch_words *words, thr_error *err) {
    THR_TRY(thr_grow(context, &words->offsets, &words->offsets_capacity, words->n + 1, sizeof *words->offsets,
                     "a batch", err));
    size_t n_rows = 0;
    for (size_t i = 0; i < words->n; i++) {
        words->offsets[i] = n_rows;
        n_rows += lexicon->offsets[words->numbers[i] + 1] - lexicon->offsets[words->numbers[i]];
    }
    words->offsets[words->n] = n_rows;
    THR_TRY(thr_grow(context, &words->rows, &words->rows_capacity, n_rows + 1, sizeof *words->rows, "a batch", err));
    for (size_t i = 0; i < words->n; i++) {
        const size_t n = words->offsets[i + 1] - words->offsets[i];
        if (n != 0) /* 0 if no trigram is known */
            memcpy(words->rows + words->offsets[i], lexicon->rows + lexicon->offsets[words->numbers[i]],
                   n * sizeof *words->rows);
    }
    THR_TRY(thr_grow(context, &words->vectors, &words->vectors_capacity, words->n * n_columns, sizeof *words->vectors,
                     "words' vectors", err));
    if (!learn)
        return THR_OK;
    THR_TRY(thr_grow(context, &words->d_vectors, &words->d_vectors_capacity, words->n * n_columns,
                     sizeof *words->d_vectors, "words' gradients", err));
    memset(words->d_vectors, 0, words->n * n_columns * sizeof *words->d_vectors);
    return THR_OK;
}

thr_status thr_text_batch_fill(thr_context *context, const thr_batch_source *source, const thr_batch_mode *mode,
                               thr_batch *batch, thr_error *err) {
    const thr_tower_config *config = source->config;
    const size_t n_tables = thr_model_n_tables(config);
    for (size_t i = 0; i < n_tables; i++)
        THR_TRY(start_words(context, source->lexicon, &batch->tables[i], err));
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++)
        THR_TRY(fill_texts(context, source, side, mode, batch, err));
    for (size_t i = 0; i < n_tables; i++)
        THR_TRY(spell(context, source->lexicon, thr_model_n_columns(config), mode->learn, &batch->tables[i], err));
    return THR_OK;
}

void thr_text_batch_free(thr_context *context, thr_batch *batch) {
    for (size_t side = 0; side < THR_N_SIDES; side++) {
        thr_batch_words *words = &batch->tables[side];
        THR_RELEASE(context, batch->words[side], batch->offsets[side], words->local, words->numbers, words->offsets,
                    words->rows, words->vectors, words->d_vectors);
    }
    *batch = (thr_batch){0};
}
