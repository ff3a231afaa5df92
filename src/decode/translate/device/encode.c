/* SPDX-License-Identifier: Apache-2.0 */
/* encode.c - encoding sentences on a device: translate/encoder.c, operation by operation. */
#include "base/error.h"
#include "base/minmax.h"
#include "nn/dense_op.h"
#include "translate/device/gpu_model.h"

/* A batch on its way through the layers. */
typedef struct batch {
    thr_seq2seq_device *d;
    size_t n_sentences, n_places, n_steps;
    const size_t *starts; /* of sentences */
    size_t *steps;        /* first rows of steps, n_steps + 1 */
    /* On the device: words by step, rows by sentence, and the row of each sentence's last word. */
    const uint32_t *words, *order, *last;
    const float *x;
    size_t x_row;
    float *layer, *gates, *c, *first;
} batch;

static size_t length_of(const batch *b, size_t sentence) {
    return b->starts[sentence + 1] - b->starts[sentence];
}

/* Write the words in the order of steps, and the rows of that order by sentence. */
static thr_status send(batch *b, const uint32_t *words, thr_error *err) {
    thr_seq2seq_device *d = b->d;
    const size_t n = b->n_sentences, places = b->n_places * sizeof(uint32_t);
    void *unused = NULL, *places_there = NULL;
    size_t n_rows = 0, n_left = n;
    THR_TRY(thr_device_upload_start(d->arrays.backend, d->arrays.device, &d->upload,
                                    2 * places + (2 * n + 1) * sizeof(uint32_t) + 4 * THR_UPLOAD_ALIGN, "sentences",
                                    err));
    uint32_t *const by_step = thr_device_upload_take(&d->upload, places, &b->words);
    uint32_t *const order = thr_device_upload_take(&d->upload, places, &b->order);
    uint32_t *const last = thr_device_upload_take(&d->upload, n * sizeof *last, &b->last);
    uint32_t *const starts = thr_device_upload_take(&d->upload, (n + 1) * sizeof *starts, &unused);
    for (size_t t = 0; t < b->n_steps; t++) {
        b->steps[t] = n_rows;
        while (length_of(b, n_left - 1) <= t)
            n_left--;
        for (size_t i = 0; i < n_left; i++, n_rows++) {
            by_step[n_rows] = words[b->starts[i] + t];
            order[b->starts[i] - b->starts[0] + t] = last[i] = (uint32_t)n_rows;
        }
    }
    b->steps[b->n_steps] = n_rows;
    for (size_t i = 0; i <= n; i++)
        starts[i] = (uint32_t)(b->starts[i] - b->starts[0]);
    THR_TRY(thr_device_upload_send(d->arrays.backend, d->arrays.stream, &d->upload, err));
    /* these are kept: the decoder's uploads overwrite the others */
    THR_TRY(thr_translate_device_reserve(d, THR_SEQ2SEQ_PLACES, n + 1, 1, &places_there, err));
    return d->arrays.backend->upload(d->arrays.stream, places_there, starts, (n + 1) * sizeof *starts, err);
}

/* Copy a direction's last h and c to their half of each sentence's initial state. */
static thr_status keep_last(const batch *b, size_t layer, bool backward, thr_error *err) {
    const thr_seq2seq *m = b->d->model;
    const size_t half = m->n_units / 2, at = backward ? half : 0;
    float *to = b->first + 2 * layer * m->n_units + at;
    const thr_gather_op h = {.table = b->layer + at,
                             .rows = backward ? NULL : b->last,
                             .n_bags = (uint32_t)b->n_sentences,
                             .n_columns = (uint32_t)half,
                             .table_row = (uint32_t)m->n_units,
                             .out_row = (uint32_t)thr_seq2seq_state(m),
                             .out = to};
    thr_gather_op c = h;
    c.table = b->c;
    c.rows = NULL;
    c.table_row = (uint32_t)half;
    c.out = to + m->n_units;
    THR_TRY(b->d->arrays.backend->gather(b->d->arrays.stream, &h, err));
    return b->d->arrays.backend->gather(b->d->arrays.stream, &c, err);
}

/* Run one direction of a layer: thr_nn_lstm_run. */
static thr_status run_direction(const batch *b, const thr_lstm *lstm, size_t layer, bool backward, thr_error *err) {
    thr_seq2seq_device *d = b->d;
    const size_t n_units = d->model->n_units, half = n_units / 2;
    const float *before = NULL;
    size_t n_before = 0;
    THR_TRY(thr_translate_device_inputs(d, lstm, b->x, b->x_row, b->n_places, b->gates, err));
    for (size_t i = 0; i < b->n_steps; i++) {
        const size_t t = backward ? b->n_steps - 1 - i : i, n = b->steps[t + 1] - b->steps[t];
        float *h = b->layer + b->steps[t] * n_units + (backward ? half : 0);
        float *gates = b->gates + b->steps[t] * THR_LSTM_GATES * half;
        const thr_lstm_op cells = {.gates = gates,
                                   .h = h,
                                   .c = b->c,
                                   .n_rows = (uint32_t)n,
                                   .n_old = (uint32_t)n_before,
                                   .n_units = (uint32_t)half,
                                   .h_row = (uint32_t)n_units,
                                   .c_row = (uint32_t)half};
        THR_TRY(thr_translate_device_own(d, lstm, before, n_units, THR_MIN(n, n_before), gates, err));
        THR_TRY(d->arrays.backend->lstm(d->arrays.stream, &cells, err));
        before = h;
        n_before = n;
    }
    return keep_last(b, layer, backward, err);
}

