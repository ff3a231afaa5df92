/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.h - the ways in which distances can be computed, and which of them a search takes.
 *
 * All ways give the same integers, so the choice never changes an answer, only the time it takes. Which one is fastest
 * depends on the processor, the number of bits on both sides and the queries at hand, so it is measured: once in a
 * context for every shape of a search, at its first use. The environment variable THR_KERNEL=xor|table|tile takes the
 * choice instead; it is read by thr_context_create.
 *
 * Threads: all functions may be called from several threads at once.
 */
#ifndef THRESHER_PLAN_H
#define THRESHER_PLAN_H

#include <thresher/context.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum thr_way {
    THR_WAY_XOR = 0,   /* XOR and popcount of bits: queries of few bits */
    THR_WAY_TABLE = 1, /* look-ups in registers: few queries, few planes */
    THR_WAY_TILE = 2   /* products of bytes: several queries at once, many planes, queries of many bits */
} thr_way;

enum { THR_N_WAYS = 3 };

/* "xor", "table" or "tile". */
THR_API const char *thr_way_name(thr_way way);

/* A shape, what each way makes of it, and the way that a search takes. */
typedef struct thr_plan {
    uint32_t n_dims;
    uint32_t item_bits;  /* planes that are scanned, 1 to 8 */
    uint32_t query_bits; /* 1 to 8 */
    uint32_t n_queries;  /* at once */
    thr_way way;
    bool forced;              /* by THR_KERNEL, whatever the rates */
    double rates[THR_N_WAYS]; /* distances a second, of codes that the caches hold */
} thr_plan;

/*
 * Measure a shape, if the context has not yet, and say what a search would take. The first call for a shape takes some
 * tenths of a millisecond, more with thousands of dimensions or at the scalar level. Rates of more than 16 queries are
 * those of 16.
 *
 * Returns THR_OK; THR_EDIM for no dimensions or more than THR_MAX_DIMS; THR_EINVAL for bits out of 1..8 or no queries;
 * THR_ENOMEM.
 */
THR_API thr_status thr_plan_make(thr_context *context, uint32_t n_dims, uint32_t item_bits, uint32_t query_bits,
                                 uint32_t n_queries, thr_plan *plan, thr_error *err);

#ifdef __cplusplus
}
#endif

#endif
