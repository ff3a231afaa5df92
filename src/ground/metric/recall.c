/* SPDX-License-Identifier: Apache-2.0 */
/* recall.c - merge sorted copies of both rows: O(k log k) a query. */
#include <thresher/metric.h>

#include <stdlib.h>

#include "base/error.h"
#include "base/minmax.h"

static int compare_ids(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Sort ids and drop THR_NO_ID and duplicates; return the number left. */
static size_t sort_unique(uint64_t *ids, size_t n) {
    qsort(ids, n, sizeof *ids, compare_ids);
    size_t kept = 0;
    for (size_t i = 0; i < n && ids[i] != THR_NO_ID; i++)
        if (kept == 0 || ids[kept - 1] != ids[i])
            ids[kept++] = ids[i];
    return kept;
}

static size_t count_common(const uint64_t *a, size_t n_a, const uint64_t *b, size_t n_b) {
    size_t common = 0;
    for (size_t i = 0, j = 0; i < n_a && j < n_b;) {
        common += a[i] == b[j];
        bool a_first = a[i] <= b[j], b_first = b[j] <= a[i];
        i += a_first;
        j += b_first;
    }
    return common;
}

/* Copy the first k true ids and those that tie with the k-th, which are equally correct; return their number. */
static size_t copy_truth(const uint64_t *truth, const float *scores, size_t n_columns, size_t k, uint64_t *out) {
    size_t n = 0;
    for (; n < k; n++)
        out[n] = truth[n];
    if (scores != NULL && truth[k - 1] != THR_NO_ID)
        for (size_t i = k; i < n_columns; i++)
            if (scores[i] == scores[k - 1])
                out[n++] = truth[i];
    return n;
}

thr_status thr_recall(const thr_recall_rows *truth, const thr_recall_rows *result, size_t n_queries, size_t k,
                      double *recall, thr_error *err) {
    const size_t n_columns = truth->n_columns;
    if (k == 0 || n_queries == 0)
        return thr_fail(err, THR_EINVAL, "recall@%zu of %zu queries: both must be at least 1", k, n_queries);
    if (n_columns < k || result->n_columns < k)
        return thr_fail(err, THR_EINVAL, "recall@%zu needs %zu ids per query: the truth has %zu, the result %zu", k, k,
                        n_columns, result->n_columns);
    uint64_t *true_ids = n_columns <= SIZE_MAX / 8 ? malloc(n_columns * sizeof *true_ids) : NULL;
    uint64_t *result_ids = k <= SIZE_MAX / 8 ? malloc(k * sizeof *result_ids) : NULL;
    thr_status status = THR_OK;
    if (true_ids == NULL || result_ids == NULL) {
        status = thr_fail(err, THR_ENOMEM, "no memory for recall of %zu ids per query", n_columns);
        goto out;
    }

    double sum = 0;
    size_t judged = 0; /* queries without any true id are not counted */
    for (size_t q = 0; q < n_queries; q++) {
        const uint64_t *truth_row = truth->ids + q * n_columns;
        const float *scores_row = truth->scores != NULL ? truth->scores + q * n_columns : NULL;
        size_t n_true = copy_truth(truth_row, NULL, n_columns, k, true_ids);
        n_true = sort_unique(true_ids, n_true);
        if (n_true == 0)
            continue;
        size_t n_accepted = copy_truth(truth_row, scores_row, n_columns, k, true_ids);
        n_accepted = sort_unique(true_ids, n_accepted);
        for (size_t i = 0; i < k; i++)
            result_ids[i] = result->ids[q * result->n_columns + i];
        size_t n_result = sort_unique(result_ids, k);
        size_t found = count_common(true_ids, n_accepted, result_ids, n_result);
        sum += (double)THR_MIN(found, n_true) / (double)n_true;
        judged++;
    }
    *recall = judged != 0 ? sum / (double)judged : 1.0;
out:
    free(true_ids);
    free(result_ids);
    return status;
}
