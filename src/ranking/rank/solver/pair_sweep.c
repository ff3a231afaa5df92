/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pair_sweep.c - active pairs and their sums by sweeps over the order of scores.
 *
 * Between the active rows of a row lie rows of levels that form no active pair with it. A sweep skips them; the paper's
 * listing stops at the first.
 */
#include "rank/solver/pair_sweep.h"

void thr_rank_pair_sweep_order(const thr_pair_sweep *sweep, thr_scored_row *rows, thr_scored_row *spare,
                               double margin) {
    const thr_scored_row *sorted = thr_rank_sort_scored_rows(rows, spare, sweep->n);
    const uint32_t n = sweep->n, *levels = sweep->levels;
    for (uint32_t k = 0; k < n; k++)
        sweep->order[k] = sorted[k].row;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t level = levels[sorted[i].row];
        const double score = sorted[i].score;
        thr_pair_counts counts = {.low = 0, .high = 0};
        for (uint32_t k = 0; k < n && sorted[k].score - score < margin; k++)
            counts.high += levels[sorted[k].row] > level;
        for (uint32_t k = n; k > 0 && score - sorted[k - 1].score < margin; k--)
            counts.low += levels[sorted[k - 1].row] < level;
        sweep->counts[sorted[i].row] = counts;
    }
}

void thr_rank_pair_sweep_sums(const thr_pair_sweep *sweep, const double *values, double *low, double *high) {
    const uint32_t n = sweep->n, *levels = sweep->levels, *order = sweep->order;
    for (uint32_t u = 0; u < n; u++) {
        double worse = 0, better = 0;
        for (uint32_t k = 0, left = sweep->counts[u].high; left > 0 && k < n; k++)
            if (levels[order[k]] > levels[u]) {
                better += values[order[k]];
                left--;
            }
        for (uint32_t k = n, left = sweep->counts[u].low; left > 0 && k > 0; k--)
            if (levels[order[k - 1]] < levels[u]) {
                worse += values[order[k - 1]];
                left--;
            }
        low[u] = high[u] = 0; /* low and high may be the same array */
        high[u] += better;
        low[u] += worse;
    }
}
