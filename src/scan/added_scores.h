/* SPDX-License-Identifier: Apache-2.0 */
/*
 * added_scores.h - what a search adds to the scores of vectors (HitMatch (9): dense + wide), and what items are ranked
 * by.
 *
 * The sums come from whoever searches, a window of rows at a time: room hits stands beside this one. An item's value is
 * multiplier s + offset, or multiplier / (1 + exp(-s)) + offset, where s = score + sum x unit, in floats, every
 * operation rounded by itself. So a value has the same bits whoever finds it: the screen by estimated scores, the
 * others by exact ones.
 *
 * Threads: begin and window are called for different lanes at once.
 */
#ifndef THR_SCAN_ADDED_SCORES_H
#define THR_SCAN_ADDED_SCORES_H

#include "device/hit_ops.h"
#include "select/candidates.h"

#include <thresher/context.h>

enum { THR_HITS_WINDOW_ROWS = 65536 };

/* A screen on a device: what it makes scores of, and where what it lets through goes. Queries are told by number. */
typedef struct thr_scan_screen {
    void *arg;
    /* The codes and the query as thr_hit_dense_op has them; they stay where they are until all is found. */
    void (*scan)(void *arg, uint64_t query, thr_device_scan *scan, float *gain, float *bias);
    /*
     * In any order: rows with their values and the distances of their codes, and their sums, which are multiples of
     * unit. Called once a query.
     */
    void (*found)(void *arg, uint64_t query, const thr_candidate *rows, const int32_t *sums, size_t n, float unit);
} thr_scan_screen;

typedef struct thr_scan_hits {
    void *arg;
    /* Lane number `lane` turns to a query; *unit is what its sums are multiples of. THR_ENOMEM. */
    thr_status (*begin)(void *arg, uint64_t query, size_t lane, float *unit, thr_error *err);
    /*
     * The lane's sums of the THR_HITS_WINDOW_ROWS rows of a window, until it asks again; rows beyond the last:
     * anything.
     */
    const int32_t *(*window)(void *arg, size_t lane, uint32_t window);
    const float *multipliers; /* by row, finite, padded to whole blocks of 64; NULL: 1 */
    const float *offsets;     /* the same; NULL: 0 */
    bool sigmoid;
    /*
     * On the device of a store (store.h): the best `wanted` rows of n queries from `first` on. THR_ERANGE where a value
     * of a row is not finite, whether it would be in an answer or not; THR_ENOMEM; THR_EDEVICE. NULL: there is no way.
     */
    thr_status (*collect)(void *arg, const thr_scan_screen *screen, uint64_t first, size_t n, size_t wanted,
                          thr_error *err);
} thr_scan_hits;

#endif
