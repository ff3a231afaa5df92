/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query_terms.h - the entries and weights of a query's features (HitMatch (9)). An item's sum is the sum of w_i x_i
 * over those features i of the query that the item has. w_i is the feature's weight, x_i its value in the query; the
 * weights below are the products w_i x_i.
 *
 * Weights are rounded to whole multiples of a unit, a power of two that is at most 2^-29 of the sum of all |w_i x_i|.
 * Sums are 32-bit integers and cannot overflow. So an item's sum does not depend on the order of additions: it has
 * the same bits for any numbering of the items, any number of threads, and on every device. The rounding error of a
 * weight is at most half a unit.
 */
#pragma once

#include "lists/lists.h"
#include "kernel/kernel.h"

/* A term of a query: an entry of one of its features, with the weight of the feature. */
typedef struct thr_lists_term {
    const uint8_t *windows; /* of the stretches */
    const uint16_t *sizes;
    uint32_t n_stretches, begin; /* first element, in its form */
    int32_t weight;              /* in units, never 0 */
} thr_lists_term;

/* A feature that only one item has, with its weight, which is never 0. */
typedef struct thr_lists_single {
    uint32_t place;
    int32_t weight;
} thr_lists_single;

/* Initialise with zeros. May be used for any number of queries; its memory grows with the largest. */
typedef struct thr_lists_query {
    const thr_lists *lists;
    thr_lists_term *terms[THR_LISTS_N_FORMS];
    size_t n[THR_LISTS_N_FORMS], capacity[THR_LISTS_N_FORMS];
    thr_lists_single *singles; /* sorted by window; behind them as much scratch memory for sorting */
    size_t n_singles, singles_capacity;
    uint32_t window_ends[THR_LISTS_MAX_WINDOWS]; /* end of each window's singles */
    double unit;
    uint32_t n_unknown; /* features that no item has */
} thr_lists_query;

static inline size_t thr_lists_query_n_terms(const thr_lists_query *query) {
    return query->n[THR_LISTS_PLACES] + query->n[THR_LISTS_RUNS] + query->n[THR_LISTS_BITMAPS];
}

/* Compute the unit of a query's weights. THR_OK; THR_EINVAL and THR_ERANGE as thr_lists_query_make. */
thr_status thr_lists_query_unit(const uint32_t *features, const float *weights, size_t n, double *unit, thr_error *err);

/* The weight of feature i, rounded, in units. */
int32_t thr_lists_query_weight(const float *weights, size_t i, double unit);

/*
 * Make a query from n features in any order; the weights of a repeated feature add up. weights NULL: all 1. Unknown
 * features only affect the unit.
 *
 * THR_OK; THR_EINVAL for more than THR_HITS_MAX_FEATURES; THR_ERANGE for a weight that is not finite (err names the
 * feature); THR_ENOMEM.
 */
thr_status thr_lists_query_make(thr_context *context, const thr_lists *lists, const uint32_t *features,
                                const float *weights, size_t n, thr_lists_query *query, thr_error *err);

/* The same for query q of queries. */
thr_status thr_lists_query_of(thr_context *context, const thr_lists *lists, const thr_hits_queries *queries, uint64_t q,
                              thr_lists_query *query, thr_error *err);

/* Allocate memory for any query of n features. THR_ENOMEM. */
thr_status thr_lists_query_reserve(thr_context *context, thr_lists_query *query, size_t n, thr_error *err);
void thr_lists_query_free(thr_context *context, thr_lists_query *query);
