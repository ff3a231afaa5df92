/* SPDX-License-Identifier: Apache-2.0 */
/* rank_scratch.h - what a worker has of its own while it is at a query. */
#ifndef THR_RANK_RANK_SCRATCH_H
#define THR_RANK_RANK_SCRATCH_H

#include "rank/rank_problem.h"

/* A worker's vectors, each as long as the longest query. */
typedef struct thr_rank_scratch {
    double *values, *force, *sorted, *low, *high;
    thr_scored_row *rows, *spare;
    double *sums;     /* pair_sums.h */
    double *features; /* 2 x n_features, zeros between uses */
} thr_rank_scratch;

enum {
    THR_RANK_ROW_VECTORS = 5,
    THR_RANK_KEYS = 2 * sizeof(thr_scored_row) / sizeof(double), /* doubles of a row of both lists */
};

static inline thr_rank_scratch thr_rank_scratch_of(const thr_rank_problem *problem, uint32_t worker) {
    const size_t n = problem->longest;
    double *at = problem->scratch + worker * problem->scratch_size;
    thr_rank_scratch s = {.values = at, .force = at + n, .sorted = at + 2 * n, .low = at + 3 * n, .high = at + 4 * n};
    at += THR_RANK_ROW_VECTORS * n;
    s.rows = (thr_scored_row *)(void *)at;
    s.spare = s.rows + n;
    at += THR_RANK_KEYS * n;
    s.features = at;
    s.sums = at + 2 * (size_t)problem->view.n_features;
    return s;
}

#endif
