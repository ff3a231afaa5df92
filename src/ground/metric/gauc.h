/* SPDX-License-Identifier: Apache-2.0 */
/* gauc.h - quality of ads ranked by request: GAUC, and recall of the best ads. */
#pragma once

#include <thresher/status.h>

/*
 * Lists of scored ads, one per request, ordered best first by the truth. Request r has ads offsets[r] to
 * offsets[r + 1] - 1; the first n_best[r] of them (NULL: one each) are equally good and better than the others.
 * Requests without ads, or with best ads only, are skipped. A view.
 */
typedef struct thr_ranked {
    size_t n_requests;
    const uint64_t *offsets; /* n_requests + 1 */
    const float *scores;
    const uint32_t *n_best;
    const float *values; /* of ads, 0 or more; NULL: 1 */
} thr_ranked;

/*
 * GAUC (HitMatch (10)): the mean over requests of the AUC of the best ads against the others; equal scores count half.
 *
 * Returns THR_OK; THR_EINVAL if all requests are skipped, offsets do not ascend, or an n_best is 0 or exceeds the ads
 * of its request; THR_ERANGE for a NaN score.
 */
thr_status thr_metric_gauc(const thr_ranked *ranked, double *gauc, thr_error *err);

/*
 * Recall@G_1 (HitMatch (11) for k = 1): the share of requests whose best ad has one of the g highest scores. Ties at
 * the g-th place, and several best ads, count by probability, so the order of ads in the input has no effect. *recall
 * weights requests equally; *by_value (may be NULL) by the values of their best ads, and is NaN if these are all 0.
 *
 * Returns as thr_metric_gauc; THR_EINVAL also for g = 0, THR_ERANGE also for values below 0 or not finite.
 */
thr_status thr_metric_top_recall(const thr_ranked *ranked, size_t g, double *recall, double *by_value, thr_error *err);
