/* SPDX-License-Identifier: Apache-2.0 */
/* copy.c - uploading a translation model to a GPU, in one allocation, and what encoder and decoder share. */
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "nn/dense_op.h"
#include "translate/device/gpu_model.h"
#include "translate/translator.h"

/* Arrays of a model: three a layer, and those of model.h. */
enum { LAYER_ARRAYS = 3, ARRAYS_MOST = 4 + 3 * LAYER_ARRAYS * THR_SEQ2SEQ_LAYERS };

static size_t list_layer(const thr_lstm_layer *layer, thr_lstm_layer *here, thr_device_array *arrays) {
    const size_t n_gates = THR_LSTM_GATES * layer->lstm.n_units;
    here->lstm = layer->lstm;
    arrays[0] = (thr_device_array){layer->in, layer->lstm.n_in * n_gates, sizeof(float), &here->in};
    arrays[1] = (thr_device_array){layer->own, layer->lstm.n_units * n_gates, sizeof(float), &here->own};
    arrays[2] = (thr_device_array){layer->bias, n_gates, sizeof(float), &here->bias};
    return LAYER_ARRAYS;
}

static size_t list_arrays(const thr_seq2seq *m, thr_seq2seq *here, thr_device_array arrays[ARRAYS_MOST]) {
    size_t n = 0;
    arrays[n++] =
        (thr_device_array){m->source.rows, m->source.words.n * m->source.n_columns, sizeof(float), &here->source.rows};
    arrays[n++] =
        (thr_device_array){m->target.rows, m->target.words.n * m->target.n_columns, sizeof(float), &here->target.rows};
    for (size_t l = 0; l < m->n_layers; l++) {
        n += list_layer(&m->forward[l], &here->forward[l], arrays + n);
        n += list_layer(&m->backward[l], &here->backward[l], arrays + n);
        n += list_layer(&m->decoder[l], &here->decoder[l], arrays + n);
    }
    if (m->attention != NULL) {
        arrays[n++] = (thr_device_array){m->attention, m->n_units * m->n_units, sizeof(float), &here->attention};
        arrays[n++] = (thr_device_array){m->combine, 2 * m->n_units * m->n_dims, sizeof(float), &here->combine};
    }
    return n;
}

size_t thr_translate_device_n_weights(const thr_seq2seq *model) {
    thr_device_array arrays[ARRAYS_MOST];
    thr_seq2seq here;
    size_t n_weights = 0;
    for (size_t i = list_arrays(model, &here, arrays); i-- > 0;)
        n_weights += arrays[i].count;
    return n_weights;
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
    thr_device_array arrays[ARRAYS_MOST];
    d->here = (thr_seq2seq){.n_layers = m->n_layers, .n_units = m->n_units, .n_dims = m->n_dims};
    d->here.source.n_columns = m->source.n_columns;
    d->here.target.n_columns = m->target.n_columns;
    THR_TRY(thr_device_arrays_put(&d->arrays, arrays, list_arrays(m, &d->here, arrays), err));
    set_views(&d->here);
    return d->arrays.backend->wait(d->arrays.stream, err);
}

thr_status thr_translate_device_create(void *translator, const thr_devices *devices, void **out, thr_error *err) {
    thr_translator *t = translator;
    thr_seq2seq_device *d = NULL;
    *out = NULL;
    THR_TRY(thr_alloc_zero(&t->context, 1, sizeof *d, &d, "a translation model on a GPU", err));
    d->context = &t->context;
    d->model = &t->model;
    thr_status status = thr_device_arrays_start(&d->arrays, devices, "a translation model", err);
    if (status == THR_OK)
        status = upload(d, err);
    THR_RETURN_MADE(status, d, out, thr_translate_device_free);
}

void thr_translate_device_free(void *device) {
    thr_seq2seq_device *d = device;
    if (d == NULL)
        return;
    thr_device_arrays_free(&d->arrays);
    thr_device_buffers_free(d->arrays.backend, d->arrays.device, d->buffers, THR_SEQ2SEQ_N_BUFFERS);
    thr_device_upload_free(d->arrays.backend, d->arrays.device, &d->upload);
    THR_RELEASE(d->context, d->sentences.items, d->other.items, d);
}

/* ------------------------------------------------------------------------------------------------ shared weights */

thr_status thr_translate_device_reserve(thr_seq2seq_device *d, thr_seq2seq_buffer name, size_t n_rows, size_t n_columns,
                                        void *memory_out, thr_error *err) {
    size_t n = 0;
    if (!thr_mul_size(n_rows, n_columns, &n) || n > SIZE_MAX / sizeof(float) || n_rows > UINT32_MAX)
        return thr_fail(err, THR_ENOMEM, "no memory for %zu rows of %zu numbers", n_rows, n_columns);
    return thr_device_buffer_grow(d->arrays.backend, d->arrays.device, &d->buffers[name], n * sizeof(float),
                                  "sentences at work", memory_out, err);
}

thr_status thr_translate_device_inputs(thr_seq2seq_device *d, const thr_lstm *lstm, const float *x, size_t x_row,
                                       size_t n, float *gates, thr_error *err) {
    const thr_dense layer = {lstm->in, lstm->bias, lstm->n_in, THR_LSTM_GATES * lstm->n_units};
    const thr_layer_op op = thr_nn_dense_op(&layer, x, x_row, n, gates);
    return d->arrays.backend->layer(d->arrays.stream, &op, err);
}

thr_status thr_translate_device_own(thr_seq2seq_device *d, const thr_lstm *lstm, const float *h, size_t h_row, size_t n,
                                    float *gates, thr_error *err) {
    const thr_dense layer = {lstm->own, NULL, lstm->n_units, THR_LSTM_GATES * lstm->n_units};
    thr_layer_op op = thr_nn_dense_op(&layer, h, h_row, n, gates);
    op.add = true;
    return d->arrays.backend->layer(d->arrays.stream, &op, err);
}
