/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan.h - the exhaustive search: screen every code, keep the best, refine them exactly (XFBQ section 4).
 *
 * Threads: a thr_scan is used by one search at a time; make one for each concurrent search.
 */
#ifndef THR_SCAN_SCAN_H
#define THR_SCAN_SCAN_H

#include "base/memory.h"
#include "scan/segment.h"

#include <thresher/codes.h>

/* What is searched. Pointers are borrowed. */
typedef struct thr_scan_target {
    const thr_segment *segments; /* in row order */
    size_t n_segments;
    uint64_t n_items; /* in all segments */
    const thr_quantiser *quantiser;
    thr_metric metric;
    thr_dtype keep; /* F32, F16, I8 or NONE */
} thr_scan_target;

typedef struct thr_scan thr_scan; /* scratch memory, kept from search to search */

thr_status thr_scan_create(thr_context *context, thr_scan **scan, thr_error *err);
void thr_scan_free(thr_scan *scan);

/*
 * Search all queries (any dtype, checked by the caller to have the target's dimensions). Options are checked by the
 * caller too: query_bits in 1..8, k >= 1, filter of n_items bits, exact only with vectors.
 * rows_out and scores_out (may be NULL) have n_queries x k places: row numbers of the index, filled up with THR_NO_ID.
 * THR_ERANGE names the query row; THR_ENOMEM.
 */
thr_status thr_scan_search(thr_scan *scan, const thr_scan_target *target, const thr_matrix *queries, uint64_t k,
                           const thr_search_options *options, uint64_t *rows_out, float *scores_out, thr_error *err);

#endif
