/* SPDX-License-Identifier: Apache-2.0 */
/* step.c - decoder rows on a device: translate/decoder.c, operation by operation. */
#include <string.h>

#include "base/error.h"
#include "nn/dense_op.h"
#include "translate/device/gpu_model.h"

/* ------------------------------------------------------------------------------------------------ rows */

static thr_status start_upload(thr_seq2seq_device *d, size_t n_arrays, size_t n, thr_error *err) {
    return thr_device_upload_start(d->arrays.backend, d->arrays.device, &d->upload,
                                   n_arrays * (n * sizeof(uint32_t) + THR_UPLOAD_ALIGN), "rows", err);
}

/*
 * Set the rows' sentences, and their states: rows `rows` of `table`, or those of the sentences if it is NULL. The
 * sentences are kept in a buffer of their own, because the next upload overwrites them.
 */
static thr_status set_rows(thr_seq2seq_device *d, const float *table, const uint32_t *rows, float *to, thr_error *err) {
    const size_t n = d->n_rows;
    const uint32_t *from = NULL;
    void *unused = NULL, *kept = NULL;
    THR_TRY(start_upload(d, 2, n, err));
    uint32_t *const sentences = thr_device_upload_take(&d->upload, n * sizeof *sentences, &unused);
    memcpy(sentences, d->sentences.items, n * sizeof *sentences);
    thr_device_upload_put(&d->upload, rows != NULL ? rows : d->sentences.items, n * sizeof *from, &from);
    THR_TRY(thr_device_upload_send(d->arrays.backend, d->arrays.stream, &d->upload, err));
    THR_TRY(thr_translate_device_reserve(d, THR_SEQ2SEQ_SENTENCES, n, 1, &kept, err));
    const thr_gather_op states = {.table = table,
                                  .rows = from,
                                  .n_bags = (uint32_t)n,
                                  .n_columns = (uint32_t)thr_seq2seq_state(d->model),
                                  .out = to};
    THR_TRY(d->arrays.backend->upload(d->arrays.stream, kept, sentences, n * sizeof *sentences, err));
    THR_TRY(d->arrays.backend->gather(d->arrays.stream, &states, err));
    return d->arrays.backend->wait(d->arrays.stream, err);
}

thr_status thr_translate_device_begin(thr_seq2seq_device *d, const uint32_t *sentences, size_t n, thr_error *err) {
    float *now = NULL;
    THR_TRY(thr_grow(d->context, &d->sentences.items, &d->sentences.capacity, n, sizeof(uint32_t), "rows", err));
    THR_TRY(thr_translate_device_reserve(d, THR_SEQ2SEQ_NOW, n, thr_seq2seq_state(d->model), &now, err));
    for (size_t i = 0; i < n; i++)
        d->sentences.items[i] = sentences != NULL ? sentences[i] : (uint32_t)i;
    d->n_rows = n;
    return set_rows(d, thr_seq2seq_at(d, THR_SEQ2SEQ_FIRST), NULL, now, err);
}

