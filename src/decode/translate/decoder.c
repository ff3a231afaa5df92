/* SPDX-License-Identifier: Apache-2.0 */
/* decoder.c - a step of all rows: the decoder's layers, attention over each row's sentence, states for the head. */
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "nn/dense.h"
#include "parallel/pool.h"
#include "translate/workspace.h"

/* ------------------------------------------------------------------------------------------------ rows */

static thr_status reserve_states(thr_seq2seq_work *w, thr_layer_state *states, size_t n, thr_error *err) {
    for (size_t l = 0; l < w->model->n_layers; l++) {
        THR_TRY(thr_translate_floats_reserve(w->context, &states[l].h, n, w->model->n_units, err));
        THR_TRY(thr_translate_floats_reserve(w->context, &states[l].c, n, w->model->n_units, err));
    }
    return THR_OK;
}

/* Copy row rows[i] of `from` to row i of `to`. */
static void take_rows(const thr_seq2seq *m, const thr_layer_state *from, const uint32_t *rows, size_t n,
                      thr_layer_state *to) {
    const size_t n_units = m->n_units, size = n_units * sizeof(float);
    for (size_t l = 0; l < m->n_layers; l++)
        for (size_t i = 0; i < n; i++) {
            memcpy(to[l].h.items + i * n_units, from[l].h.items + rows[i] * n_units, size);
            memcpy(to[l].c.items + i * n_units, from[l].c.items + rows[i] * n_units, size);
        }
}

thr_status thr_translate_seq2seq_begin(thr_seq2seq_work *w, const uint32_t *sentences, size_t n, thr_error *err) {
    THR_TRY(thr_grow(w->context, &w->sentences.items, &w->sentences.capacity, n, sizeof(uint32_t), "rows", err));
    THR_TRY(reserve_states(w, w->now, n, err));
    for (size_t i = 0; i < n; i++)
        w->sentences.items[i] = sentences != NULL ? sentences[i] : (uint32_t)i;
    take_rows(w->model, w->first, w->sentences.items, n, w->now);
    w->n_rows = n;
    return THR_OK;
}

