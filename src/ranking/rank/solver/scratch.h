/* SPDX-License-Identifier: Apache-2.0 */
/* scratch.h - a thread's scratch memory while it processes a query. */
#pragma once

#include "rank/solver/problem.h"

/* A thread's vectors, each with one element per row of the longest query, except the last two. */
typedef struct thr_rank_scratch {
    double *values;                /* in the order of rows */
    double *by_label, *low, *high; /* in the order of labels */
    thr_scored_row *rows, *spare;  /* in the order of scores */
    thr_pair_counts *counts;       /* in the order of labels */
    double *prefixes;              /* n + 2 */
    double *features;              /* 2 x n_features, 0 between uses */
} thr_rank_scratch;

/* Sizes in doubles: for each row, and constant. */
enum {
    THR_RANK_VECTORS = 4,
    THR_RANK_KEYS = 2 * sizeof(thr_scored_row) / sizeof(double),
    THR_RANK_COUNTS = sizeof(thr_pair_counts) / sizeof(double),
    THR_RANK_ROW_SIZE = THR_RANK_VECTORS + THR_RANK_KEYS + THR_RANK_COUNTS + 1,
    THR_RANK_ENDS = 2
};

static inline thr_rank_scratch thr_rank_scratch_of(const thr_rank_problem *problem, uint32_t worker) {
    const size_t n = problem->longest;
    double *at = problem->scratch + worker * problem->scratch_size;
    thr_rank_scratch s = {.values = at, .by_label = at + n, .low = at + 2 * n, .high = at + 3 * n};
    at += THR_RANK_VECTORS * n;
    s.rows = (thr_scored_row *)(void *)at;
    s.spare = s.rows + n;
    at += THR_RANK_KEYS * n;
    s.counts = (thr_pair_counts *)(void *)at;
    at += THR_RANK_COUNTS * n;
    s.prefixes = at;
    s.features = at + n + THR_RANK_ENDS;
    return s;
}
