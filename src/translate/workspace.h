/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workspace.h - sentences that a model works on together: encoded once, then decoded a step of many rows at a time.
 *
 * A row is a translation in the making; several may be of one sentence. A row's state depends on its sentence and its
 * words alone, not on the rows and sentences beside it, the threads or the CPU: all sums are in a written order.
 *
 * Memory: scratch of the largest batch so far, kept; of batches that are no larger nothing is allocated.
 */
#ifndef THR_TRANSLATE_WORKSPACE_H
#define THR_TRANSLATE_WORKSPACE_H

#include "translate/model.h"

typedef struct thr_floats {
    float *items;
    size_t capacity;
} thr_floats;

/* h and c of a layer, n_units floats a row. */
typedef struct thr_layer_state {
    thr_floats h, c;
} thr_layer_state;

/* Set up by zeroing, then context and model. */
typedef struct thr_seq2seq_work {
    thr_context *context;
    const thr_seq2seq *model;
    /* Encoded: sentence i has places places[i] to places[i + 1] - 1, an encoder's output and a key of h floats each. */
    size_t n_sentences, most_places; /* of one sentence */
    size_t *places, *steps;
    thr_floats memory, keys;
    thr_layer_state first[THR_SEQ2SEQ_LAYERS]; /* what a row of each sentence begins with */
    /* Rows: which sentence each is of, and where its decoder is; the others are where reordered ones are put. */
    size_t n_rows;
    uint32_t *sentences, *other_sentences;
    thr_layer_state now[THR_SEQ2SEQ_LAYERS], other[THR_SEQ2SEQ_LAYERS];
    /* Scratch. */
    thr_floats x, gates, layer, c, shares, combined;
    uint32_t *counting; /* 0, 1, 2, ... */
    size_t places_capacity, steps_capacity, sentences_capacity, other_capacity, counting_capacity;
} thr_seq2seq_work;

void thr_translate_seq2seq_work_free(thr_seq2seq_work *work);

/*
 * Encode n_sentences, one at least: sentence i is words[starts[i]] to words[starts[i + 1] - 1], of which the last is
 * THR_WORD_END; none is longer than the one before it. THR_OK; THR_ENOMEM.
 */
thr_status thr_translate_seq2seq_encode(thr_seq2seq_work *work, const uint32_t *words, const size_t *starts,
                                        size_t n_sentences, thr_error *err);

/* Begin n rows anew, row i of sentence sentences[i], or of sentence i where that is NULL. THR_OK; THR_ENOMEM. */
thr_status thr_translate_seq2seq_begin(thr_seq2seq_work *work, const uint32_t *sentences, size_t n, thr_error *err);

/*
 * Row i of all rows gets the word words[i], below the number of target words; states: n_dims floats a row. attended,
 * where not NULL: the place of each row's largest attention among its source's words, without the end; the first of
 * equal ones, 0 of a source without words. THR_OK; THR_ENOMEM.
 */
thr_status thr_translate_seq2seq_step(thr_seq2seq_work *work, const uint32_t *words, float *states, uint32_t *attended,
                                      thr_error *err);

/* Row i of n will be what row from[i] was. THR_OK; THR_ENOMEM. */
thr_status thr_translate_seq2seq_reorder(thr_seq2seq_work *work, const uint32_t *from, size_t n, thr_error *err);

/* Room for n_rows x n_columns floats; what was there is lost where it grows. THR_OK; THR_ENOMEM. */
thr_status thr_translate_floats_reserve(thr_context *context, thr_floats *floats, size_t n_rows, size_t n_columns,
                                        thr_error *err);

#endif
