/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hit_search.h - the best items for a query by the features they have, in one pass: windows of items are summed up in
 * cache, made into values and offered to a collector, so nothing is as long as the catalogue.
 *
 * With s an item's sum, its value is
 *
 *   THR_HITS_VALUE_SUM       multiplier s + offset
 *   THR_HITS_VALUE_SIGMOID   multiplier / (1 + exp(-s)) + offset
 *
 * in floats, operation by operation: a bid is a multiplier, pacing an offset (HitMatch 3.1). Items without a hit have a
 * sum, too: 0. Items are searched in the order of the lists and told by row; equal values go to the smaller row.
 */
#ifndef THR_HITS_HIT_SEARCH_H
#define THR_HITS_HIT_SEARCH_H

#include "hits/hit_query.h"
#include "select/candidates.h"

/* What is searched and how. Pointers are borrowed. */
typedef struct thr_hit_target {
    const thr_lists *lists;
    const uint32_t *rows; /* of items, to tell them by; NULL: items are rows */
    thr_hits_value value;
    const float *multipliers; /* one an item, finite; NULL: 1 */
    const float *offsets;     /* one an item, finite; NULL: 0 */
    const uint64_t *filter;   /* bit i % 64 of word i / 64: item i may be found; NULL: all may */
} thr_hit_target;

typedef struct thr_hit_search thr_hit_search; /* scratch memory, kept from search to search; one search at a time */

thr_status thr_hit_search_create(thr_context *context, thr_hit_search **search, thr_error *err);
void thr_hit_search_free(thr_hit_search *search);

/*
 * The best k of the items that the filter lets through, best first; *n of them, fewer than k where there are no more.
 * Features and weights as thr_hit_query_make has them; *n_unknown of them no item has. rows and values have k places,
 * k >= 1.
 *
 * THR_OK, and what thr_hit_query_make returns; THR_ERANGE for a value that is not finite (err names the row).
 */
thr_status thr_hit_search_run(thr_hit_search *search, const thr_hit_target *target, const uint32_t *features,
                              const float *weights, size_t n_features, size_t k, uint64_t *rows, float *values,
                              size_t *n, uint32_t *n_unknown, thr_error *err);

/* THR_ERANGE: the value of a row is not finite. */
thr_status thr_hit_search_not_finite(uint64_t row, thr_error *err);

#endif
