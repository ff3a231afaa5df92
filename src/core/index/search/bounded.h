/* SPDX-License-Identifier: Apache-2.0 */
/* bounded.h - searches of an index's segments that skip the cells whose rows certainly score too little. */
#pragma once

#include "index/impl.h"
#include "scan/radius.h"

/* As thr_scan_radius over the segments, without the tail. */
thr_status thr_index_scan_radius(thr_index *index, thr_scan *scan, const thr_matrix *queries, float least_score,
                                 const thr_search_options *options, thr_found *found, thr_error *err);

/* Whether exact searches without features skip cells, and thr_scan_search over the segments for them. */
bool thr_index_has_bounds(const thr_index *index);
thr_status thr_index_scan_exact(thr_index *index, thr_scan *scan, const thr_matrix *queries,
                                const thr_search_options *options, const thr_answers *answers, thr_error *err);

/* Free a piece of index->bounded_searches. */
void thr_index_bounded_free(void *workspace);
