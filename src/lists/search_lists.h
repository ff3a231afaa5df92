/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search_lists.h - the best items for a query by the features they have, in one pass: windows of items are summed up in
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
#ifndef THR_LISTS_SEARCH_LISTS_H
#define THR_LISTS_SEARCH_LISTS_H

#include "lists/query_terms.h"
#include "select/candidates.h"

/* What is searched and how. Pointers are borrowed. */
typedef struct thr_hit_target {
    const thr_lists *lists;
    const uint32_t *rows; /* of items, to tell them by; NULL: items are rows */
    thr_hits_value value;
    const float *multipliers; /* one an item, finite; NULL: 1 */
    const float *offsets;     /* one an item, finite; NULL: 0 */
    uint64_t values_number;   /* of these two, another one for others; 0: there are none */
    const uint64_t *filter;   /* bit i % 64 of word i / 64: item i may be found; NULL: all may */
} thr_hit_target;

typedef struct thr_lists_search thr_lists_search; /* scratch memory, kept from search to search; one search at a time */

thr_status thr_lists_search_create(thr_context *context, thr_lists_search **search, thr_error *err);
void thr_lists_search_free(thr_lists_search *search);

/*
 * What a query's search has found: the best items, best first. On a device where values were made of scores, too, they
 * are in any order; sums has those of the items then, in units, and an item's distance is that of its code.
 */
typedef struct thr_hit_found {
    const thr_candidate *items;
    const int32_t *sums; /* or NULL */
    size_t n;
    uint32_t n_unknown; /* features that no item has */
    double unit;
} thr_hit_found;

/*
 * The best k of the items that the filter lets through, for query q, k >= 1; fewer where there are no more. *found
 * borrows the search's memory, until it is run again.
 *
 * THR_OK, and what thr_lists_query_of returns; THR_ERANGE for a value that is not finite (err names the row).
 */
thr_status thr_lists_search_run(thr_lists_search *search, const thr_hit_target *target, const thr_hits_queries *queries,
                                uint64_t q, size_t k, thr_hit_found *found, thr_error *err);

/* THR_ERANGE: the value of a row is not finite. */
thr_status thr_lists_search_not_finite(uint64_t row, thr_error *err);

#endif
