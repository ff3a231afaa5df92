/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pair_sweep.h - sums over the active pairs of each row of a query by sweeps: RankSVM, algorithm 2, for comparison with
 * pair_tree.h.
 *
 * Rows are numbered by label, and sorted by score. A row's active better rows are at the front of that order, its
 * active worse rows at the end (pair_order.h), with rows of other levels between them. A sweep visits the order from
 * one end, skips rows of other levels, and stops once it has found all active rows. A product with the Hessian takes up
 * to n^2 steps for a query of n rows; the tree takes n log(levels).
 *
 * A device with sweep (cuda/rank/sums.cuh) adds in the same order, so its sums have the same bits.
 */
#pragma once

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
