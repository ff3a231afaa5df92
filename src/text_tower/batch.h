/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.h - the pairs of one step: their texts, and the distinct words in them, which are multiplied once each.
 */
#ifndef THR_TEXT_TOWER_BATCH_H
#define THR_TEXT_TOWER_BATCH_H

#include "text_tower/pairs.h"

/* Distinct words of a batch that one table of trigrams makes vectors of. */
typedef struct thr_batch_words {
    size_t n;
    uint32_t *local;   /* of every word of the lexicon its number in this batch + 1, or 0 */
    uint32_t *numbers; /* and back */
    size_t *offsets;   /* their trigrams: bags */
    uint32_t *rows;
    float *vectors, *d_vectors; /* 3 n_pooled a word */
    size_t numbers_capacity, offsets_capacity, rows_capacity, vectors_capacity, d_vectors_capacity;
} thr_batch_words;

typedef struct thr_batch {
    thr_texts texts[THR_N_SIDES]; /* words by their numbers in the batch */
    uint32_t *words[THR_N_SIDES];
    size_t *offsets[THR_N_SIDES];
    size_t words_capacity[THR_N_SIDES], offsets_capacity[THR_N_SIDES];
    thr_batch_words tables[THR_N_SIDES]; /* one, or two */
} thr_batch;

/* How a batch is read. */
typedef struct thr_batch_mode {
    bool learn;    /* make room for gradients, too, zeroed */
    float dropout; /* the share of words that are left out, by chance; of a text one stays at least */
    uint64_t seed; /* of that chance */
} thr_batch_mode;

/* Which pairs are read. */
typedef struct thr_batch_source {
    const thr_tower_config *config;
    const thr_lexicon *lexicon; /* has been spelled */
    const thr_pairs *pairs;
    const uint32_t *numbers; /* n of them */
    size_t n;
} thr_batch_source;

/* *batch starts zeroed. THR_OK or THR_ENOMEM. */
thr_status thr_text_batch_fill(thr_context *context, const thr_batch_source *source, const thr_batch_mode *mode,
                               thr_batch *batch, thr_error *err);
void thr_text_batch_free(thr_context *context, thr_batch *batch);

static inline thr_batch_words *thr_batch_table(const thr_tower_config *config, thr_batch *batch, thr_side side) {
    return &batch->tables[config->shared_words ? 0 : side];
}
static inline thr_bags thr_batch_bags(const thr_batch_words *words) {
    return (thr_bags){.n_bags = words->n, .offsets = words->offsets, .rows = words->rows};
}

#endif
