/* SPDX-License-Identifier: Apache-2.0 */
/* batch.h - queries that a GPU searches posting lists for together: which, how, and where what they need is. */
#ifndef THR_HITS_DEVICE_BATCH_H
#define THR_HITS_DEVICE_BATCH_H

#include "hits/device/impl.h"

/* Of a search, and of the batch that it is at. */
typedef struct thr_hit_batch {
    thr_hit_store *store;
    const thr_lists_catalogue *catalogue;
    const thr_hit_caller *caller;
    uint32_t wanted;    /* of every query, at least 1 */
    uint64_t n_allowed; /* items that may be found */
    uint32_t n_tiles, n_samples, capacity;
    size_t n_sums;

    bool by_lists, has_runs;
    uint64_t first; /* query */
    uint32_t n;     /* queries */
    size_t n_entries;
    uint64_t n_steps;
    uint64_t *thresholds; /* of the device, as what follows */
    uint32_t *samples, *counts;
    thr_device_item *items, *chosen, *host_chosen;
    int32_t *terms, *host_terms; /* sums of the chosen, where the caller has scores beside them */
    uint32_t *host_counts;
} thr_hit_batch;

/*
 * Queries from `first` on that go the same way, as many as fit, to the store's queries and entries; an error is of
 * query first + b->n.
 */
thr_status thr_hit_batch_make(thr_hit_batch *b, const thr_hits_queries *queries, uint64_t first, thr_error *err);

#endif
