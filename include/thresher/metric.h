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

#ifdef __cplusplus
}
#endif

#endif
