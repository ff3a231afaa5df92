/* SPDX-License-Identifier: Apache-2.0 */
/* with_tail.h - searches of an index with a tail: the segments' answers and the tail's, which are exact, become one. */
#pragma once

#include "index/impl.h"
#include "scan/radius.h"

/*
 * Search segments and tail for the best k. options come from thr_index_restrict and thr_index_resolve_recall, without
 * features. The answer is certified if the segments' is. Returns as thr_index_scan.
 */
thr_status thr_index_search_with_tail(thr_index *index, thr_scan *scan, const thr_matrix *queries,
                                      const thr_search_options *options, const thr_answers *answers, thr_error *err);

/* Search segments and tail for all within a radius. Returns as thr_scan_radius. */
thr_status thr_index_radius_with_tail(thr_index *index, thr_scan *scan, const thr_matrix *queries, float least_score,
                                      const thr_search_options *options, thr_found *found, thr_error *err);

/* Free a piece of index->tail_answers. */
void thr_index_tail_answers_free(void *answers);
