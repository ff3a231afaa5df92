/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hit_query.h - what a query's features add to items (HitMatch (9)): an item's score is the sum of the weights w_i x_i
 * of the query's features that it has.
 *
 * Weights are rounded to whole multiples of a unit, a power of two that is at most 2^-29 of the sum of all |w_i x_i|,
 * and sums are integers of 32 bits, which cannot overflow. So an item's score does not depend on the order in which it
 * is added up: it has the same bits for any numbering of the items, any number of threads, and on every device. What a
 * weight is off by is half a unit.
 */
#ifndef THR_HITS_HIT_QUERY_H
#define THR_HITS_HIT_QUERY_H

#include "hits/lists.h"
#include "kernel/kernel.h"

/* A feature's blocks in one group. */
typedef struct thr_hit_stream {
    const uint16_t *numbers;
    const uint8_t *values;
    uint32_t n_blocks, group;
    int32_t weight; /* in units, never 0 */
} thr_hit_stream;

/* Set up by zeroing; used again and again, its memory grows with the largest query. */
typedef struct thr_hit_query {
    thr_hit_stream *streams; /* of ids and runs */
    thr_hit_stream *bitmaps;
    size_t n_streams, n_bitmaps;
    size_t streams_capacity, bitmaps_capacity;
    double unit;
    uint32_t n_unknown; /* features that no item has */
} thr_hit_query;

/*
 * What a query's weights are whole multiples of. THR_OK; THR_EINVAL and THR_ERANGE as thr_hit_query_make.
 */
thr_status thr_hit_query_unit(const uint32_t *features, const float *weights, size_t n, double *unit, thr_error *err);

/* The weight of feature i, in units. */
int32_t thr_hit_query_weight(const float *weights, size_t i, double unit);

/*
 * Features in any order; the weights of one that stands twice are added. weights NULL: 1 each. Unknown features count
 * for nothing but the unit.
 *
 * THR_OK; THR_EINVAL for more than THR_HITS_MAX_FEATURES; THR_ERANGE for a weight that is not finite (err names the
 * feature); THR_ENOMEM.
 */
thr_status thr_hit_query_make(thr_context *context, const thr_lists *lists, const uint32_t *features,
                              const float *weights, size_t n, thr_hit_query *query, thr_error *err);
void thr_hit_query_free(thr_context *context, thr_hit_query *query);

/*
 * cursors, one of each of the n_streams, then of the n_bitmaps: where a pass begins that adds from this block on. From
 * the first block they are all 0.
 */
void thr_hit_query_seek(const thr_hit_query *query, uint32_t *cursors, uint32_t block);

/*
 * sums[i], in units, for the items of blocks first to first + n_blocks - 1: what it was, and what the query adds. There
 * is room for whole blocks. cursors move on to block first + n_blocks.
 */
void thr_hit_query_add(const thr_kernels *kernels, const thr_hit_query *query, uint32_t *cursors, uint32_t first,
                       uint32_t n_blocks, int32_t *sums);

#endif
