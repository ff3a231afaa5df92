/* SPDX-License-Identifier: Apache-2.0 */
/*
 * added_scores.h - callbacks by which a search adds sums of feature weights to vector scores (HitMatch (9): dense +
 * wide).
 *
 * The caller supplies the sums, one window of rows at a time (index/search/feature_scores.c). Items are ranked by
 * their value, which is multiplier s + offset, or multiplier / (1 + exp(-s)) + offset, where s = score + sum x unit.
 * Every float operation is rounded separately, so a value has the same bits on a CPU and on a GPU. The screen computes
 * values from estimated scores, the rescore and the refine from better ones.
 *
 * Threads: begin and window are called concurrently for different lanes.
 */
#pragma once

#include "device/hit_ops.h"
#include "select/candidates.h"

#include <thresher/context.h>

enum { THR_HITS_WINDOW_ROWS = 65536 };

/* A screen on a device: supplies codes and queries, and receives the rows that pass. Queries are given by number. */
typedef struct thr_dense_screen {
    void *arg;
    /*
     * Fill in *scan, *gain and *bias as thr_hit_dense_op needs them. The device memory stays valid until collect
     * returns.
     */
    void (*describe)(void *arg, uint64_t query, thr_device_scan *scan, float *gain, float *bias);
    /*
     * Receive the rows of one query, in any order: rows holds their values and code distances, sums[i] x unit is the
     * sum of row i. Called once per query.
     */
    void (*found)(void *arg, uint64_t query, const thr_candidate *rows, const int32_t *sums, size_t n, float unit);
} thr_dense_screen;

typedef struct thr_scan_hits {
    void *arg;
    /* Start query number `query` on lane number `lane`. *unit receives the unit of its sums. THR_ENOMEM. */
    thr_status (*begin)(void *arg, uint64_t query, size_t lane, float *unit, thr_error *err);
    /*
     * Return the sums of the THR_HITS_WINDOW_ROWS rows of a window, valid until the lane's next call. Elements beyond
     * the last row are undefined.
     */
    const int32_t *(*window)(void *arg, size_t lane, uint32_t window);
    const float *multipliers; /* by row, finite, padded to whole blocks of 64; NULL: all 1 */
    const float *offsets;     /* likewise; NULL: all 0 */
    bool sigmoid;
    /*
     * Find the best `wanted` rows of n queries from `first` on, on the device of a store (store.h). NULL: not
     * supported. THR_ERANGE if the value of any row is not finite, even one that no answer contains; THR_ENOMEM;
     * THR_EDEVICE.
     */
    thr_status (*collect)(void *arg, const thr_dense_screen *screen, uint64_t first, size_t n, size_t wanted,
                          thr_error *err);
} thr_scan_hits;