thr_status thr_translate_seq2seq_reorder(thr_seq2seq_work *w, const uint32_t *from, size_t n, thr_error *err) {
    THR_TRY(thr_grow(w->context, &w->other_sentences.items, &w->other_sentences.capacity, n, sizeof(uint32_t), "rows",
                     err));
    THR_TRY(reserve_states(w, w->other, n, err));
    take_rows(w->model, w->now, from, n, w->other);
    for (size_t i = 0; i < n; i++)
        w->other_sentences.items[i] = w->sentences.items[from[i]];
    for (size_t l = 0; l < w->model->n_layers; l++) {
        const thr_layer_state now = w->now[l];
        w->now[l] = w->other[l];
        w->other[l] = now;
    }
    const thr_row_sentences sentences = w->sentences;
    w->sentences = w->other_sentences;
    w->other_sentences = sentences;
    w->n_rows = n;
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ attention */

typedef struct attention {
    thr_seq2seq_work *work;
    const float *outputs; /* the last layer's h */
    uint32_t *attended;   /* or NULL */
} attention;

/* Softmax of scores in place; the sum is double, in their order. */
static void soft_max(const thr_kernels *kernels, float *scores, size_t n) {
    float largest = scores[0];
    double sum = 0;
    for (size_t j = 1; j < n; j++)
        largest = THR_MAX(scores[j], largest);
    for (size_t j = 0; j < n; j++)
        scores[j] -= largest;
    kernels->exp_f32(scores, scores, n);
    for (size_t j = 0; j < n; j++)
        sum += (double)scores[j];
    for (size_t j = 0; j < n; j++)
        scores[j] = (float)((double)scores[j] / sum);
}

/* Write the row's c and s side by side. */
static void attend(void *arg, size_t row, uint32_t worker) {
    (void)worker;
    const attention *a = arg;
    const thr_seq2seq_work *w = a->work;
    const thr_kernels *kernels = w->context->kernels;
    const size_t n_units = w->model->n_units, first = w->places[w->sentences.items[row]];
    const size_t n = w->places[w->sentences.items[row] + 1] - first;
    const float *s = a->outputs + row * n_units;
    float *shares = w->shares.items + row * w->most_places, *out = w->combined.items + row * 2 * n_units;
    kernels->dot_f32(shares, s, w->keys.items + first * n_units, n_units * sizeof(float), n, n_units);
    soft_max(kernels, shares, n);
    kernels->gather_scaled(out, w->memory.items + first * n_units, n_units, w->counting, shares, n, 0);
    memcpy(out + n_units, s, n_units * sizeof(float));
    uint32_t best = 0;
    for (uint32_t j = 1; j + 1 < n; j++)
        best = shares[j] > shares[best] ? j : best;
    if (a->attended != NULL)
        a->attended[row] = best;
}

/* ------------------------------------------------------------------------------------------------ step */

static void attend_all(thr_seq2seq_work *w, const float *outputs, float *states, uint32_t *attended) {
    const thr_seq2seq *m = w->model;
    attention all = {w, outputs, attended};
    thr_parallel_for(w->context, w->n_rows, attend, &all);
    const thr_dense combine = {m->combine, NULL, 2 * m->n_units, m->n_dims};
    thr_nn_dense_forward(w->context, &combine, w->combined.items, w->n_rows, states);
    thr_nn_tanh_forward(w->context, states, w->n_rows * m->n_dims, states);
}

static thr_status make_room(thr_seq2seq_work *w, thr_error *err) {
    const thr_seq2seq *m = w->model;
    const size_t n = w->n_rows, before = w->counting_capacity;
    THR_TRY(thr_translate_floats_reserve(w->context, &w->x, n, m->target.n_columns, err));
    THR_TRY(thr_translate_floats_reserve(w->context, &w->gates, n, THR_LSTM_GATES * m->n_units, err));
    THR_TRY(thr_translate_floats_reserve(w->context, &w->shares, n, w->most_places, err));
    THR_TRY(thr_translate_floats_reserve(w->context, &w->combined, n, 2 * m->n_units, err));
    THR_TRY(
        thr_grow(w->context, &w->counting, &w->counting_capacity, w->most_places, sizeof *w->counting, "places", err));
    if (w->counting_capacity != before)
        for (size_t i = 0; i < w->counting_capacity; i++)
            w->counting[i] = (uint32_t)i;
    return THR_OK;
}

thr_status thr_translate_seq2seq_step(thr_seq2seq_work *w, const uint32_t *words, float *states, uint32_t *attended,
                                      thr_error *err) {
    const thr_seq2seq *m = w->model;
    const thr_vocabulary *target = &m->target;
    const size_t n = w->n_rows;
    THR_TRY(make_room(w, err));
    const double begin = thr_clock();
    for (size_t i = 0; i < n; i++)
        memcpy(w->x.items + i * target->n_columns, target->rows + words[i] * target->n_columns,
               target->n_columns * sizeof(float));
    const float *x = w->x.items;
    for (size_t l = 0; l < m->n_layers; l++) {
        thr_nn_lstm_inputs(w->context, &m->decoder[l].lstm, x, n, w->gates.items);
        thr_nn_lstm_step(w->context, &m->decoder[l].lstm, w->gates.items, n, w->now[l].h.items, w->now[l].c.items);
        x = w->now[l].h.items;
    }
    const double layered = thr_clock();
    if (m->attention == NULL)
        memcpy(states, x, n * m->n_dims * sizeof *states);
    else
        attend_all(w, x, states, attended);
    w->layers_seconds += layered - begin;
    w->attention_seconds += thr_clock() - layered;
    return THR_OK;
}
