/* SPDX-License-Identifier: Apache-2.0 */
/* Orders by insertion in short runs, then by merging; thresholds by two places that only go up. */
#include "rank/pair_order.h"

#include <stdbool.h>
#include <string.h>

enum { RUN = 8 };

static bool is_before(const thr_scored_row *a, const thr_scored_row *b) {
    return a->score < b->score || (a->score == b->score && a->row < b->row);
}

static void insert(thr_scored_row *rows, uint32_t n) {
    for (uint32_t i = 1; i < n; i++) {
        const thr_scored_row row = rows[i];
        uint32_t to = i;
        for (; to > 0 && is_before(&row, &rows[to - 1]); to--)
            rows[to] = rows[to - 1];
        rows[to] = row;
    }
}

static void merge(thr_scored_row *out, const thr_scored_row *rows, uint32_t n_left, uint32_t n) {
    uint32_t left = 0, right = n_left, at = 0;
    if (n_left < n && is_before(&rows[n_left], &rows[n_left - 1])) {
        while (left < n_left && right < n) {
            const bool from_right = is_before(&rows[right], &rows[left]);
            out[at++] = rows[from_right ? right : left];
            right += from_right;
            left += !from_right;
        }
        memcpy(out + at, rows + left, (n_left - left) * sizeof *out);
        at += n_left - left;
        memcpy(out + at, rows + right, (n - right) * sizeof *out);
    } else {
        memcpy(out, rows, n * sizeof *out);
    }
}

static bool in_order(const thr_scored_row *rows, uint32_t n) {
    for (uint32_t i = 1; i < n; i++)
        if (is_before(&rows[i], &rows[i - 1]))
            return false;
    return true;
}

thr_scored_row *thr_scored_rows_sort(thr_scored_row *rows, thr_scored_row *spare, uint32_t n) {
    if (in_order(rows, n))
        return rows;
    for (uint32_t from = 0; from < n; from += n - from < RUN ? n - from : RUN)
        insert(rows + from, n - from < RUN ? n - from : RUN);
    for (uint64_t run = RUN; run < n; run *= 2) {
        for (uint64_t from = 0; from < n; from += 2 * run) {
            const uint64_t left = n - from;
            merge(spare + from, rows + from, (uint32_t)(left < run ? left : run),
                  (uint32_t)(left < 2 * run ? left : 2 * run));
        }
        thr_scored_row *merged = spare;
        spare = rows;
        rows = merged;
    }
    return rows;
}
