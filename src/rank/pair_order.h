/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pair_order.h - the order of a query's rows by their scores, and which of its pairs are active.
 *
 * A pair is two rows of a query with different labels; it is active while the better one's score is not 1 above the
 * other's, s_i - s_j < 1: then it costs something (RankSVM (4)). Seen from a row, active worse ones stand from a place
 * of the order on, active better ones before one. Rounding is monotone, so both are true of computed differences, too,
 * and either row of a pair sees it alike.
 */
#ifndef THR_RANK_PAIR_ORDER_H
#define THR_RANK_PAIR_ORDER_H

#include <stddef.h>
#include <stdint.h>

typedef struct thr_scored_row {
    double score;
    uint32_t row; /* within its query */
} thr_scored_row;

/*
 * Sort n rows by score; equal ones stay as they stood. spare has room for n, too; the sorted ones are in the one that
 * is returned. Scores are numbers.
 */
thr_scored_row *thr_rank_sort_scored_rows(thr_scored_row *rows, thr_scored_row *spare, uint32_t n);

#endif
