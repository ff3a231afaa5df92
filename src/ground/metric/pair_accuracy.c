/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pair_accuracy.c - count correctly ordered pairs by merging: O(n log n) a query instead of O(n^2).
 *
 * Rows are sorted by ascending score, and equal scores by descending label: a pair is then correct exactly if the
 * larger label follows the smaller one. A merge sort by label counts these pairs.
 */
#include "metric/graded.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"

static int compare_scores(const void *a, const void *b) {
    const thr_judged_row *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? -1 : 1;
    return (x->label < y->label) - (x->label > y->label);
}

static uint64_t n_pairs_of(uint64_t n) {
    return n % 2 == 0 ? n / 2 * (n - 1) : (n - 1) / 2 * n;
}

/* Count pairs of equal score and different label in rows sorted by both. */
static uint64_t count_tied(const thr_judged_row *rows, size_t n) {
    uint64_t n_tied = 0, n_score = 0, n_label = 0; /* n_score, n_label: rows equal to the one before */
    for (size_t i = 0; i < n; i++) {
        const bool same_score = i != 0 && rows[i].score == rows[i - 1].score;
        const bool same_label = same_score && rows[i].label == rows[i - 1].label;
        n_score = same_score ? n_score + 1 : 0;
        n_label = same_label ? n_label + 1 : 0;
        n_tied += n_score - n_label;
    }
    return n_tied;
}

/* Count pairs of equal label in rows sorted by label. */
static uint64_t count_alike(const thr_judged_row *rows, size_t n) {
    uint64_t n_alike = 0, n_label = 0;
    for (size_t i = 0; i < n; i++) {
        n_label = i != 0 && rows[i].label == rows[i - 1].label ? n_label + 1 : 0;
        n_alike += n_label;
    }
    return n_alike;
}

/*
 * Merge [first, middle) and [middle, end), both by ascending label, into out. Count pairs whose smaller label is on
 * the left.
 */
static uint64_t merge(const thr_judged_row *rows, size_t first, size_t middle, size_t end, thr_judged_row *out) {
    uint64_t n_right = 0;
    size_t i = first, j = middle;
    for (size_t k = first; k < end; k++) {
        if (j == end || (i < middle && rows[i].label < rows[j].label)) {
            n_right += end - j; /* the rest of the right side is larger */
            out[k] = rows[i++];
        } else
            out[k] = rows[j++];
    }
    return n_right;
}

void thr_metric_graded_count_pairs(thr_judged_query *query, thr_pair_quality *quality) {
    const size_t n = query->n;
    qsort(query->rows, n, sizeof *query->rows, compare_scores);
    quality->n_tied += count_tied(query->rows, n);
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t first = 0; first < n; first += 2 * width) {
            const size_t middle = n - first < width ? n : first + width;
            const size_t end = n - first < 2 * width ? n : first + 2 * width;
            quality->n_right += merge(query->rows, first, middle, end, query->other);
        }
        thr_judged_row *sorted = query->other;
        query->other = query->rows;
        query->rows = sorted;
    }
    quality->n_pairs += n_pairs_of(n) - count_alike(query->rows, n);
}

void thr_metric_graded_end_pairs(thr_pair_quality *quality) {
    const double n = (double)quality->n_pairs;
    const bool any = quality->n_pairs != 0;
    quality->accuracy = any ? (double)quality->n_right / n : (double)NAN;
    quality->accuracy_ties_right = any ? (double)(quality->n_right + quality->n_tied) / n : (double)NAN;
}

thr_status thr_pair_accuracy(const thr_judged *judged, thr_pair_quality *quality, thr_error *err) {
    thr_judged_query query;
    double largest;
    *quality = (thr_pair_quality){0};
    THR_TRY(thr_metric_graded_start(judged, NULL, &query, &largest, err));
    for (size_t q = 0; q < judged->n_queries; q++) {
        thr_metric_graded_rank(judged, q, &query);
        thr_metric_graded_count_pairs(&query, quality);
    }
    thr_metric_graded_stop(&query);
    thr_metric_graded_end_pairs(quality);
    if (quality->n_pairs == 0)
        return thr_fail(err, THR_EINVAL, "none of %zu queries has two rows of different labels: there are no pairs",
                        judged->n_queries);
    return THR_OK;
}
