/* SPDX-License-Identifier: Apache-2.0 */
/* graded.h - judged rankings query by query: checked, and in the order of their scores. */
#ifndef THR_METRIC_GRADED_H
#define THR_METRIC_GRADED_H

#include <thresher/metric.h>

/* A row to be sorted. */
typedef struct thr_judged_row {
    double score, label;
    size_t row; /* of the query */
} thr_judged_row;

/* A query's rows; in the order given, or sorted. */
typedef struct thr_judged_query {
    thr_judged_row *rows, *other; /* room for as many rows as the largest query has, each; of memory */
    thr_judged_row *memory;
    size_t n, most; /* rows of this query, and of the largest one; 1 at least */
} thr_judged_query;

/*
 * Check offsets, scores and labels, and make room for the largest query. gain: labels are 0 or more, and what the gain
 * can take; NULL: any finite numbers. *largest_label is 0 at least.
 * THR_EINVAL; THR_ERANGE; THR_ENOMEM.
 */
thr_status thr_metric_graded_start(const thr_judged *judged, const thr_gain *gain, thr_judged_query *query,
                                   double *largest_label, thr_error *err);

/* The rows of query q, the best score first, of equal scores the first row. */
void thr_metric_graded_rank(const thr_judged *judged, size_t q, thr_judged_query *query);

void thr_metric_graded_stop(thr_judged_query *query);

/* Options over the defaults, in range. THR_EINVAL. */
thr_status thr_metric_quality_take_options(const thr_quality_options *given, thr_quality_options *options,
                                           thr_error *err);

/* What pairs of one query there are, added up: the rows may then stand in any order. */
void thr_metric_graded_count_pairs(thr_judged_query *query, thr_pair_quality *quality);

/* Accuracies of what was counted. */
void thr_metric_graded_end_pairs(thr_pair_quality *quality);

double thr_metric_gain(thr_gain gain, double label);

#endif
