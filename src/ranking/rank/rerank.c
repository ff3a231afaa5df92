/* SPDX-License-Identifier: Apache-2.0 */
/* rerank.c - sorts candidates by a model's scores, with a heap sort, which allocates nothing. */
#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "rank/model.h"
#include "rank/row_products.h"

typedef struct candidates {
    uint64_t *ids;
    double *scores;
    size_t *places; /* or NULL */
} candidates;

/* Whether a ranks below b: by score, then by id. A repeated id keeps its first position if places are given. */
static bool ranks_below(const candidates *c, size_t a, size_t b) {
    if (c->scores[a] != c->scores[b])
        return c->scores[a] < c->scores[b];
    if (c->ids[a] != c->ids[b])
        return c->ids[a] > c->ids[b];
    return c->places != NULL && c->places[a] > c->places[b];
}

static void swap(const candidates *c, size_t a, size_t b) {
    const uint64_t id = c->ids[a];
    const double score = c->scores[a];
    c->ids[a] = c->ids[b];
    c->ids[b] = id;
    c->scores[a] = c->scores[b];
    c->scores[b] = score;
    if (c->places != NULL) {
        const size_t place = c->places[a];
        c->places[a] = c->places[b];
        c->places[b] = place;
    }
}

/* Restore the heap below `at`. The root of a heap is the candidate that ranks lowest; the sort moves it to the end. */
static void sift_down(const candidates *c, size_t at, size_t n) {
    for (size_t child = 2 * at + 1; child < n; at = child, child = 2 * at + 1) {
        if (child + 1 < n && ranks_below(c, child + 1, child))
            child++;
        if (!ranks_below(c, child, at))
            return;
        swap(c, child, at);
    }
}

static void sort(const candidates *c, size_t n) {
    for (size_t at = n / 2; at-- > 0;)
        sift_down(c, at, n);
    for (size_t end = n; end-- > 1;) {
        swap(c, 0, end);
        sift_down(c, 0, end);
    }
}

/* Check the features before scoring, because kernels may spread a non-finite number to another row's score. */
static thr_status check_features(const float *features, uint32_t n_features, size_t n, const uint64_t *ids,
                                 thr_error *err) {
    for (size_t i = 0; i < n; i++)
        for (uint32_t f = 0; f < n_features; f++)
            if (!isfinite(features[i * n_features + f]))
                return thr_fail(err, THR_ERANGE, "feature %" PRIu32 " of item %" PRIu64 " is %g: give finite numbers",
                                f + 1, ids[i], (double)features[i * n_features + f]);
    return THR_OK;
}

thr_status thr_rank_model_rerank(const thr_rank_model *model, const thr_matrix *rows, uint64_t *ids, double *scores,
                                 size_t *places, thr_error *err) {
    const candidates c = {ids, scores, places};
    const float *features = rows->data;
    const uint32_t n_features = rows->n_dims;
    const size_t n = (size_t)rows->n_rows;
    if (rows->dtype != THR_DTYPE_F32 || rows->stride != n_features * sizeof *features)
        return thr_fail(err, THR_EINVAL, "features of candidates are dense rows of float32: convert them");
    if (n_features != model->n_features)
        return thr_fail(err, THR_EDIM, "candidates of %" PRIu32 " features for a model of %" PRIu32, n_features,
                        model->n_features);
    THR_TRY(check_features(features, n_features, n, ids, err));
    model->context->kernels->times_wide(scores, model->weights, features, n, n_features);
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(scores[i]))
            return thr_fail(err, THR_ERANGE, "item %" PRIu64 " has a score of %g: scale features down", ids[i],
                            scores[i]);
        if (places != NULL)
            places[i] = i;
    }
    sort(&c, n);
    return THR_OK;
}
