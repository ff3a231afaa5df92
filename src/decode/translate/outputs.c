/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outputs.c - sequences of words to texts; an unknown word is replaced by the source word with the most attention.
 *
 * A search does not keep attention, because its rows are reordered. Sequences with unknown words are decoded once more
 * with their words given, all of a batch together.
 */
#include <string.h>

#include "base/error.h"
#include "base/minmax.h"
#include "translate/translator.h"

/* ------------------------------------------------------------------------------------------------ unknown words */

/* List the batch's sequences with an unknown word, as rows with their sentences. */
static thr_status find_rows(thr_translator *t, const thr_beam_result *result, size_t *n, size_t *n_steps,
                            thr_error *err) {
    *n = *n_steps = 0;
    THR_TRY(thr_grow(&t->context, &t->rows, &t->rows_capacity, (size_t)result->n_sequences, sizeof *t->rows,
                     "unknown words", err));
    THR_TRY(thr_grow(&t->context, &t->row_sentences, &t->row_sentences_capacity, (size_t)result->n_sequences,
                     sizeof *t->row_sentences, "unknown words", err));
    for (uint64_t s = 0; s < result->n_sentences; s++)
        for (uint64_t q = result->first_of[s]; q < result->first_of[s + 1]; q++) {
            size_t last = 0;
            for (uint64_t i = result->offsets[q]; i < result->offsets[q + 1]; i++)
                last = result->words[i] == THR_WORD_UNKNOWN ? (size_t)(i - result->offsets[q]) + 1 : last;
            if (last == 0)
                continue;
            t->rows[*n] = (uint32_t)q;
            t->row_sentences[(*n)++] = (uint32_t)s;
            *n_steps = THR_MAX(last, *n_steps);
        }
    return THR_OK;
}

/*
 * For sequences with unknown words, set attended_words[i] to the source place that word i of the result attends to
 * most.
 */
