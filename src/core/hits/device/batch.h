/* SPDX-License-Identifier: Apache-2.0 */
/* batch.h - the queries that a GPU searches together, and the device memory that they use. */
#pragma once

#include "hits/device/gpu_lists.h"

/* A search, and its current batch. */
typedef struct thr_hit_batch {
    thr_hit_store *store;
    const thr_lists_corpus *corpus;
    const thr_hit_caller *caller;
    uint32_t wanted;    /* items per query, at least 1 */
    uint64_t n_allowed; /* items that the filter lets through */
    uint32_t n_tiles, n_samples, capacity;
    size_t n_sums;

    bool by_lists, has_runs;
    uint64_t first; /* number of the batch's first query */
    uint32_t n;     /* queries in the batch */
    size_t n_entries;
    uint64_t n_steps;
    uint64_t *thresholds; /* device memory, as all arrays below */
    uint32_t *samples, *counts;
    thr_device_item *items, *chosen, *host_chosen;
    int32_t *terms, *host_terms; /* sums of the chosen items, if the caller adds scores */
    uint32_t *host_counts;
} thr_hit_batch;

/*
 * Make a batch of queries from `first` on, as many as go the same way and fit, in the store's queries and entries. On
 * an error, query first + b->n failed.
 */
thr_status thr_hits_batch_make(thr_hit_batch *b, const thr_hits_queries *queries, uint64_t first, thr_error *err);
