/* SPDX-License-Identifier: Apache-2.0 */
/* graded.h - validate graded rankings and sort each query by score. */
#pragma once

#include <thresher/metric.h>

/* A row to be sorted. */
typedef struct thr_judged_row {
    double score, label;
    size_t row; /* number within the query */
} thr_judged_row;

/* The rows of a query, in the given order or sorted. */
typedef struct thr_judged_query {
    thr_judged_row *rows, *other; /* two buffers, each for as many rows as the largest query has; owned by memory */
    thr_judged_row *memory;
    size_t n, most; /* rows of this query; rows of the largest query, at least 1 */
} thr_judged_query;

/*
 * Check offsets, scores and labels, and allocate buffers for the largest query. gain: labels must be at least 0 and
 * within the range of the gain; NULL: any finite labels. *largest_label is at least 0. THR_EINVAL; THR_ERANGE;
 * THR_ENOMEM.
 */
thr_status thr_metric_graded_start(const thr_judged *judged, const thr_gain *gain, thr_judged_query *query,
                                   double *largest_label, thr_error *err);

/* Sort the rows of query q by descending score; ties keep the order of rows. */
void thr_metric_graded_rank(const thr_judged *judged, size_t q, thr_judged_query *query);

void thr_metric_graded_stop(thr_judged_query *query);

/* Copy options over the defaults and validate them. THR_EINVAL. */
thr_status thr_metric_quality_take_options(const thr_quality_options *given, thr_quality_options *options,
                                           thr_error *err);

/* Count the pairs of one query and add them to quality. Changes the order of the rows. */
void thr_metric_graded_count_pairs(thr_judged_query *query, thr_pair_quality *quality);

/* Compute the accuracies from the counts. */
void thr_metric_graded_end_pairs(thr_pair_quality *quality);

double thr_metric_gain(thr_gain gain, double label);
