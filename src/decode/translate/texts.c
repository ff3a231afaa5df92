/* SPDX-License-Identifier: Apache-2.0 */
/*
 * texts.c - splitting texts into words, sorting them by length, and translating them batch by batch.
 *
 * The sentences of a batch have similar lengths, so few places of a batch are unused; a batch of long sentences has
 * fewer of them.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/radix.h"
#include "translate/translator.h"

enum { PLACES_MOST = 16384 }; /* of a batch with several sentences: bounds the encoder's memory */

/* ------------------------------------------------------------------------------------------------ split texts */

/* Append the words of a text, and the end word. */
static thr_status split(thr_translator *t, const char *bytes, size_t length, thr_text *text, thr_error *err) {
    const size_t n = thr_words_split(bytes, length, NULL, 0);
    THR_TRY(thr_grow(&t->context, &t->split, &t->split_capacity, t->n_split + n + 1, 1, "texts", err));
    char *const words = t->split + t->n_split;
    (void)thr_words_split(bytes, length, words, n + 1);
    *text = (thr_text){.split = t->n_split, .words = t->n_words, .n_words = n > 0};
    for (const char *at = words; (at = memchr(at, ' ', (size_t)(words + n - at))) != NULL; at++)
        text->n_words++;
    t->n_split += n + 1;
    return THR_OK;
}

static thr_status number(thr_translator *t, const thr_text *text, uint64_t *n_unknown, thr_error *err) {
    const char *at = t->split + text->split;
    THR_TRY(thr_grow(&t->context, &t->words, &t->words_capacity, t->n_words + text->n_words + 1, sizeof *t->words,
                     "words of texts", err));
    for (size_t i = 0; i < text->n_words; i++) {
        const char *const end = i + 1 < text->n_words ? strchr(at, ' ') : at + strlen(at);
        uint32_t *word = &t->words[t->n_words++];
        if (!thr_dictionary_find(&t->model.source.words, at, (size_t)(end - at), word)) {
            *word = THR_WORD_UNKNOWN;
            ++*n_unknown;
        }
        at = end + 1;
    }
    t->words[t->n_words++] = THR_WORD_END;
    return THR_OK;
}

/* Reject a zero byte: it would end the words early for every reader of C strings. */
static thr_status check_bytes(const char *text, size_t length, size_t i, thr_error *err) {
    const char *zero = length > 0 ? memchr(text, '\0', length) : NULL;
    if (zero != NULL)
        return thr_fail(err, THR_EFORMAT, "text %zu holds a NUL byte at byte %zu: take it out, or give UTF-8", i,
                        (size_t)(zero - text));
    return THR_OK;
}

static thr_status take_texts(thr_translator *t, const char *const *texts, const size_t *lengths, size_t n,
                             thr_translations *result, thr_error *err) {
    THR_TRY(thr_grow(&t->context, &t->texts, &t->texts_capacity, n, sizeof *t->texts, "texts", err));
    THR_TRY(thr_grow(&t->context, &t->order, &t->order_capacity, n, sizeof *t->order, "texts", err));
    THR_TRY(thr_grow(&t->context, &t->lengths, &t->lengths_capacity, n, sizeof *t->lengths, "texts", err));
    t->n_split = t->n_words = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t length = lengths != NULL ? lengths[i] : strlen(texts[i]);
        THR_TRY(check_bytes(texts[i], length, i, err));
        THR_TRY(split(t, texts[i], length, &t->texts[i], err));
        if (t->texts[i].n_words > t->options.max_source)
            return thr_fail(err, THR_EDIM, "text %zu has %zu words: a text may have %" PRIu32 ", split it", i,
                            t->texts[i].n_words, t->options.max_source);
        THR_TRY(number(t, &t->texts[i], &result->n_unknown, err));
        result->n_source_words += t->texts[i].n_words;
        t->lengths[i] = UINT64_MAX - t->texts[i].n_words;
    }
    return thr_radix_order(&t->context, t->lengths, (uint32_t)n, t->order, err);
}

/* -------------------------------------------------------------------------------------- decoder for the beam search */

static thr_status start(void *self, uint64_t n_sentences, thr_error *err) {
    return thr_translate_begin(self, NULL, (size_t)n_sentences, err);
}

static thr_status step(void *self, const uint32_t *words, uint64_t n, float *states, thr_error *err) {
    thr_translator *t = self;
    const double begin = thr_clock();
    THR_TRY(thr_translate_step(t, words, states, NULL, err));
    t->device_seconds += t->device != NULL ? thr_clock() - begin : 0;
    if (t->options.on_states != NULL)
        t->options.on_states(t->options.on_states_user, states, n, (uint32_t)t->model.n_dims);
    return THR_OK;
}

static thr_status reorder(void *self, const uint32_t *from, uint64_t n, thr_error *err) {
    return thr_translate_reorder(self, from, (size_t)n, err);
}

/* ------------------------------------------------------------------------------------------------ batches */

static uint32_t longest(const thr_translator_options *o, size_t n_words) {
    const double most = floor((double)n_words * o->length_ratio) + o->length_extra;
    return most < 1 ? 1 : most < o->max_length ? (uint32_t)most : o->max_length;
}

