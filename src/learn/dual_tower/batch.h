/* SPDX-License-Identifier: Apache-2.0 */
/* batch.h - the requests of one step: users, the distinct ads shown to them, and the features their histories hit. */
#pragma once

#include "dual_tower/model.h"

/* The data that batches are taken from. */
typedef struct thr_dual_data {
    const thr_dual_model *model;
    const thr_dual_lexicon *lexicon;
    const thr_dual_items *items;
    const thr_dual_map *map;
} thr_dual_data;

/* Requests by their numbers; numbers NULL: the first n. */
typedef struct thr_dual_some {
    const thr_dual_requests *requests;
    const uint32_t *numbers;
    size_t n;
} thr_dual_some;

static inline size_t thr_dual_request(const thr_dual_some *some, size_t i) {
    return some->numbers != NULL ? some->numbers[i] : i;
}

/* A user's word that can hit a feature of items. */
typedef struct thr_dual_history {
    uint32_t feature;    /* the items' word that it hits */
    uint32_t row, field; /* of its weights; the row may be THR_DUAL_NONE */
    float x;
} thr_dual_history;

typedef struct thr_dual_batch {
    size_t n; /* requests */
    thr_dual_bags examples[THR_N_SIDES];
    uint32_t *local; /* for every item its number in this batch + 1, or 0 */
    uint32_t *items; /* for every item of this batch its number among all items */
    size_t n_items;
    /* Request r has ads[ad_offsets[r]] to ads[ad_offsets[r + 1] - 1], numbered within the batch, ... */
    size_t *ad_offsets;
    uint32_t *ads;
    /* ... and history[history_offsets[r]] to history[history_offsets[r + 1] - 1]. */
    size_t *history_offsets;
    thr_dual_history *history;
    uint32_t *row_scratch; /* rows of an example's words */
    size_t items_capacity, ad_offsets_capacity, ads_capacity, history_offsets_capacity, history_capacity, row_capacity;
} thr_dual_batch;

/* Assemble a batch. *batch starts zeroed. THR_OK or THR_ENOMEM. */
thr_status thr_dual_batch_fill(thr_context *context, const thr_dual_data *data, const thr_dual_some *some,
                               thr_dual_batch *batch, thr_error *err);
void thr_dual_batch_free(thr_context *context, thr_dual_batch *batch);
