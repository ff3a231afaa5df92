/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pair_order.h - sorting the rows of a query by their scores.
 *
 * A pair is two rows of a query with different labels. It is active, and has a cost, while the score of the better row
 * exceeds the other's by less than 1: s_i - s_j < 1 (RankSVM (4)). If the worse rows are sorted by score, the active
 * partners of a better row are all from some position on; if the better rows are sorted, the active partners of a worse
 * row are all before some position. Rounding is monotone, so this holds for computed differences as well, and both rows
 * of a pair agree on whether it is active.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct thr_scored_row {
    double score;
    uint32_t row; /* within its query */
} thr_scored_row;

/*
 * Sort n rows by score, stably. spare has n elements. Returns the array, rows or spare, that holds the sorted rows.
 * Scores must not be NaN.
 */
thr_scored_row *thr_rank_sort_scored_rows(thr_scored_row *rows, thr_scored_row *spare, uint32_t n);
