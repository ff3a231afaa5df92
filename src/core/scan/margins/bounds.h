/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bounds.h - lower bounds of the estimates of items that reach a given score.
 *
 * An item whose estimate is below the bound certainly has a smaller score, so a screen may drop it. bounds.c derives
 * the bounds. They are in the collector's units, and -infinity if the codes' errors are unknown.
 */
#pragma once

#include "scan/job.h"

/* Fill in query->geometry, once query's codes are made. part is the coded part p of the query, length its length. */
void thr_scan_query_measure(thr_scan_query *query, const float *part, double length);

/*
 * A lower bound of the screen's estimates of items that score at least this. The screen uses the planes in blocks; for
 * flat codes these are all planes.
 */
double thr_scan_screen_bound(const thr_scan_query *query, float score, double kept_error);

/* The same for estimates after rescoring, over items whose factors are at most largest_factor. */
double thr_scan_rescore_bound(const thr_scan_query *query, float score, double kept_error, double largest_factor);

/* The largest factor in the records of n items. */
double thr_scan_largest_factor(const thr_scan_corpus *corpus, const thr_candidate *items, size_t n);

/* ------------------------------------------------------------------------------------------------ parts of bounds */

/* The least score of the encoded vector when the kept vector scores `score`. */
double thr_scan_least_true_score(const thr_scan_query *query, double score, double kept_error);

/* Upper bounds over all items: the length of a residual; the part of an estimate that comes from the item's offset. */
double thr_scan_longest_residual(const thr_scan_corpus *corpus);
double thr_scan_largest_offset(const thr_scan_query *query);

/*
 * Without origins: an upper bound of the sine of the angle between p and the residual of an item whose true score is at
 * least score.
 */
double thr_scan_largest_sine(const thr_scan_query *query, double score);

/*
 * An upper bound of `across` in thr_scan_margin_noise, which the random part of an item's error is proportional to, for
 * an item that scores at least `score`. Without origins: thr_scan_largest_sine. With origins: let o be the item's
 * origin; the bound is for the length of the component of q - o that is orthogonal to the item's residual, for L2 for
 * twice that length, and infinite for inner product.
 */
double thr_scan_largest_across(const thr_scan_query *query, double score);

/* Convert a score from the user's units to the collector's. */
double thr_scan_to_collector(const thr_scan_query *query, double score);
