/* SPDX-License-Identifier: Apache-2.0 */
/* policy.c - the batches of a translator on a GPU if its policy selects one (device/policy.h), else on the CPU. */
#include "base/error.h"
#include "translate/translator.h"

/* Estimates: products per second and thread on the CPU, and target words of a source word. */
static const double PRODUCT_RATE = 8e9, WORDS_A_WORD = 1.2;

static const thr_device_copier MODEL = {
    .copy = thr_translate_device_create, .free = thr_translate_device_free, .wake_ups = 1};

thr_status thr_translate_enter_device(thr_translator *t, size_t n_places, thr_error *err) {
    const size_t n_weights = thr_translate_device_n_weights(&t->model);
    const double used = (double)n_weights - (double)t->model.source.words.n * (double)t->model.source.n_columns -
                        (double)t->model.target.words.n * (double)t->model.target.n_columns;
    const double rows = (double)n_places * (1 + WORDS_A_WORD * t->options.beam);
    const thr_device_use use = {.copier = &MODEL,
                                .object = t,
                                .name = "a translation model",
                                .bytes = (double)n_weights * sizeof(float),
                                .seconds = rows * used / PRODUCT_RATE / (double)t->context.n_threads};
    return thr_device_enter(&t->on_device, &use, &t->device, err);
}

/* ------------------------------------------------------------------------------------------------ either way */

thr_status thr_translate_encode(thr_translator *t, const uint32_t *words, const size_t *starts, size_t n,
                                thr_error *err) {
    return t->device != NULL ? thr_translate_device_encode(t->device, words, starts, n, err)
                             : thr_translate_seq2seq_encode(&t->work, words, starts, n, err);
}

thr_status thr_translate_begin(thr_translator *t, const uint32_t *sentences, size_t n, thr_error *err) {
    return t->device != NULL ? thr_translate_device_begin(t->device, sentences, n, err)
                             : thr_translate_seq2seq_begin(&t->work, sentences, n, err);
}

thr_status thr_translate_step(thr_translator *t, const uint32_t *words, float *states, uint32_t *attended,
                              thr_error *err) {
    return t->device != NULL ? thr_translate_device_step(t->device, words, states, attended, err)
                             : thr_translate_seq2seq_step(&t->work, words, states, attended, err);
}

thr_status thr_translate_reorder(thr_translator *t, const uint32_t *from, size_t n, thr_error *err) {
    return t->device != NULL ? thr_translate_device_reorder(t->device, from, n, err)
                             : thr_translate_seq2seq_reorder(&t->work, from, n, err);
}
