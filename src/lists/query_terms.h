/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query_terms.h - what a query's features add to items (HitMatch (9)): an item's score is the sum of the weights w_i
 * x_i of the query's features that it has.
 *
 * Weights are rounded to whole multiples of a unit, a power of two that is at most 2^-29 of the sum of all |w_i x_i|,
 * and sums are integers of 32 bits, which cannot overflow. So an item's score does not depend on the order in which it
 * is added up: it has the same bits for any numbering of the items, any number of threads, and on every device. What a
 * weight is off by is half a unit.
 */
#ifndef THR_LISTS_QUERY_TERMS_H
#define THR_LISTS_QUERY_TERMS_H

#include "lists/lists.h"
#include "kernel/kernel.h"

/* An entry of a feature, with its weight. */
typedef struct thr_hit_stream {
    const uint8_t *windows; /* of the parts */
    const uint16_t *sizes;
    uint32_t n_parts, begin; /* the first element, in its form */
    int32_t weight;          /* in units, never 0 */
} thr_hit_stream;

/* A feature that one item alone has, with its weight, which is never 0. */
typedef struct thr_hit_single {
    uint32_t place;
    int32_t weight;
} thr_hit_single;

/* How far a pass has come in a stream. */
typedef struct thr_hit_cursor {
    uint32_t part, element;
} thr_hit_cursor;

/* Set up by zeroing; used again and again, its memory grows with the largest query. */
typedef struct thr_lists_query {
    const thr_lists *lists;
    thr_hit_stream *streams[THR_LISTS_N_FORMS];
    size_t n[THR_LISTS_N_FORMS], capacity[THR_LISTS_N_FORMS];
    thr_hit_single *singles; /* by window; behind them, once there was one, as many more to sort by */
    size_t n_singles, singles_capacity;
    uint32_t window_ends[THR_LISTS_MAX_WINDOWS]; /* of the singles of each window */
    double unit;
    uint32_t n_unknown; /* features that no item has */
} thr_lists_query;

static inline size_t thr_hit_query_streams(const thr_lists_query *query) {
    return query->n[THR_LISTS_IDS] + query->n[THR_LISTS_RUNS] + query->n[THR_LISTS_BITMAPS];
}

/*
 * What a query's weights are whole multiples of. THR_OK; THR_EINVAL and THR_ERANGE as thr_lists_query_make.
 */
thr_status thr_lists_query_unit(const uint32_t *features, const float *weights, size_t n, double *unit, thr_error *err);

/* The weight of feature i, in units. */
int32_t thr_lists_query_weight(const float *weights, size_t i, double unit);

/*
 * Features in any order; the weights of one that stands twice are added. weights NULL: 1 each. Unknown features count
 * for nothing but the unit.
 *
 * THR_OK; THR_EINVAL for more than THR_HITS_MAX_FEATURES; THR_ERANGE for a weight that is not finite (err names the
 * feature); THR_ENOMEM.
 */
thr_status thr_lists_query_make(thr_context *context, const thr_lists *lists, const uint32_t *features,
                                const float *weights, size_t n, thr_lists_query *query, thr_error *err);

/* The same of query q. */
thr_status thr_lists_query_of(thr_context *context, const thr_lists *lists, const thr_hits_queries *queries, uint64_t q,
                              thr_lists_query *query, thr_error *err);

/* Memory for any query of n features. THR_ENOMEM. */
thr_status thr_lists_query_reserve(thr_context *context, thr_lists_query *query, size_t n, thr_error *err);
void thr_lists_query_free(thr_context *context, thr_lists_query *query);

/* cursors, one a stream, by form: where a pass begins; and on, not back, to where it adds from this window on. */
void thr_lists_query_rewind(const thr_lists_query *query, thr_hit_cursor *cursors);
void thr_lists_query_skip(const thr_lists_query *query, thr_hit_cursor *cursors, uint32_t window);

/*
 * sums[i], in units, for the THR_LISTS_WINDOW places of a window: what it was, and what the query adds. cursors move on
 * to the next window.
 */
void thr_lists_query_add(const thr_kernels *kernels, const thr_lists_query *query, thr_hit_cursor *cursors,
                         uint32_t window, int32_t *sums);

#endif
