/* SPDX-License-Identifier: Apache-2.0 */
/*
 * way.h - the methods that compute distances of codes, and the choice between them.
 *
 * All methods give the same integers, so the choice affects the time of a search, never its answer. The fastest method
 * depends on the processor, the bits of items and queries, and the number of queries. A context measures them at the
 * first search of each shape. The environment variable THR_KERNEL=xor|table|tile, which thr_context_create reads,
 * overrides the choice.
 *
 * Threads: all functions may be called from several threads at once.
 */
#ifndef THRESHER_WAY_H
#define THRESHER_WAY_H

#include <thresher/context.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum thr_way {
    THR_WAY_XOR = 0,   /* XOR and popcount of bits: queries of few bits */
    THR_WAY_TABLE = 1, /* lookup tables in registers: few queries, few planes */
    THR_WAY_TILE = 2   /* byte products: several queries at once, many planes, queries of many bits */
} thr_way;

enum { THR_N_WAYS = 3 };

/* "xor", "table" or "tile". */
THR_API const char *thr_way_name(thr_way way);

/* A search shape, the measured rate of each method, and the method chosen. */
typedef struct thr_way_choice {
    uint32_t n_dims;
    uint32_t item_bits;  /* planes that are scanned, 1 to 8 */
    uint32_t query_bits; /* 1 to 8 */
    uint32_t n_queries;  /* in one search */
    thr_way way;
    bool forced;              /* by THR_KERNEL */
    double rates[THR_N_WAYS]; /* distances per second, with codes in cache */
} thr_way_choice;

/*
 * Choose the way of a shape; measures the rates if the context has not yet. A measurement takes some tenths of a
 * millisecond, more with thousands of dimensions or at the scalar level. Rates for more than 16 queries are those of
 * 16.
 *
 * Returns THR_OK; THR_EDIM for no dimensions or more than THR_MAX_DIMS; THR_EINVAL for bits outside 1..8 or no queries;
 * THR_ENOMEM.
 */
THR_API thr_status thr_way_choose(thr_context *context, uint32_t n_dims, uint32_t item_bits, uint32_t query_bits,
                                  uint32_t n_queries, thr_way_choice *choice, thr_error *err);

#ifdef __cplusplus
}
#endif

#endif
