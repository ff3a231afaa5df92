/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search_lists.h - the best items for a query by the features they have, in one pass. Windows of items are summed up in
 * cache, turned into values and offered to a collector; no allocation grows with the number of items.
 *
 * With s an item's sum, its value is
 *
 *   THR_HITS_VALUE_SUM       multiplier s + offset
 *   THR_HITS_VALUE_SIGMOID   multiplier / (1 + exp(-s)) + offset
 *
 * in floats, rounded after each operation: a bid is a multiplier, pacing an offset (HitMatch 3.1). An item without a
 * hit has the sum 0. Items are searched by place and returned by row; ties go to the smaller row.
 */
#pragma once

#include "lists/query_terms.h"
#include "select/candidates.h"

/* The lists to search, and the values and filter of their items. Pointers are borrowed. */
typedef struct thr_lists_corpus {
    const thr_lists *lists;
    const uint32_t *rows; /* per place: the row to return; NULL: places are rows */
    thr_hits_value value;
    const float *multipliers; /* per place, finite; NULL: all 1 */
    const float *offsets;     /* per place, finite; NULL: all 0 */
    uint64_t values_id;       /* identifies the contents of these two; 0: both are NULL */
    const uint64_t *filter;   /* bit i % 64 of word i / 64: the item in place i may be found; NULL: all may */
} thr_lists_corpus;

/* Workspace of one search at a time, reused by later searches. */
typedef struct thr_lists_search thr_lists_search;

thr_status thr_lists_search_create(thr_context *context, thr_lists_search **search, thr_error *err);
void thr_lists_search_free(thr_lists_search *search);

/*
 * The result of one query. thr_lists_search_run: the best items, best first; sums is NULL. A search on a device that
 * adds scores of codes: items in any order, with the distance of an item's code in distance, and its sum in sums.
 */
typedef struct thr_lists_found {
    const thr_candidate *items;
    const int32_t *sums; /* in units; or NULL */
    size_t n;
    uint32_t n_unknown; /* features that no item has */
    double unit;
} thr_lists_found;

/*
 * Find the best k >= 1 items that pass the filter, for query q; fewer if fewer pass.
 * *found borrows the search's memory until the next call.
 *
 * THR_OK; what thr_lists_query_of returns; THR_ERANGE for a value that is not finite (err names the row).
 */
thr_status thr_lists_search_run(thr_lists_search *search, const thr_lists_corpus *corpus,
                                const thr_hits_queries *queries, uint64_t q, size_t k, thr_lists_found *found,
                                thr_error *err);

/* Return THR_ERANGE: the value of a row is not finite. */
thr_status thr_lists_fail_not_finite(uint64_t row, thr_error *err);
