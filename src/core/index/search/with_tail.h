/* SPDX-License-Identifier: Apache-2.0 */
/* with_tail.h - searches of an index with a tail: the segments' answers and the tail's, which are exact, become one. */
#pragma once

#include "index/search/plan.h"
#include "scan/radius.h"

/* As thr_index_search_segments, of segments and tail. An answer is certified if the segments' is. */
thr_status thr_index_search_with_tail(thr_index *index, const thr_search_plan *plan, const thr_matrix *queries,
                                      const thr_answers *answers, thr_error *err);

/* As thr_index_radius_of_segments, of segments and tail. */
thr_status thr_index_radius_with_tail(thr_index *index, const thr_search_plan *plan, const thr_matrix *queries,
                                      float least_score, thr_found *found, thr_error *err);