/* Outputs in the order of sentences, and A m_j of each. */
static thr_status make_keys(const batch *b, thr_error *err) {
    thr_seq2seq_device *d = b->d;
    const thr_seq2seq *m = d->model;
    float *memory = thr_seq2seq_at(d, THR_SEQ2SEQ_MEMORY), *keys = thr_seq2seq_at(d, THR_SEQ2SEQ_KEYS);
    const thr_gather_op order = {.table = b->layer,
                                 .rows = b->order,
                                 .n_bags = (uint32_t)b->n_places,
                                 .n_columns = (uint32_t)m->n_units,
                                 .out = memory};
    const thr_dense attention = {d->here.attention, NULL, m->n_units, m->n_units};
    const thr_layer_op product = thr_nn_dense_op(&attention, memory, m->n_units, b->n_places, keys);
    THR_TRY(d->arrays.backend->gather(d->arrays.stream, &order, err));
    return d->arrays.backend->layer(d->arrays.stream, &product, err);
}

static thr_status reserve(batch *b, thr_error *err) {
    thr_seq2seq_device *d = b->d;
    const thr_seq2seq *m = d->model;
    const size_t n = b->n_places, n_units = m->n_units, half = n_units / 2;
    void *kept = NULL;
    THR_TRY(thr_translate_device_reserve(d, THR_SEQ2SEQ_INPUTS, n, THR_MAX(m->source.n_columns, n_units), &kept, err));
    THR_TRY(thr_translate_device_reserve(d, THR_SEQ2SEQ_LAYER, n, n_units, &b->layer, err));
    THR_TRY(thr_translate_device_reserve(d, THR_SEQ2SEQ_GATES, n, THR_LSTM_GATES * half, &b->gates, err));
    THR_TRY(thr_translate_device_reserve(d, THR_SEQ2SEQ_CELLS, b->n_sentences, half, &b->c, err));
    THR_TRY(thr_translate_device_reserve(d, THR_SEQ2SEQ_FIRST, b->n_sentences, thr_seq2seq_state(m), &b->first, err));
    THR_TRY(thr_translate_device_reserve(d, THR_SEQ2SEQ_MEMORY, n, n_units, &kept, err));
    return thr_translate_device_reserve(d, THR_SEQ2SEQ_KEYS, n, n_units, &kept, err);
}

/* Embed the words, then run the layers; a layer's outputs are copied before the next one overwrites them. */
static thr_status run_layers(batch *b, thr_error *err) {
    thr_seq2seq_device *d = b->d;
    const thr_seq2seq *m = d->model;
    float *x = thr_seq2seq_at(d, THR_SEQ2SEQ_INPUTS);
    const thr_gather_op embed = {.table = d->here.source.rows,
                                 .rows = b->words,
                                 .n_bags = (uint32_t)b->n_places,
                                 .n_columns = (uint32_t)m->source.n_columns,
                                 .out = x};
    const thr_gather_op copy = {
        .table = b->layer, .n_bags = (uint32_t)b->n_places, .n_columns = (uint32_t)m->n_units, .out = x};
    b->x = x;
    b->x_row = m->source.n_columns;
    THR_TRY(d->arrays.backend->gather(d->arrays.stream, &embed, err));
    for (size_t l = 0; l < m->n_layers; l++) {
        if (l > 0) {
            THR_TRY(d->arrays.backend->gather(d->arrays.stream, &copy, err));
            b->x_row = m->n_units;
        }
        THR_TRY(run_direction(b, &d->here.forward[l].lstm, l, false, err));
        THR_TRY(run_direction(b, &d->here.backward[l].lstm, l, true, err));
    }
    return m->attention == NULL ? THR_OK : make_keys(b, err);
}

thr_status thr_translate_device_encode(thr_seq2seq_device *d, const uint32_t *words, const size_t *starts,
                                       size_t n_sentences, thr_error *err) {
    batch b = {.d = d,
               .n_sentences = n_sentences,
               .n_places = starts[n_sentences] - starts[0],
               .n_steps = starts[1] - starts[0],
               .starts = starts};
    d->n_sentences = n_sentences;
    d->most_places = b.n_steps;
    thr_status status = THR_OK;
    THR_TRY(thr_alloc(d->context, b.n_steps + 1, sizeof *b.steps, &b.steps, "steps", err));
    THR_TRY_OUT(reserve(&b, err));
    THR_TRY_OUT(send(&b, words, err));
    THR_TRY_OUT(run_layers(&b, err));
    status = d->arrays.backend->wait(d->arrays.stream, err);
out:
    thr_release(d->context, b.steps);
    return status;
}
