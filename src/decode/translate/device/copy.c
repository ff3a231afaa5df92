/* SPDX-License-Identifier: Apache-2.0 */
/* copy.c - uploading a translation model to a GPU, in one allocation, and what encoder and decoder share. */
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/minmax.h"
#include "nn/dense_op.h"
#include "translate/device/gpu_model.h"
#include "translate/translator.h"

/* Arrays of a model: three a layer, and those of model.h. */
enum { LAYER_ARRAYS = 3, ARRAYS_MOST = 4 + 3 * LAYER_ARRAYS * THR_SEQ2SEQ_LAYERS };
enum { ALIGN = 64 }; /* floats: alignment of arrays, 256 bytes */

/* An array of the host, and the member that gets its address on the device. */
typedef struct array {
    const float *host;
    size_t n;
    float **device;
} array;

static size_t list_layer(const thr_lstm_layer *layer, thr_lstm_layer *here, array *arrays) {
    const size_t n_gates = THR_LSTM_GATES * layer->lstm.n_units;
    here->lstm = layer->lstm;
    arrays[0] = (array){layer->in, layer->lstm.n_in * n_gates, &here->in};
    arrays[1] = (array){layer->own, layer->lstm.n_units * n_gates, &here->own};
    arrays[2] = (array){layer->bias, n_gates, &here->bias};
    return LAYER_ARRAYS;
}

static size_t list_arrays(const thr_seq2seq *m, thr_seq2seq *here, array arrays[ARRAYS_MOST]) {
    size_t n = 0;
    arrays[n++] = (array){m->source.rows, m->source.words.n * m->source.n_columns, &here->source.rows};
    arrays[n++] = (array){m->target.rows, m->target.words.n * m->target.n_columns, &here->target.rows};
    for (size_t l = 0; l < m->n_layers; l++) {
        n += list_layer(&m->forward[l], &here->forward[l], arrays + n);
        n += list_layer(&m->backward[l], &here->backward[l], arrays + n);
        n += list_layer(&m->decoder[l], &here->decoder[l], arrays + n);
    }
    if (m->attention != NULL) {
        arrays[n++] = (array){m->attention, m->n_units * m->n_units, &here->attention};
        arrays[n++] = (array){m->combine, 2 * m->n_units * m->n_dims, &here->combine};
    }
    return n;
}

static size_t aligned(size_t n) {
    return THR_ROUND_UP(n, ALIGN);
}

static size_t count(const array *arrays, size_t n) {
    size_t n_weights = 0;
    for (size_t i = 0; i < n; i++)
        n_weights += aligned(arrays[i].n);
    return n_weights;
}

size_t thr_translate_device_n_weights(const thr_seq2seq *model) {
    array arrays[ARRAYS_MOST];
    thr_seq2seq here;
    return count(arrays, list_arrays(model, &here, arrays));
}

/* The views of the layers, after the arrays that own them. */
static void set_views(thr_seq2seq *here) {
    for (size_t l = 0; l < here->n_layers; l++) {
        thr_lstm_layer *const layers[] = {&here->forward[l], &here->backward[l], &here->decoder[l]};
        for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
            layers[i]->lstm.in = layers[i]->in;
            layers[i]->lstm.own = layers[i]->own;
            layers[i]->lstm.bias = layers[i]->bias;
        }
    }
}

static thr_status upload(thr_seq2seq_device *d, thr_error *err) {
    const thr_seq2seq *m = d->model;
    array arrays[ARRAYS_MOST];
    d->here = (thr_seq2seq){.n_layers = m->n_layers, .n_units = m->n_units, .n_dims = m->n_dims};
    d->here.source.n_columns = m->source.n_columns;
    d->here.target.n_columns = m->target.n_columns;
    const size_t n = list_arrays(m, &d->here, arrays);
    THR_TRY(d->backend->open_stream(d->device, &d->stream, err));
    THR_TRY(d->backend->alloc(d->device, count(arrays, n) * sizeof(float), &d->weights, "a translation model", err));
    float *at = d->weights;
    for (size_t i = 0; i < n; i++) {
        *arrays[i].device = at;
        THR_TRY(d->backend->upload(d->stream, at, arrays[i].host, arrays[i].n * sizeof(float), err));
        at += aligned(arrays[i].n);
    }
    set_views(&d->here);
    return d->backend->wait(d->stream, err);
}

thr_status thr_translate_device_create(void *translator, const thr_devices *devices, void **out, thr_error *err) {
    thr_translator *t = translator;
    thr_seq2seq_device *d = NULL;
    *out = NULL;
    THR_TRY(thr_alloc_zero(&t->context, 1, sizeof *d, &d, "a translation model on a GPU", err));
    d->context = &t->context;
    d->model = &t->model;
    d->backend = devices->backend;
    d->device = devices->devices[0];
    const thr_status status = upload(d, err);
    THR_RETURN_MADE(status, d, out, thr_translate_device_free);
}

void thr_translate_device_free(void *device) {
    thr_seq2seq_device *d = device;
    if (d == NULL)
        return;
    d->backend->close_stream(d->stream);
    d->backend->release(d->device, d->weights);
    thr_device_buffers_free(d->backend, d->device, d->buffers, THR_SEQ2SEQ_N_BUFFERS);
    thr_device_upload_free(d->backend, d->device, &d->upload);
    THR_RELEASE(d->context, d->sentences.items, d->other.items, d);
}

/* ------------------------------------------------------------------------------------------------ shared weights */

thr_status thr_translate_device_reserve(thr_seq2seq_device *d, thr_seq2seq_buffer name, size_t n_rows, size_t n_columns,
                                        void *memory_out, thr_error *err) {
    size_t n = 0;
    if (!thr_mul_size(n_rows, n_columns, &n) || n > SIZE_MAX / sizeof(float) || n_rows > UINT32_MAX)
        return thr_fail(err, THR_ENOMEM, "no memory for %zu rows of %zu numbers", n_rows, n_columns);
    return thr_device_buffer_grow(d->backend, d->device, &d->buffers[name], n * sizeof(float), "sentences at work",
                                  memory_out, err);
}

thr_status thr_translate_device_inputs(thr_seq2seq_device *d, const thr_lstm *lstm, const float *x, size_t x_row,
                                       size_t n, float *gates, thr_error *err) {
    const thr_dense layer = {lstm->in, lstm->bias, lstm->n_in, THR_LSTM_GATES * lstm->n_units};
    const thr_layer_op op = thr_nn_dense_op(&layer, x, x_row, n, gates);
    return d->backend->layer(d->stream, &op, err);
}

thr_status thr_translate_device_own(thr_seq2seq_device *d, const thr_lstm *lstm, const float *h, size_t h_row, size_t n,
                                    float *gates, thr_error *err) {
    const thr_dense layer = {lstm->own, NULL, lstm->n_units, THR_LSTM_GATES * lstm->n_units};
    thr_layer_op op = thr_nn_dense_op(&layer, h, h_row, n, gates);
    op.add = true;
    return d->backend->layer(d->stream, &op, err);
}
