/* SPDX-License-Identifier: Apache-2.0 */
/* sources.h - runs the source of a plan. */
#pragma once

#include "index/search/plan.h"
#include "scan/radius.h"

/*
 * Find the best plan->n_found rows of the segments (plan->k if the plan reranks), for queries that
 * thr_scan_check_queries has accepted. answers->k is that number, answers->certified NULL unless the plan certifies. A
 * second search of the same shape allocates nothing, unless a model encodes the queries.
 *
 * THR_ERANGE: a value is not finite; what an encoder returns; THR_ENOMEM.
 */
thr_status thr_index_search_segments(thr_index *index, const thr_search_plan *plan, const thr_matrix *queries,
                                     const thr_answers *answers, thr_error *err);

/* The same for all rows that score at least least_score, as thr_scan_radius. */
thr_status thr_index_radius_of_segments(thr_index *index, const thr_search_plan *plan, const thr_matrix *queries,
                                        float least_score, thr_found *found, thr_error *err);
