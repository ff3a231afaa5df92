/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beam.h - the members of a beam search: live rows, the tree of their words, and finished sequences.
 *
 * A node is the last word of a sequence; its parents are the words before. Nodes are kept until the end, so rows share
 * their common prefix and nothing is copied between steps.
 */
#pragma once

#include <thresher/beam.h>

#include "base/memory.h"

#define THR_BEAM_ROOT SIZE_MAX /* the parent of first words */

typedef struct thr_beam_node {
    size_t parent;
    uint32_t word;
    float log_prob;
} thr_beam_node;

/* A live sequence, in the order of the decoder's rows. */
typedef struct thr_beam_row {
    size_t node;
    double log_prob;
} thr_beam_row;

typedef struct thr_beam_finished {
    double score, log_prob;
    size_t node;
    uint32_t length;
    bool ended;
} thr_beam_finished;

typedef struct thr_beam_sentence {
    size_t first_row;
    uint32_t n_rows; /* live rows; 0: the sentence is done */
    uint32_t max_length;
    uint32_t n_kept; /* finished sequences kept, n_best at most */
    uint64_t n_finished;
} thr_beam_sentence;

/* A row's next continuation to consider: the at-th of the words the head found. */
typedef struct thr_beam_next {
    double log_prob;
    uint32_t word, row, at;
} thr_beam_next;

/* Capacities of the search's arrays, which grow and are kept. */
typedef struct thr_beam_capacities {
    size_t sentences, finished, rows, next_rows, words, from, states, found, log_probs, penalties, nodes;
    size_t first_of, offsets, result_words, word_log_probs, result_log_probs, scores, ended;
} thr_beam_capacities;

struct thr_beam {
    thr_head *head;
    thr_context *context;
    uint32_t n_words, n_dims; /* of the head */
    uint32_t k;               /* words found by the head for each row */
    thr_beam_options options;
    thr_head_query_options query;
    uint32_t *always;
    uint32_t *never; /* of the query */
    thr_beam_capacities capacities;

    thr_beam_sentence *sentences;
    thr_beam_finished *finished; /* n_best a sentence, best first */
    thr_beam_row *rows, *next_rows;
    size_t n_sentences, n_rows, n_next_rows;
    uint32_t *words, *from; /* of every next row: its last word, and the row it continues */
    float *states;
    uint32_t *found;     /* k words per row, best first */
    float *log_probs;    /* of found */
    double *penalties;   /* by length, from 0 */
    thr_beam_next *heap; /* `beam` elements */
    thr_beam_node *nodes;
    size_t n_nodes;
    uint32_t length; /* of the rows after the current step */
    uint64_t n_states;
    double head_seconds, expand_seconds, reorder_seconds;

    uint64_t *first_of, *offsets; /* of the result */
    uint32_t *result_words;
    float *word_log_probs;
    double *result_log_probs, *scores;
    uint8_t *ended;
};

/* Compute beam->penalties up to max_length; they never decrease with the length. THR_OK or THR_ENOMEM. */
thr_status thr_beam_set_penalties(thr_beam *beam, uint32_t max_length, thr_error *err);

/*
 * Advance sentence s by the words the head found: endings are finished, other continuations are appended to next_rows,
 * with their `from` and `words`. The caller has reserved the memory.
 */
void thr_beam_advance(thr_beam *beam, size_t s);

/* Write the finished sequences to the result's arrays. THR_OK or THR_ENOMEM. */
thr_status thr_beam_collect(thr_beam *beam, thr_beam_result *result, thr_error *err);
