/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buckets.h - selection by buckets on devices: the best item of every bucket, then the best of these (RBE section 6;
 * ops.h defines the buckets). Exact with the certificate, else as published.
 */
#ifndef THR_STORE_BUCKETS_H
#define THR_STORE_BUCKETS_H

#include "store/queries.h"

/* Device memory for a batch's results, with this many elements per query. */
typedef struct thr_bucket_results {
    uint32_t wanted;                 /* rows per query, at least 1 */
    uint32_t capacity;               /* items per query, at least wanted */
    thr_device_item *items, *chosen; /* capacity and wanted elements per query */
    uint64_t *thresholds;
    uint32_t *counts, *n_chosen;
} thr_bucket_results;

/*
 * The number of buckets for n_items items of which `wanted` are selected: a multiple of THR_DEVICE_TILE. bucket_items
 * is the context's setting; 0: choose.
 */
uint32_t thr_store_count_buckets(uint64_t n_items, uint32_t wanted, uint32_t bucket_items);

/*
 * Enqueue the selection for a batch: the chosen items of every query, in no order, and their number. Items whose keys
 * have no upper half come from empty buckets. With the context's THR_SELECTION_BUCKETS the chosen items are exactly the
 * best, unless counts exceeds capacity; with THR_SELECTION_PAPER counts is left as it was.
 */
thr_status thr_store_start_buckets(const thr_collecting *c, thr_store_part *part, const thr_bucket_results *results,
                                   thr_error *err);

#endif
