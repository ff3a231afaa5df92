/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pair_sums.h - what active pairs add to each row of a query, without going over pairs.
 *
 * With the rows in the order of their scores, a row p at level v sums values t over its active pairs (RankSVM (10)):
 *
 *   low[p]  = sum of t over places lows[p], lows[p] + 1, ... of a lower level than v
 *   high[p] = sum of t over places before highs[p] of a higher level than v
 *
 * Both are differences of prefix sums C_p(v), that of t over places before p of levels below v. Order, levels and
 * thresholds belong to a w: a Newton step's products with the Hessian all use them again, with other values t.
 *
 * Few levels, up to 8, of up to 2,048 rows: all C_p are written down, a row of 8 numbers a place, and looked up. More:
 * one sweep over places has the C_p of the moment in a tree of nodes of up to 32 numbers, each the sum of those left of
 * it in its node: a look-up is a number per depth, an addition the right part of one node per depth. Depth is 1 up to
 * 32 levels, 2 up to 1,024, 3 up to 32,768. As both thresholds ascend with p, no look-up goes back. That is O(l log k)
 * with a base of 32 and additions side by side; a wavelet matrix, which has the same sums without a sweep, reads ten
 * places that lie apart for every row.
 *
 * Values are added in the order of places, so the same values give the same bits.
 */
#ifndef THR_RANK_PAIR_SUMS_H
#define THR_RANK_PAIR_SUMS_H

#include <stddef.h>
#include <stdint.h>

/* A query's rows in the order of their scores. Views. */
typedef struct thr_pair_rows {
    uint32_t n, n_levels;
    const uint32_t *levels;       /* below n_levels */
    const uint32_t *lows, *highs; /* pair_order.h */
} thr_pair_rows;

/* low and high have n numbers; scratch: thr_pair_sums_scratch doubles. values overlap none of them. */
void thr_pair_sums(const thr_pair_rows *rows, const double *values, double *low, double *high, double *scratch);

/* For queries of up to n rows and of up to n_levels levels, 1 at least. */
size_t thr_pair_sums_scratch(uint32_t n, uint32_t n_levels);

#endif
