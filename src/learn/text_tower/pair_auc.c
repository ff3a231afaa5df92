/* SPDX-License-Identifier: Apache-2.0 */
/* pair_auc.c - AUC of cosines and log loss over embedded pairs. */
#include "base/minmax.h"
#include "text_tower/pair_quality.h"

#include <thresher/metric.h>

#include <math.h>

#include "base/error.h"

/* Without labels: negatives for each query, items of other pairs spread evenly over all. */
enum { SAMPLED_NEGATIVES = 10 };

static float cosine(const float *a, const float *b, size_t n) {
    double product = 0, a_square = 0, b_square = 0;
    for (size_t d = 0; d < n; d++) {
        product += (double)a[d] * (double)b[d];
        a_square += (double)a[d] * (double)a[d];
        b_square += (double)b[d] * (double)b[d];
    }
    return a_square > 0 && b_square > 0 ? (float)(product / sqrt(a_square * b_square)) : 0.0f;
}

thr_status thr_text_scored_pairs_auc(thr_context *context, thr_scored_pairs *pairs, double *auc, thr_error *err) {
    const size_t n = pairs->n, n_dims = pairs->n_dims;
    const size_t most = pairs->good != NULL || n == 0 ? 0 : n - 1;
    const size_t n_negatives = THR_MIN(most, SAMPLED_NEGATIVES);
    float *scores = NULL;
    uint8_t *labels = NULL;
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_alloc(context, n, (n_negatives + 1) * sizeof *scores, &scores, "scores of pairs", err));
    THR_TRY_OUT(thr_alloc(context, n, n_negatives + 1, &labels, "scores of pairs", err));
    pairs->n_good = pairs->n_bad = 0;
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= n_negatives; j++, at++) {
            const size_t item = (i + j * (n / (n_negatives + 1))) % n;
            scores[at] = cosine(pairs->embeddings[0] + i * n_dims, pairs->embeddings[1] + item * n_dims, n_dims);
            labels[at] = pairs->good != NULL ? pairs->good[i] : j == 0;
            pairs->n_good += labels[at];
            pairs->n_bad += !labels[at];
        }
    }
    THR_TRY_OUT(thr_auc(scores, labels, at, auc, err));
out:
    THR_RELEASE(context, scores, labels);
    return status;
}

thr_status thr_text_scored_pairs_loss(thr_context *context, const thr_scored_pairs *pairs, const thr_match_loss *loss,
                                      size_t block, double *mean, thr_error *err) {
    const size_t n_dims = pairs->n_dims;
    thr_match_loss match = *loss;
    float *scratch = NULL;
    if (block > pairs->n)
        block = pairs->n;
    if (match.n_negatives >= block)
        match.n_negatives = (uint32_t)(block - 1);
    THR_TRY(thr_alloc(context, thr_nn_match_loss_scratch(&match, block, n_dims), sizeof *scratch, &scratch,
                      "a validation", err));
    double sum = 0;
    size_t n_blocks = 0;
    for (size_t first = 0; first + block <= pairs->n; first += block, n_blocks++) {
        thr_match_batch batch = {.queries = pairs->embeddings[0] + first * n_dims,
                                 .items = pairs->embeddings[1] + first * n_dims,
                                 .n_rows = block,
                                 .n_dims = n_dims};
        if (match.teacher_share > 0) {
            batch.teacher_queries = pairs->teachers[0] + first * match.n_teacher_dims;
            batch.teacher_items = pairs->teachers[1] + first * match.n_teacher_dims;
        }
        sum += thr_nn_match_loss_run(context, &match, &batch, scratch);
    }
    *mean = sum / (double)n_blocks;
    thr_release(context, scratch);
    return THR_OK;
}
