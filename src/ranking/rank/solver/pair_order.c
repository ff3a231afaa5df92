/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pair_order.c - sorts rows by score: short runs by counting, which are then merged. Comparisons of scores are
 * unpredictable, so there is no branch on them.
 */
#include "rank/solver/pair_order.h"

#include <stdbool.h>
#include <string.h>

#include "base/minmax.h"

enum { RUN = 8 };

/* A row's position is the number of rows before it. */
static void sort_run(thr_scored_row *rows, uint32_t n) {
    thr_scored_row copy[RUN];
    uint32_t places[RUN] = {0};
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t j = 0; j < i; j++) {
            const uint32_t is_before = rows[i].score < rows[j].score;
            places[j] += is_before;
            places[i] += 1 - is_before;
        }
    memcpy(copy, rows, n * sizeof *rows);
    for (uint32_t i = 0; i < n; i++)
        rows[places[i]] = copy[i];
}

static void merge(thr_scored_row *out, const thr_scored_row *rows, uint32_t n_left, uint32_t n) {
    uint32_t left = 0, right = n_left;
    if (n_left < n && rows[n_left].score < rows[n_left - 1].score)
        while (left < n_left && right < n) {
            const uint32_t from_right = rows[right].score < rows[left].score;
            *out++ = rows[left ^ ((left ^ right) & (0U - from_right))];
            right += from_right;
            left += 1 - from_right;
        }
    memcpy(out, rows + left, (n_left - left) * sizeof *out);
    memcpy(out + (n_left - left), rows + right, (n - right) * sizeof *out);
}

static bool in_order(const thr_scored_row *rows, uint32_t n) {
    for (uint32_t i = 1; i < n; i++)
        if (rows[i].score < rows[i - 1].score)
            return false;
    return true;
}

thr_scored_row *thr_rank_sort_scored_rows(thr_scored_row *rows, thr_scored_row *spare, uint32_t n) {
    if (in_order(rows, n))
        return rows;
    for (uint32_t from = 0; from < n; from += THR_MIN(n - from, RUN))
        sort_run(rows + from, THR_MIN(n - from, RUN));
    for (uint64_t run = RUN; run < n; run *= 2) {
        for (uint64_t from = 0; from < n; from += 2 * run) {
            const uint64_t left = n - from;
            merge(spare + from, rows + from, (uint32_t)THR_MIN(left, run), (uint32_t)THR_MIN(left, 2 * run));
        }
        thr_scored_row *merged = spare;
        spare = rows;
        rows = merged;
    }
    return rows;
}
