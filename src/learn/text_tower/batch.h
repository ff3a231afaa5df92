/* SPDX-License-Identifier: Apache-2.0 */
/* batch.h - the pairs of one step: their texts, and the distinct words in them, each of which is embedded once. */
#pragma once

#include "text_tower/pairs.h"

/* The distinct words of a batch that one table of trigrams embeds. */
typedef struct thr_batch_words {
    size_t n;
    uint32_t *local;   /* for every word of the lexicon its number in this batch + 1, or 0 */
    uint32_t *numbers; /* for every word of this batch its number in the lexicon */
    size_t *offsets;   /* bags: the trigrams of each word */
    uint32_t *rows;
    float *vectors, *d_vectors; /* 3 n_pooled a word */
    size_t numbers_capacity, offsets_capacity, rows_capacity, vectors_capacity, d_vectors_capacity;
} thr_batch_words;

typedef struct thr_batch {
    thr_texts texts[THR_N_SIDES]; /* words are given by their numbers in the batch */
    uint32_t *words[THR_N_SIDES];
    size_t *offsets[THR_N_SIDES];
    size_t words_capacity[THR_N_SIDES], offsets_capacity[THR_N_SIDES];
    thr_batch_words tables[THR_N_SIDES]; /* one if shared, else two */
} thr_batch;

/* Options of a batch. */
typedef struct thr_batch_mode {
    bool learn;    /* also allocate gradients, zeroed */
    float dropout; /* probability that a word is dropped; every text keeps one at least */
    uint64_t seed; /* of the dropout */
} thr_batch_mode;

/* The pairs of a batch. */
typedef struct thr_batch_source {
    const thr_tower_config *config;
    const thr_lexicon *lexicon; /* after thr_words_lexicon_spell */
    const thr_pairs *pairs;
    const uint32_t *numbers; /* the n pairs' numbers */
    size_t n;
} thr_batch_source;

/* Assemble a batch. *batch starts zeroed. THR_OK or THR_ENOMEM. */
thr_status thr_text_batch_fill(thr_context *context, const thr_batch_source *source, const thr_batch_mode *mode,
                               thr_batch *batch, thr_error *err);
void thr_text_batch_free(thr_context *context, thr_batch *batch);

static inline thr_batch_words *thr_batch_table(const thr_tower_config *config, thr_batch *batch, thr_side side) {
    return &batch->tables[config->shared_words ? 0 : side];
}
static inline thr_bags thr_batch_bags(const thr_batch_words *words) {
    return (thr_bags){.n_bags = words->n, .offsets = words->offsets, .rows = words->rows};
}
