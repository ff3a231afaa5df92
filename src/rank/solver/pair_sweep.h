/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pair_sweep.h - sums over the active pairs of each row of a query by sweeps: RankSVM, algorithm 2, for comparison with
 * pair_tree.h.
 *
 * Rows are numbered by label and put in the order of scores. A row's active better rows are among the first of that
 * order, its active worse rows among the last (pair_order.h). So its sums are found by going over the order from either
 * end, rows of other levels skipped, until as many rows are met as are active. A product with the Hessian takes up to
 * n^2 steps for a query of n rows, where the tree takes n log(levels).
 *
 * The sums are those of a device with sweep (cuda/rank/sums.cuh), in the same order: the same bits.
 */
#ifndef THR_RANK_SOLVER_PAIR_SWEEP_H
#define THR_RANK_SOLVER_PAIR_SWEEP_H

#include "rank/solver/pair_tree.h"

/* The rows of a query; all members are views. */
typedef struct thr_pair_sweep {
    uint32_t n;
    const uint32_t *levels; /* n, ascending */
    /* These depend on w. */
    uint32_t *order;         /* n: rows by score, equal scores by row */
    thr_pair_counts *counts; /* n, by row: active pairs */
} thr_pair_sweep;

/*
 * Compute order and counts from scores. rows: in the order of labels, rows[u].row == u; overwritten. A pair is active
 * if its score difference is less than margin. rows and spare have n elements.
 */
void thr_rank_pair_sweep_order(const thr_pair_sweep *sweep, thr_scored_row *rows, thr_scored_row *spare, double margin);

/*
 * Sum values over active pairs. low and high have n elements; if they are the same array it gets the sum of both.
 * Neither overlaps values.
 */
void thr_rank_pair_sweep_sums(const thr_pair_sweep *sweep, const double *values, double *low, double *high);

#endif
