/* SPDX-License-Identifier: Apache-2.0 */
/* lexicon.c - a hash table of words, their letters and counts, all in growing arrays. */
#include "words/lexicon.h"

#include <string.h>

#include "base/error.h"

enum { FIRST_STARTS = 1024 };

static uint64_t hash_word(const uint32_t *word, size_t n_letters) {
    uint64_t hash = 0;
    for (size_t i = 0; i < n_letters; i++) {
        hash = (hash ^ word[i]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return hash;
}

/* Reserve memory for one more word of n_letters in every array. */
static thr_status make_room(thr_context *context, thr_lexicon *lexicon, size_t n_letters, thr_error *err) {
    const size_t n = lexicon->n_words;
    THR_TRY(thr_slots_make_room(context, &lexicon->slots, n, "a lexicon", err));
    if (lexicon->starts == NULL) {
        THR_TRY(thr_grow(context, &lexicon->starts, &lexicon->starts_capacity, FIRST_STARTS, sizeof *lexicon->starts,
                         "a lexicon", err));
        lexicon->starts[0] = 0;
    }
    const size_t used = lexicon->starts[n];
    THR_TRY(thr_grow(context, &lexicon->starts, &lexicon->starts_capacity, n + 2, sizeof *lexicon->starts, "a lexicon",
                     err));
    THR_TRY(thr_grow(context, &lexicon->counts, &lexicon->counts_capacity, n + 1, sizeof *lexicon->counts, "a lexicon",
                     err));
    return thr_grow(context, &lexicon->letters, &lexicon->letters_capacity, used + n_letters, sizeof *lexicon->letters,
                    "a lexicon", err);
}

static bool is_word(const thr_lexicon *lexicon, size_t w, const uint32_t *word, size_t n_letters) {
    const size_t start = lexicon->starts[w];
    return lexicon->starts[w + 1] - start == n_letters &&
           memcmp(lexicon->letters + start, word, n_letters * sizeof *word) == 0;
}

/* Look a word up. If it is absent *slot is a free slot for it. */
static bool find(const thr_lexicon *lexicon, const uint32_t *word, size_t n_letters, uint64_t hash, size_t *slot,
                 uint32_t *number) {
    *slot = (size_t)hash;
    while (thr_slots_next(&lexicon->slots, hash, slot, number))
        if (is_word(lexicon, *number, word, n_letters))
            return true;
    return false;
}

thr_status thr_words_lexicon_add(thr_context *context, thr_lexicon *lexicon, const uint32_t *word, size_t n_letters,
                                 uint32_t *number, thr_error *err) {
    THR_TRY(make_room(context, lexicon, n_letters, err));
    const uint64_t hash = hash_word(word, n_letters);
    size_t slot = 0;
    if (find(lexicon, word, n_letters, hash, &slot, number)) {
        lexicon->counts[*number]++;
        return THR_OK;
    }
    const size_t n = lexicon->n_words++;
    *number = (uint32_t)n;
    thr_slots_put(&lexicon->slots, hash, slot, *number);
    lexicon->counts[n] = 1;
    memcpy(lexicon->letters + lexicon->starts[n], word, n_letters * sizeof *word);
    lexicon->starts[n + 1] = lexicon->starts[n] + n_letters;
    return THR_OK;
}

bool thr_words_lexicon_find(const thr_lexicon *lexicon, const uint32_t *word, size_t n_letters, uint32_t *number) {
    size_t slot = 0;
    return lexicon->slots.places != NULL && find(lexicon, word, n_letters, hash_word(word, n_letters), &slot, number);
}

thr_status thr_words_lexicon_read(thr_context *context, thr_lexicon *lexicon, const char *text, size_t length,
                                  uint32_t max_words, thr_word_list *words, thr_error *err) {
    thr_letters letters = {(const unsigned char *)text, (const unsigned char *)text + length};
    uint32_t word[THR_WORD_LETTERS];
    for (uint32_t i = 0; i < max_words; i++) {
        const size_t n_letters = thr_words_letters_next_word(&letters, word);
        if (n_letters == 0)
            break;
        THR_TRY(thr_grow(context, &words->items, &words->capacity, words->n + 1, sizeof *words->items, "words of texts",
                         err));
        THR_TRY(thr_words_lexicon_add(context, lexicon, word, n_letters, &words->items[words->n], err));
        words->n++;
    }
    return THR_OK;
}

thr_status thr_words_lexicon_spell(thr_context *context, thr_lexicon *lexicon, const thr_grams *grams, thr_error *err) {
    const size_t n = lexicon->n_words, n_letters = n == 0 ? 0 : lexicon->starts[n];
    THR_TRY(thr_grow(context, &lexicon->offsets, &lexicon->offsets_capacity, n + 1, sizeof *lexicon->offsets,
                     "spelled words", err));
    THR_TRY(thr_grow(context, &lexicon->rows, &lexicon->rows_capacity, n_letters + 1, sizeof *lexicon->rows,
                     "spelled words", err));
    size_t n_rows = 0;
    for (size_t w = 0; w < n; w++) {
        const uint32_t *word = lexicon->letters + lexicon->starts[w];
        const size_t length = lexicon->starts[w + 1] - lexicon->starts[w];
        lexicon->offsets[w] = n_rows;
        for (size_t i = 0; i < length; i++) {
            const int64_t row = thr_words_grams_row(grams, thr_word_gram(word, length, i));
            if (row != THR_GRAM_UNKNOWN)
                lexicon->rows[n_rows++] = (uint32_t)row;
        }
    }
    lexicon->offsets[n] = n_rows;
    return THR_OK;
}

thr_status thr_words_lexicon_count(thr_context *context, const thr_lexicon *lexicon, thr_gram_count **counts, size_t *n,
                                   thr_error *err) {
    const size_t n_words = lexicon->n_words;
    *n = 0;
    THR_TRY(thr_alloc(context, n_words == 0 ? 0 : lexicon->starts[n_words], sizeof **counts, counts, "letter trigrams",
                      err));
    for (size_t w = 0; w < n_words; w++) {
        const uint32_t *word = lexicon->letters + lexicon->starts[w];
        const size_t length = lexicon->starts[w + 1] - lexicon->starts[w];
        for (size_t i = 0; i < length; i++)
            (*counts)[(*n)++] = (thr_gram_count){thr_word_gram(word, length, i), lexicon->counts[w]};
    }
    return THR_OK;
}

void thr_words_lexicon_clear(thr_lexicon *lexicon) {
    thr_slots_clear(&lexicon->slots);
    lexicon->n_words = 0;
}

void thr_words_lexicon_free(thr_context *context, thr_lexicon *lexicon) {
    THR_RELEASE(context, lexicon->letters, lexicon->starts, lexicon->counts);
    thr_slots_free(context, &lexicon->slots);
    THR_RELEASE(context, lexicon->offsets, lexicon->rows);
    *lexicon = (thr_lexicon){0};
}

void thr_words_lexicon_add_to_sum(thr_checksum *sum, const thr_lexicon *lexicon) {
    thr_checksum_add(sum, lexicon->starts, (lexicon->n_words + 1) * sizeof *lexicon->starts);
    thr_checksum_add(sum, lexicon->letters, lexicon->starts[lexicon->n_words] * sizeof *lexicon->letters);
}
