/* SPDX-License-Identifier: Apache-2.0 */
/* group_queries.h - rows to their queries. */
#ifndef THR_RANK_GROUP_QUERIES_H
#define THR_RANK_GROUP_QUERIES_H

#include "rank/ranking.h"

/*
 * Of a ranking whose view has the arrays of its text, in the order they were given: find the queries, and where rows of
 * one stand apart, move all rows into the order of queries. THR_ENOMEM, after which the ranking can only be freed.
 */
thr_status thr_ranking_group(thr_ranking *ranking, thr_error *err);

#endif
