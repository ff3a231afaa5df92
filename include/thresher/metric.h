/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metric.h - how good an answer is.
 *
 * Threads: all functions are pure.
 */
#ifndef THRESHER_METRIC_H
#define THRESHER_METRIC_H

#include <thresher/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define THR_NO_ID UINT64_MAX /* fills the end of a result row that has fewer than k items */

/*
 * recall@k: the share of the true first k ids that stand among the first k of the result, averaged over queries.
 *
 * truth is n_queries x truth_stride ids, result n_queries x result_stride; both strides at least k. A result id that
 * stands twice in its row counts once. THR_NO_ID never counts as found; true rows shorter than k (filled up with
 * THR_NO_ID) are judged on the ids they have.
 *
 * truth_scores, when not NULL, has truth's shape, best first, larger is better (negate distances), and must hold a
 * score for every id: a result id that ties with the true k-th score then counts as found wherever truth lists it, as
 * big-ann counts ties.
 *
 * Returns THR_OK; THR_EINVAL for k = 0, no queries or a stride below k.
 */
THR_API thr_status thr_recall(const uint64_t *truth, const float *truth_scores, size_t truth_stride,
                              const uint64_t *result, size_t result_stride, size_t n_queries, size_t k, double *recall,
                              thr_error *err);

/*
 * ROC AUC: the probability that a positive drawn at random has a higher score than a negative, equal scores counted
 * half. labels[i] is 1 where scores[i] belongs to a positive, else 0; infinite scores are allowed.
 *
 * Returns THR_OK; THR_EINVAL where there are no positives or no negatives, or for a label that is neither 0 nor 1;
 * THR_ERANGE for a score that is not a number; THR_ENOMEM.
 */
THR_API thr_status thr_auc(const float *scores, const uint8_t *labels, size_t n, double *auc, thr_error *err);

/*
 * Lists of scored ads, one a request, that stand best first by what is right: the ads of request r are
 * scores[offsets[r]] to scores[offsets[r + 1] - 1], of which the first n_best[r] (NULL: one each) are equally good and
 * better than all others. Requests with no ad, or with best ones only, say nothing and are left out. A view.
 */
typedef struct thr_ranked {
    size_t n_requests;
    const uint64_t *offsets; /* n_requests + 1 */
    const float *scores;
    const uint32_t *n_best;
    const float *values; /* of ads, 0 or more; NULL: 1 each */
} thr_ranked;

/*
 * GAUC (HitMatch (10)): the mean over requests of the AUC of the best ads against the others; equal scores count half.
 *
 * Returns THR_OK; THR_EINVAL where no request says anything, offsets do not ascend, or n_best is 0 or more than a
 * request has ads; THR_ERANGE for a score that is not a number.
 */
THR_API thr_status thr_gauc(const thr_ranked *ranked, double *gauc, thr_error *err);

/*
 * Recall@G_1 (HitMatch (11) for k = 1): the share of requests whose best ad is among the g of the highest scores.
 * Where it has the score of others and there is room for some of them only, it counts by its chance, as it does where
 * several ads are the best: the order in which ads are listed helps nobody. *recall weighs requests alike, *by_value
 * (may be NULL) by the values of their best ads; NaN where these are all 0.
 *
 * Statuses as above; THR_EINVAL for g = 0 and THR_ERANGE for values below 0 or not finite, too.
 */
THR_API thr_status thr_top_recall(const thr_ranked *ranked, size_t g, double *recall, double *by_value, thr_error *err);

/*
 * What a search misses that keeps only the best of every bucket (RBE, appendix B): the probability that of the best
 * n_wanted of n_candidates at most at_most share a bucket with a better one and are lost. Candidates are in buckets of
 * bucket_items by chance, the last bucket has what is left; ties do not occur.
 *
 * Exact but for rounding, about n_wanted x 1e-16 of the probability. Takes n_wanted x at_most steps.
 *
 * Returns THR_OK; THR_EINVAL unless 1 <= n_wanted <= n_candidates and bucket_items >= 1; THR_ENOMEM.
 */
THR_API thr_status thr_bucket_miss(uint64_t n_candidates, uint64_t n_wanted, uint64_t bucket_items, uint64_t at_most,
                                   double *probability, thr_error *err);

/* The share of the best n_wanted that such a search finds on average. Arguments and statuses as above. */
THR_API thr_status thr_bucket_recall(uint64_t n_candidates, uint64_t n_wanted, uint64_t bucket_items, double *recall,
                                     thr_error *err);

#ifdef __cplusplus
}
#endif

#endif
