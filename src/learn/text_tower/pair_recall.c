/* SPDX-License-Identifier: Apache-2.0 */
/* pair_recall.c - recall among validation pairs: the best ten of each query by embeddings, against its true items. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/minmax.h"
#include "kernel/kernel.h"
#include "text_tower/pair_quality.h"

enum { BEST = 10, QUERIES_MAX = 1000 };

/* The items to compare with a query, and memory for their scores. */
typedef struct item_set {
    const thr_kernels *kernels;
    const float *items;
    float *scales; /* 1 / |item|, 0 for a zero vector */
    float *scores;
    size_t n, n_dims;
} item_set;

static void take_items(item_set *set, const float *items, size_t n_dims) {
    set->items = items;
    set->n_dims = n_dims;
    for (size_t i = 0; i < set->n; i++) {
        const double square = set->kernels->sum_squares(items + i * n_dims, n_dims);
        set->scales[i] = square > 0 ? (float)(1 / sqrt(square)) : 0.0f;
    }
}

/* Find the numbers of the n_best best items, the best first; equal ones in order of their numbers. */
static void find_best(const item_set *set, const float *query, size_t n_best, size_t *best) {
    size_t n = 0;
    set->kernels->dot_f32(set->scores, query, set->items, set->n_dims * sizeof(float), set->n, set->n_dims);
    for (size_t i = 0; i < set->n; i++) {
        set->scores[i] *= set->scales[i];
        if (n == n_best && !(set->scores[i] > set->scores[best[n - 1]]))
            continue;
        size_t at = n < n_best ? n++ : n - 1;
        for (; at > 0 && set->scores[i] > set->scores[best[at - 1]]; at--)
            best[at] = best[at - 1];
        best[at] = i;
    }
}

static size_t count_common(const size_t *a, size_t n_a, const size_t *b, size_t n_b) {
    size_t n = 0;
    for (size_t i = 0; i < n_a; i++)
        for (size_t j = 0; j < n_b; j++)
            n += a[i] == b[j];
    return n;
}

thr_status thr_text_scored_pairs_recall(thr_context *context, const thr_scored_pairs *pairs, size_t n_teacher_dims,
                                        double *recall, thr_error *err) {
    const bool taught = pairs->teachers[THR_SIDE_ITEM] != NULL;
    const size_t n_queries = THR_MIN(pairs->n, QUERIES_MAX);
    const size_t n_best = THR_MIN(pairs->n, BEST), n_true = taught ? n_best : 1;
    item_set set = {.kernels = context->kernels, .n = pairs->n};
    size_t(*truth)[BEST] = NULL, found[BEST], n_found = 0;
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_alloc(context, pairs->n, sizeof(float), &set.scales, "a validation", err));
    THR_TRY_OUT(thr_alloc(context, pairs->n, sizeof(float), &set.scores, "a validation", err));
    THR_TRY_OUT(thr_alloc(context, n_queries, sizeof *truth, &truth, "a validation", err));
    if (taught)
        take_items(&set, pairs->teachers[THR_SIDE_ITEM], n_teacher_dims);
    for (size_t q = 0; q < n_queries; q++) {
        truth[q][0] = q;
        if (taught)
            find_best(&set, pairs->teachers[THR_SIDE_QUERY] + q * n_teacher_dims, n_true, truth[q]);
    }
    take_items(&set, pairs->embeddings[THR_SIDE_ITEM], pairs->n_dims);
    for (size_t q = 0; q < n_queries; q++) {
        find_best(&set, pairs->embeddings[THR_SIDE_QUERY] + q * pairs->n_dims, n_best, found);
        n_found += count_common(truth[q], n_true, found, n_best);
    }
    *recall = (double)n_found / (double)(n_true * n_queries);
out:
    THR_RELEASE(context, set.scales, set.scores, truth);
    return status;
}
