/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encoder.c - encoding sentences of different lengths together, for attention, if any, and as the decoder's initial
 * state.
 *
 * Layers run over the rows of all sentences step by step, longest sentence first (lstm.h). Attention needs each
 * sentence's places adjacent, so the outputs are transposed to that order. Keys are A m_j, computed once, so that a
 * decoder step has no product with A.
 */
#include <string.h>

#include "base/error.h"
#include "base/minmax.h"
#include "nn/dense.h"
#include "translate/workspace.h"

thr_status thr_translate_floats_reserve(thr_context *context, thr_floats *floats, size_t n_rows, size_t n_columns,
                                        thr_error *err) {
    size_t n = 0;
    if (!thr_mul_size(n_rows, n_columns, &n))
        return thr_fail(err, THR_ENOMEM, "no memory for %zu rows of %zu numbers", n_rows, n_columns);
    return thr_grow(context, &floats->items, &floats->capacity, n, sizeof(float), "sentences at work", err);
}

static void free_states(thr_context *context, thr_layer_state *states) {
    for (size_t l = 0; l < THR_SEQ2SEQ_LAYERS; l++)
        THR_RELEASE(context, states[l].h.items, states[l].c.items);
}

void thr_translate_seq2seq_work_free(thr_seq2seq_work *work) {
    thr_context *context = work->context;
    const thr_floats *const all[] = {&work->memory, &work->keys, &work->x,      &work->gates,
                                     &work->layer,  &work->c,    &work->shares, &work->combined};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        thr_release(context, all[i]->items);
    free_states(context, work->first);
    free_states(context, work->now);
    free_states(context, work->other);
    THR_RELEASE(context, work->places, work->steps, work->sentences.items, work->other_sentences.items, work->counting);
}

/* ------------------------------------------------------------------------------------------------ memory */

static thr_status make_room(thr_seq2seq_work *w, size_t n_sentences, size_t n_places, size_t most_places,
                            thr_error *err) {
    const thr_seq2seq *m = w->model;
    thr_context *context = w->context;
    const size_t n_units = m->n_units;
    const size_t widest = THR_MAX(m->source.n_columns, n_units);
    THR_TRY(thr_grow(context, &w->places, &w->places_capacity, n_sentences + 1, sizeof *w->places, "sentences", err));
    THR_TRY(thr_grow(context, &w->steps, &w->steps_capacity, most_places + 1, sizeof *w->steps, "steps", err));
    THR_TRY(thr_translate_floats_reserve(context, &w->memory, n_places, n_units, err));
    THR_TRY(thr_translate_floats_reserve(context, &w->keys, n_places, n_units, err));
    THR_TRY(thr_translate_floats_reserve(context, &w->x, n_places, widest, err));
    THR_TRY(thr_translate_floats_reserve(context, &w->layer, n_places, n_units, err));
    THR_TRY(thr_translate_floats_reserve(context, &w->gates, n_places, THR_LSTM_GATES * n_units / 2, err));
    THR_TRY(thr_translate_floats_reserve(context, &w->c, n_sentences, n_units / 2, err));
    for (size_t l = 0; l < m->n_layers; l++) {
        THR_TRY(thr_translate_floats_reserve(context, &w->first[l].h, n_sentences, n_units, err));
        THR_TRY(thr_translate_floats_reserve(context, &w->first[l].c, n_sentences, n_units, err));
    }
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ layers */

static size_t length_of(const thr_seq2seq_work *w, size_t sentence) {
    return w->places[sentence + 1] - w->places[sentence];
}

/* Set the steps, and copy the words' embeddings in the order of steps, then of sentences. */
static thr_lstm_sequences lay_out(thr_seq2seq_work *w, const uint32_t *words, const size_t *starts) {
    const thr_vocabulary *source = &w->model->source;
    size_t n_rows = 0, n_left = w->n_sentences;
    for (size_t t = 0; t < w->most_places; t++) {
        w->steps[t] = n_rows;
        while (length_of(w, n_left - 1) <= t)
            n_left--;
        for (size_t i = 0; i < n_left; i++, n_rows++)
            memcpy(w->x.items + n_rows * source->n_columns, source->rows + words[starts[i] + t] * source->n_columns,
                   source->n_columns * sizeof(float));
    }
    w->steps[w->most_places] = n_rows;
    return (thr_lstm_sequences){w->most_places, w->steps, false};
}

/*
 * Run one direction of a layer. It fills its half of each output row, and its last h and c fill their half of the
 * decoder's initial state.
 */
static void run_direction(thr_seq2seq_work *w, const thr_lstm *lstm, const thr_lstm_sequences *sequences,
                          size_t layer) {
    const bool backward = sequences->backward;
    const size_t n_units = w->model->n_units, half = n_units / 2, at = backward ? half : 0;
    const size_t n_rows = w->places[w->n_sentences];
    thr_nn_lstm_inputs(w->context, lstm, w->x.items, n_rows, w->gates.items);
    thr_nn_lstm_run(w->context, lstm, sequences, w->gates.items, w->layer.items + at, n_units, w->c.items);
    for (size_t i = 0; i < w->n_sentences; i++) {
        const size_t last = backward ? i : w->steps[length_of(w, i) - 1] + i;
        memcpy(w->first[layer].h.items + i * n_units + at, w->layer.items + last * n_units + at, half * sizeof(float));
        memcpy(w->first[layer].c.items + i * n_units + at, w->c.items + i * half, half * sizeof(float));
    }
}

/* Transpose rows from the order of steps to the order of sentences. */
static void order_by_sentence(thr_seq2seq_work *w) {
    const size_t n_units = w->model->n_units;
    for (size_t i = 0; i < w->n_sentences; i++)
        for (size_t t = 0; t < length_of(w, i); t++)
            memcpy(w->memory.items + (w->places[i] + t) * n_units, w->layer.items + (w->steps[t] + i) * n_units,
                   n_units * sizeof(float));
}

thr_status thr_translate_seq2seq_encode(thr_seq2seq_work *w, const uint32_t *words, const size_t *starts,
                                        size_t n_sentences, thr_error *err) {
    const thr_seq2seq *m = w->model;
    const size_t n_places = starts[n_sentences] - starts[0];
    THR_TRY(make_room(w, n_sentences, n_places, starts[1] - starts[0], err));
    w->n_sentences = n_sentences;
    w->most_places = starts[1] - starts[0];
    for (size_t i = 0; i <= n_sentences; i++)
        w->places[i] = starts[i] - starts[0];
    const thr_lstm_sequences forward = lay_out(w, words, starts);
    const thr_lstm_sequences backward = {forward.n_steps, forward.starts, true};
    const thr_dense attention = {m->attention, NULL, m->n_units, m->n_units};
    for (size_t l = 0; l < m->n_layers; l++) {
        if (l > 0)
            memcpy(w->x.items, w->layer.items, n_places * m->n_units * sizeof(float));
        run_direction(w, &m->forward[l].lstm, &forward, l);
        run_direction(w, &m->backward[l].lstm, &backward, l);
    }
    if (m->attention == NULL)
        return THR_OK;
    order_by_sentence(w);
    thr_nn_dense_forward(w->context, &attention, w->memory.items, n_places, w->keys.items);
    return THR_OK;
}
