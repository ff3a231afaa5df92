/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bounds.h - what the estimates of an item are at least, when its exact score is at least so much.
 *
 * An item that a screen leaves out because its estimate is lower than that has certainly not got the score. bounds.c
 * says why. Bounds are in the collector's units, and -infinity where the codes' errors are not known.
 */
#ifndef THR_SCAN_BOUNDS_H
#define THR_SCAN_BOUNDS_H

#include "scan/worker.h"

/*
 * The largest distance of a kept vector from the one that was encoded, for cosine that of their directions; infinity
 * where there is no telling. Cost: for cosine and float16 a pass over the inverse lengths.
 */
double thr_scan_kept_error(const thr_scan_target *target, const thr_kernels *kernels);

/* query->errors, when query's codes are made: of part, whose length is given. */
void thr_scan_query_measure(thr_scan_query *query, const float *part, double length);

/* What every item with such a score has: by the planes in blocks, for flat codes all of them. */
double thr_scan_least_screened(const thr_scan_query *query, float score, double kept_error);

/* The same after rescoring, of items whose factors are at most largest_factor. */
double thr_scan_least_rescored(const thr_scan_query *query, float score, double kept_error, double largest_factor);

/* The largest factor in the records of items. */
double thr_scan_largest_factor(const thr_scan_target *target, const thr_candidate *items, size_t n);

/* ------------------------------------------------------------------------------------------------ their parts */

/* What the vector that was encoded scores at least, when the kept one's score is score. */
double thr_scan_true_score(const thr_scan_query *query, double score, double kept_error);

/* Bounds of any item: its residual's length, and what its offset adds to an estimate. */
double thr_scan_longest_residual(const thr_scan_target *target);
double thr_scan_largest_offset(const thr_scan_query *query);

/* A bound of the sine of the angle between p and the residual of an item whose true score is at least score. */
double thr_scan_residual_sine(const thr_scan_query *query, double score);

/* From a score as users see it to the collector's units. */
double thr_scan_to_collector(const thr_scan_query *query, double score);

#endif
