/* SPDX-License-Identifier: Apache-2.0 */
/* radius.h - search for all rows whose score is at least a given one. */
#pragma once

#include "scan/scan.h"
#include "select/candidates.h"

/*
 * The rounding of exact scores: of a cosine absolutely, of a squared distance relatively, of an inner product relative
 * to the product of the lengths. Sums have 16 lanes; 16 units in the last place are for the other operations.
 */
static inline double thr_score_rounding(uint32_t n_dims) {
    return (n_dims / 16.0 + 16) * 0x1p-24;
}

/* The least score by which a radius search accepts rows: least_score less the rounding that thresher/index.h states. */
float thr_scan_radius_least(thr_metric metric, uint32_t n_dims, float least_score);

/* An array of rows that grows. thr_scan_radius returns them sorted by (score, row). */
typedef struct thr_found {
    thr_candidate *items;
    size_t n, capacity;
} thr_found;

void thr_scan_found_free(thr_context *context, thr_found *found);

/* Reserve memory for `wanted` rows in all; append n rows. THR_ENOMEM. */
thr_status thr_scan_found_reserve(thr_context *context, thr_found *found, size_t wanted, thr_error *err);
thr_status thr_scan_found_append(thr_context *context, thr_found *found, const thr_candidate *items, size_t n,
                                 thr_error *err);

/*
 * Find for every query all rows with a score of at least least_score, in the user's units, not NaN. Uses the options
 * query_bits, exact, filter, recall and certified. The caller has checked these and the queries
 * (thr_scan_check_queries). found has a zeroed element per query; the caller frees them, after an error too.
 *
 * A row that just reaches least_score is missed with probability 1 - recall; the better its score, the smaller the
 * probability (noise.h). With recall 1 no row is missed. Rows are accepted by exact scores, or, in an index of codes
 * only, by the estimates from all planes.
 *
 * THR_ENOMEM.
 */
thr_status thr_scan_radius(thr_scan *scan, const thr_scan_corpus *corpus, const thr_matrix *queries, float least_score,
                           const thr_search_options *options, thr_found *found, thr_error *err);