static thr_status find_attended(thr_translator *t, const thr_beam_result *result, thr_error *err) {
    size_t n = 0, n_steps = 0;
    THR_TRY(find_rows(t, result, &n, &n_steps, err));
    if (n == 0)
        return THR_OK;
    THR_TRY(
        thr_grow(&t->context, &t->row_words, &t->row_words_capacity, n, sizeof *t->row_words, "unknown words", err));
    THR_TRY(thr_grow(&t->context, &t->attended, &t->attended_capacity, n, sizeof *t->attended, "unknown words", err));
    THR_TRY(thr_grow(&t->context, &t->attended_words, &t->attended_words_capacity,
                     (size_t)result->offsets[result->n_sequences], sizeof *t->attended_words, "unknown words", err));
    THR_TRY(thr_translate_floats_reserve(&t->context, &t->states, n, t->model.n_dims, err));
    THR_TRY(thr_translate_begin(t, t->row_sentences, n, err));
    for (size_t i = 0; i < n_steps; i++) {
        for (size_t r = 0; r < n; r++) {
            const uint64_t first = result->offsets[t->rows[r]], length = result->offsets[t->rows[r] + 1] - first;
            t->row_words[r] = i == 0 ? THR_WORD_START : i <= length ? result->words[first + i - 1] : THR_WORD_END;
        }
        THR_TRY(thr_translate_step(t, t->row_words, t->states.items, t->attended, err));
        for (size_t r = 0; r < n; r++)
            if (i < result->offsets[t->rows[r] + 1] - result->offsets[t->rows[r]])
                t->attended_words[result->offsets[t->rows[r]] + i] = t->attended[r];
    }
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ strings */

static thr_status put(thr_translator *t, const char *bytes, size_t n, thr_error *err) {
    THR_TRY(thr_grow(&t->context, &t->strings, &t->strings_capacity, t->n_strings + n, 1, "translations", err));
    memcpy(t->strings + t->n_strings, bytes, n);
    t->n_strings += n;
    return THR_OK;
}

/* Word i of a text's split form. */
static const char *word_of(const thr_translator *t, const thr_text *text, size_t i, size_t *length) {
    const char *at = t->split + text->split;
    for (; i > 0; i--)
        at = strchr(at, ' ') + 1;
    *length = strcspn(at, " ");
    return at;
}

static thr_status put_word(thr_translator *t, const thr_text *text, const thr_beam_result *result, uint64_t i,
                           thr_error *err) {
    const uint32_t word = result->words[i];
    const char *bytes = thr_dictionary_text(&t->model.target.words, word);
    size_t length = strlen(bytes);
    if (word == THR_WORD_UNKNOWN && t->options.replace_unk)
        bytes = word_of(t, text, t->attended_words[i], &length);
    return put(t, bytes, length, err);
}

/* Whether a better translation of the text reads the same: words that differ may join to one text. */
static bool is_repeated(const thr_translator *t, size_t text, const thr_made *made) {
    for (size_t i = t->texts[text].made; i < t->n_made; i++)
        if (strcmp(t->strings + t->made[i].text, t->strings + made->text) == 0)
            return true;
    return false;
}

/* Terminate the words that begin at made->words, then append their text; take all back if the text is repeated. */
static thr_status add_made(thr_translator *t, size_t text, thr_made *made, thr_error *err) {
    const size_t n = t->n_strings - made->words;
    THR_TRY(put(t, "", 1, err));
    made->text = t->n_strings;
    THR_TRY(thr_grow(&t->context, &t->strings, &t->strings_capacity, t->n_strings + n + 1, 1, "translations", err));
    t->n_strings += thr_words_join(t->strings + made->words, n, t->strings + made->text, n + 1) + 1;
    if (is_repeated(t, text, made)) {
        t->n_strings = made->words;
        return THR_OK;
    }
    THR_TRY(thr_grow(&t->context, &t->made, &t->made_capacity, t->n_made + 1, sizeof *t->made, "translations", err));
    t->made[t->n_made++] = *made;
    t->texts[text].n_made++;
    return THR_OK;
}

static thr_status take_sequence(thr_translator *t, size_t text, const thr_beam_result *result, uint64_t q,
                                thr_error *err) {
    const uint64_t first = result->offsets[q], end = result->offsets[q + 1] - (result->ended[q] != 0);
    thr_made made = {.words = t->n_strings,
                     .n_words = (uint32_t)(end - first),
                     .ended = result->ended[q] != 0,
                     .log_prob = result->log_probs[q],
                     .score = result->scores[q]};
    for (uint64_t i = first; i < end; i++) {
        if (i > first)
            THR_TRY(put(t, " ", 1, err));
        THR_TRY(put_word(t, &t->texts[text], result, i, err));
    }
    return add_made(t, text, &made, err);
}

thr_status thr_translate_take(thr_translator *t, size_t first, const thr_beam_result *result, thr_error *err) {
    if (t->options.replace_unk)
        THR_TRY(find_attended(t, result, err));
    for (uint64_t s = 0; s < result->n_sentences; s++) {
        const size_t text = t->order[first + s];
        t->texts[text].made = t->n_made;
        for (uint64_t q = result->first_of[s]; q < result->first_of[s + 1]; q++)
            THR_TRY(take_sequence(t, text, result, q, err));
    }
    return THR_OK;
}

thr_status thr_translate_take_nothing(thr_translator *t, size_t text, thr_error *err) {
    thr_made made = {.words = t->n_strings, .ended = true};
    t->texts[text].made = t->n_made;
    return add_made(t, text, &made, err);
}

/* ------------------------------------------------------------------------------------------------ result */

thr_status thr_translate_report(thr_translator *t, thr_translations *result, thr_error *err) {
    const size_t n_texts = (size_t)t->n_texts;
    size_t n = 0;
    THR_TRY(thr_grow(&t->context, &t->first_of, &t->first_of_capacity, n_texts + 1, sizeof *t->first_of, "texts", err));
    THR_TRY(thr_grow(&t->context, &t->translations, &t->translations_capacity, t->n_made, sizeof *t->translations,
                     "translations", err));
    for (size_t i = 0; i < n_texts; i++) {
        t->first_of[i] = n;
        for (size_t j = 0; j < t->texts[i].n_made; j++, n++) {
            const thr_made *made = &t->made[t->texts[i].made + j];
            t->translations[n] = (thr_translation){.text = t->strings + made->text,
                                                   .words = t->strings + made->words,
                                                   .n_words = made->n_words,
                                                   .ended = made->ended,
                                                   .log_prob = made->log_prob,
                                                   .score = made->score};
            result->n_words += j == 0 ? made->n_words : 0;
        }
    }
    t->first_of[n_texts] = n;
    result->n_texts = n_texts;
    result->first_of = t->first_of;
    result->translations = t->translations;
    return THR_OK;
}
