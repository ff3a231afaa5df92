/* SPDX-License-Identifier: Apache-2.0 */
/*
 * radius.h - all rows whose score is at least so much.
 */
#ifndef THR_SCAN_RADIUS_H
#define THR_SCAN_RADIUS_H

#include "scan/scan.h"
#include "select/candidates.h"

/* One query's answer, sorted. */
typedef struct thr_found {
    thr_candidate *items;
    size_t n, capacity;
} thr_found;

void thr_scan_found_free(thr_context *context, thr_found *found);

/*
 * Find for every query all rows of at least least_score, in the units that users see; not NaN. Of the options
 * query_bits, exact, filter, recall and certified count, checked by the caller. found has a zeroed place for each query
 * and is the caller's to free, after an error, too.
 *
 * A row with just that score is missed with a probability of 1 - recall, one with a better score less (noise.h); with
 * recall 1 none is. Rows are judged by their exact scores, or, of an index of codes only, by the estimates of all
 * planes.
 *
 * THR_ERANGE names the query; THR_ENOMEM.
 */
thr_status thr_scan_radius(thr_scan *scan, const thr_scan_target *target, const thr_matrix *queries, float least_score,
                           const thr_search_options *options, thr_found *found, thr_error *err);

#endif