thr_status thr_translate_device_reorder(thr_seq2seq_device *d, const uint32_t *from, size_t n, thr_error *err) {
    float *other = NULL;
    THR_TRY(thr_grow(d->context, &d->other.items, &d->other.capacity, n, sizeof(uint32_t), "rows", err));
    THR_TRY(thr_translate_device_reserve(d, THR_SEQ2SEQ_OTHER, n, thr_seq2seq_state(d->model), &other, err));
    for (size_t i = 0; i < n; i++)
        d->other.items[i] = d->sentences.items[from[i]];
    const thr_row_sentences sentences = d->sentences;
    d->sentences = d->other;
    d->other = sentences;
    d->n_rows = n;
    THR_TRY(set_rows(d, thr_seq2seq_at(d, THR_SEQ2SEQ_NOW), from, other, err));
    const thr_device_buffer now = d->buffers[THR_SEQ2SEQ_NOW];
    d->buffers[THR_SEQ2SEQ_NOW] = d->buffers[THR_SEQ2SEQ_OTHER];
    d->buffers[THR_SEQ2SEQ_OTHER] = now;
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ step */

/* The words' embeddings, through all layers. *outputs: the last layer's h, rows apart by a row's state. */
static thr_status run_layers(thr_seq2seq_device *d, const uint32_t *words, const float **outputs, thr_error *err) {
    const thr_seq2seq *m = d->model;
    const size_t n = d->n_rows, n_units = m->n_units, state = thr_seq2seq_state(m);
    const uint32_t *on_device = NULL;
    float *x = NULL, *gates = NULL, *now = thr_seq2seq_at(d, THR_SEQ2SEQ_NOW);
    THR_TRY(start_upload(d, 1, n, err));
    THR_TRY(thr_translate_device_reserve(d, THR_SEQ2SEQ_INPUTS, n, m->target.n_columns, &x, err));
    THR_TRY(thr_translate_device_reserve(d, THR_SEQ2SEQ_GATES, n, THR_LSTM_GATES * n_units, &gates, err));
    thr_device_upload_put(&d->upload, words, n * sizeof *words, &on_device);
    THR_TRY(thr_device_upload_send(d->arrays.backend, d->arrays.stream, &d->upload, err));
    const thr_gather_op embed = {.table = d->here.target.rows,
                                 .rows = on_device,
                                 .n_bags = (uint32_t)n,
                                 .n_columns = (uint32_t)m->target.n_columns,
                                 .out = x};
    THR_TRY(d->arrays.backend->gather(d->arrays.stream, &embed, err));
    *outputs = x;
    for (size_t l = 0; l < m->n_layers; l++) {
        const thr_lstm *lstm = &d->here.decoder[l].lstm;
        float *h = now + 2 * l * n_units;
        const thr_lstm_op cells = {.gates = gates,
                                   .h = h,
                                   .c = h + n_units,
                                   .n_rows = (uint32_t)n,
                                   .n_old = (uint32_t)n,
                                   .n_units = (uint32_t)n_units,
                                   .h_row = (uint32_t)state,
                                   .c_row = (uint32_t)state};
        THR_TRY(thr_translate_device_inputs(d, lstm, *outputs, l == 0 ? m->target.n_columns : state, n, gates, err));
        THR_TRY(thr_translate_device_own(d, lstm, h, state, n, gates, err));
        THR_TRY(d->arrays.backend->lstm(d->arrays.stream, &cells, err));
        *outputs = h;
    }
    return THR_OK;
}

/* tanh(C [c ; s]) of all rows. */
static thr_status attend(thr_seq2seq_device *d, const float *outputs, float *states, thr_error *err) {
    const thr_seq2seq *m = d->model;
    const size_t n = d->n_rows;
    const thr_dense combine = {d->here.combine, NULL, 2 * m->n_units, m->n_dims};
    float *shares = NULL, *combined = NULL;
    void *attended = NULL;
    THR_TRY(thr_translate_device_reserve(d, THR_SEQ2SEQ_SHARES, n, d->most_places, &shares, err));
    THR_TRY(thr_translate_device_reserve(d, THR_SEQ2SEQ_COMBINED, n, 2 * m->n_units, &combined, err));
    THR_TRY(thr_translate_device_reserve(d, THR_SEQ2SEQ_ATTENDED, n, 1, &attended, err));
    const thr_attend_op op = {.outputs = outputs,
                              .keys = thr_seq2seq_at(d, THR_SEQ2SEQ_KEYS),
                              .memory = thr_seq2seq_at(d, THR_SEQ2SEQ_MEMORY),
                              .sentences = thr_seq2seq_at(d, THR_SEQ2SEQ_SENTENCES),
                              .places = thr_seq2seq_at(d, THR_SEQ2SEQ_PLACES),
                              .n_rows = (uint32_t)n,
                              .n_units = (uint32_t)m->n_units,
                              .output_row = (uint32_t)thr_seq2seq_state(m),
                              .most_places = (uint32_t)d->most_places,
                              .shares = shares,
                              .combined = combined,
                              .attended = attended};
    thr_layer_op layer = thr_nn_dense_op(&combine, combined, combine.n_in, n, states);
    layer.tanh = true;
    THR_TRY(d->arrays.backend->attend(d->arrays.stream, &op, err));
    return d->arrays.backend->layer(d->arrays.stream, &layer, err);
}

thr_status thr_translate_device_step(thr_seq2seq_device *d, const uint32_t *words, float *states, uint32_t *attended,
                                     thr_error *err) {
    const thr_seq2seq *m = d->model;
    const size_t n = d->n_rows;
    const float *outputs = NULL;
    float *made = NULL;
    THR_TRY(thr_translate_device_reserve(d, THR_SEQ2SEQ_STATES, n, m->n_dims, &made, err));
    THR_TRY(run_layers(d, words, &outputs, err));
    if (m->attention != NULL) {
        THR_TRY(attend(d, outputs, made, err));
    } else {
        const thr_gather_op copy = {.table = outputs,
                                    .n_bags = (uint32_t)n,
                                    .n_columns = (uint32_t)m->n_dims,
                                    .table_row = (uint32_t)thr_seq2seq_state(m),
                                    .out = made};
        THR_TRY(d->arrays.backend->gather(d->arrays.stream, &copy, err));
    }
    THR_TRY(d->arrays.backend->download(d->arrays.stream, states, made, n * m->n_dims * sizeof *states, err));
    if (attended != NULL && m->attention != NULL)
        THR_TRY(d->arrays.backend->download(d->arrays.stream, attended, thr_seq2seq_at(d, THR_SEQ2SEQ_ATTENDED),
                                            n * sizeof *attended, err));
    return d->arrays.backend->wait(d->arrays.stream, err);
}