/* Take sentences from order[first] on until a batch is full, into batch_words and batch_starts. */
static thr_status gather(thr_translator *t, size_t first, size_t n_left, size_t *n, thr_error *err) {
    size_t n_places = 0;
    for (*n = 0; *n < n_left && *n < t->options.batch; ++*n) {
        const size_t more = t->texts[t->order[first + *n]].n_words + 1;
        if (*n > 0 && n_places + more > PLACES_MOST)
            break;
        n_places += more;
    }
    THR_TRY(thr_grow(&t->context, &t->batch_words, &t->batch_words_capacity, n_places, sizeof *t->batch_words,
                     "a batch", err));
    THR_TRY(thr_grow(&t->context, &t->batch_starts, &t->batch_starts_capacity, *n + 1, sizeof *t->batch_starts,
                     "a batch", err));
    THR_TRY(
        thr_grow(&t->context, &t->max_lengths, &t->max_lengths_capacity, *n, sizeof *t->max_lengths, "a batch", err));
    t->batch_starts[0] = 0;
    for (size_t s = 0; s < *n; s++) {
        const thr_text *text = &t->texts[t->order[first + s]];
        memcpy(t->batch_words + t->batch_starts[s], t->words + text->words, (text->n_words + 1) * sizeof *t->words);
        t->batch_starts[s + 1] = t->batch_starts[s] + text->n_words + 1;
        t->max_lengths[s] = longest(&t->options, text->n_words);
    }
    return THR_OK;
}

/* List the target words that the table has for each sentence's words. */
static thr_status list_words(thr_translator *t, size_t n, thr_error *err) {
    const thr_align_table *table = &t->table;
    size_t n_words = 0;
    if (table->starts == NULL)
        return THR_OK;
    THR_TRY(thr_grow(&t->context, &t->list_starts, &t->list_starts_capacity, n + 1, sizeof *t->list_starts,
                     "word translations", err));
    t->list_starts[0] = 0;
    for (size_t s = 0; s < n; s++) {
        for (size_t i = t->batch_starts[s]; i < t->batch_starts[s + 1]; i++) {
            const uint64_t first = table->starts[t->batch_words[i]];
            const size_t more = (size_t)(table->starts[t->batch_words[i] + 1] - first);
            THR_TRY(thr_grow(&t->context, &t->list_words, &t->list_words_capacity, n_words + more,
                             sizeof *t->list_words, "word translations", err));
            if (more > 0)
                memcpy(t->list_words + n_words, table->words + first, more * sizeof *t->list_words);
            n_words += more;
        }
        t->list_starts[s + 1] = n_words;
    }
    t->lists = (thr_head_word_lists){n, t->list_starts, t->list_words};
    return THR_OK;
}

/* Translate a batch where t->device is. A failure leaves no translations. */
static thr_status run_batch(thr_translator *t, size_t first, size_t n, thr_translations *result, thr_error *err) {
    const thr_decoder decoder = {t, start, step, reorder};
    thr_beam_result found;
    thr_translator_times *times = &result->times;
    const double begin = thr_clock();
    THR_TRY(thr_translate_encode(t, t->batch_words, t->batch_starts, n, err));
    const double encoded = thr_clock();
    t->work.layers_seconds = t->work.attention_seconds = t->device_seconds = 0;
    THR_TRY(thr_beam_search(t->beam, &decoder, n, t->max_lengths, &found, err));
    THR_TRY(thr_translate_take(t, first, &found, err));
    result->n_steps += found.n_steps;
    result->n_states += found.n_states;
    times->encoder += encoded - begin;
    times->layers += t->work.layers_seconds + t->device_seconds;
    times->attention += t->work.attention_seconds;
    times->head += found.head_seconds;
    times->expansion += found.expand_seconds;
    times->reorder += found.reorder_seconds;
    return THR_OK;
}

static thr_status translate_batch(thr_translator *t, size_t first, size_t n, thr_translations *result, thr_error *err) {
    bool done = false;
    THR_TRY(list_words(t, n, err));
    THR_TRY(thr_translate_enter_device(t, t->batch_starts[n], err));
    if (t->device != NULL) {
        thr_error why = {.status = THR_OK};
        const thr_status status = run_batch(t, first, n, result, &why);
        t->device = NULL;
        THR_TRY(thr_device_leave(&t->on_device, status, &why, &done, err));
    }
    return done ? THR_OK : run_batch(t, first, n, result, err);
}

static thr_status translate_all(thr_translator *t, size_t n_texts, thr_translations *result, thr_error *err) {
    size_t n_full = 0, n = 0;
    while (n_full < n_texts && t->texts[t->order[n_full]].n_words > 0)
        n_full++;
    for (size_t first = 0; first < n_full; first += n) {
        t->n_done = first;
        THR_TRY(gather(t, first, n_full - first, &n, err));
        THR_TRY(translate_batch(t, first, n, result, err));
    }
    for (size_t i = n_full; i < n_texts; i++)
        THR_TRY(thr_translate_take_nothing(t, t->order[i], err));
    return thr_translate_report(t, result, err);
}

thr_status thr_translator_translate(thr_translator *t, const char *const *texts, const size_t *lengths,
                                    uint64_t n_texts, thr_translations *result, thr_error *err) {
    if (t == NULL || result == NULL || (texts == NULL && n_texts > 0))
        return thr_fail(err, THR_EINVAL, "the translator, the texts or the result is NULL");
    *result = (thr_translations){.n_texts = 0};
    if (n_texts >= UINT32_MAX)
        return thr_fail(err, THR_EDIM, "%" PRIu64 " texts: translate fewer than %" PRIu32 " at once", n_texts,
                        UINT32_MAX);
    t->n_strings = t->n_made = 0;
    t->n_texts = 0;
    THR_TRY(take_texts(t, texts, lengths, (size_t)n_texts, result, err));
    t->n_texts = n_texts;
    const thr_status status = translate_all(t, (size_t)n_texts, result, err);
    t->n_texts = 0;
    if (status != THR_OK)
        *result = (thr_translations){.n_texts = 0};
    return status;
}
