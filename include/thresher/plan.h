/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.h - the ways in which distances can be computed, and which of them a search takes.
 *
 * All ways give the same integers, so the choice never changes an answer.
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

#ifdef __cplusplus
}
#endif

#endif
