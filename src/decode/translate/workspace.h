/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workspace.h - memory of sentences that are encoded together and then decoded in steps of many rows.
 *
 * A row is a partial translation; several may belong to one sentence. All sums have a fixed order, so a row's state
 * depends only on its sentence and its words, not on the other rows and sentences, the threads or the CPU.
 *
 * Memory grows to the largest batch so far; smaller batches allocate nothing.
 */
#pragma once

#include "translate/model.h"

typedef struct thr_floats {
    float *items;
    size_t capacity;
} thr_floats;

/* Each row's sentence. */
typedef struct thr_row_sentences {
    uint32_t *items;
    size_t capacity;
} thr_row_sentences;

/* h and c of a layer, n_units floats per row. */
typedef struct thr_layer_state {
    thr_floats h, c;
} thr_layer_state;

/* Starts zeroed, except for context and model. */
typedef struct thr_seq2seq_work {
    thr_context *context;
    const thr_seq2seq *model;
    /*
     * Encoded: sentence i has places places[i] to places[i + 1] - 1, each with an encoder output and a key of h floats.
     */
    size_t n_sentences, most_places; /* of the longest sentence */
    size_t *places, *steps;
    thr_floats memory, keys;
    thr_layer_state first[THR_SEQ2SEQ_LAYERS]; /* the initial decoder state of each sentence */
    /* Rows: each one's sentence and decoder state; `other` is where reordered rows are built. */
    size_t n_rows;
    thr_row_sentences sentences, other_sentences;
    thr_layer_state now[THR_SEQ2SEQ_LAYERS], other[THR_SEQ2SEQ_LAYERS];
    /* Scratch. */
    thr_floats x, gates, layer, c, shares, combined;
    uint32_t *counting;                       /* 0, 1, 2, ... */
    double layers_seconds, attention_seconds; /* of all steps; the caller resets them */
    size_t places_capacity, steps_capacity, counting_capacity;
} thr_seq2seq_work;

void thr_translate_seq2seq_work_free(thr_seq2seq_work *work);

/*
 * Encode n_sentences, at least one. Sentence i is words[starts[i]] to words[starts[i + 1] - 1], the last being
 * THR_WORD_END; lengths must not increase. THR_OK or THR_ENOMEM.
 */
thr_status thr_translate_seq2seq_encode(thr_seq2seq_work *work, const uint32_t *words, const size_t *starts,
                                        size_t n_sentences, thr_error *err);

/* Start n rows; row i is of sentence sentences[i], or i if NULL. THR_OK or THR_ENOMEM. */
thr_status thr_translate_seq2seq_begin(thr_seq2seq_work *work, const uint32_t *sentences, size_t n, thr_error *err);

/*
 * Advance all rows: row i gets the target word words[i], and its n_dims floats are written to states. attended, if not
 * NULL: for each row the place of the largest attention among its source's words, the end word excluded; ties to the
 * first, 0 for a source without words; NULL for a model without attention. THR_OK or THR_ENOMEM.
 */
thr_status thr_translate_seq2seq_step(thr_seq2seq_work *work, const uint32_t *words, float *states, uint32_t *attended,
                                      thr_error *err);

/* Reorder: row i of n becomes the former row from[i]. THR_OK or THR_ENOMEM. */
thr_status thr_translate_seq2seq_reorder(thr_seq2seq_work *work, const uint32_t *from, size_t n, thr_error *err);

/* Reserve n_rows x n_columns floats; contents are lost when it grows. THR_OK or THR_ENOMEM. */
thr_status thr_translate_floats_reserve(thr_context *context, thr_floats *floats, size_t n_rows, size_t n_columns,
                                        thr_error *err);
