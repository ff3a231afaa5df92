/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buckets.h - the other way to select on devices: the best item of every bucket, and the best of these (RBE
 * section 6; ops.h says what a bucket is). Exact with its certificate, else as published.
 */
#ifndef THR_STORE_BUCKETS_H
#define THR_STORE_BUCKETS_H

#include "store/queries.h"

/* Where a batch's results go on a part's device: so many places a query. */
typedef struct thr_bucket_places {
    uint32_t wanted;                 /* at least 1 */
    uint32_t capacity;               /* at least wanted */
    thr_device_item *items, *chosen; /* capacity, wanted */
    uint64_t *thresholds;
    uint32_t *counts, *n_chosen;
} thr_bucket_places;

/*
 * Buckets of n_items items, for so many wanted ones: a multiple of THR_DEVICE_TILE. bucket_items: as the context has
 * it, 0 for the rule.
 */
uint32_t thr_store_count_buckets(uint64_t n_items, uint32_t wanted, uint32_t bucket_items);

/*
 * Everything a batch takes, without waiting for it: the chosen ones of every query, in no order, and how many they are.
 * Those whose keys have no upper half stand for buckets without items. With the context's THR_SELECTION_BUCKETS they
 * are the best of all, unless counts is more than capacity; with THR_SELECTION_PAPER counts is not touched.
 */
thr_status thr_store_start_buckets(const thr_collecting *c, thr_store_part *part, const thr_bucket_places *places,
                                   thr_error *err);

#endif
