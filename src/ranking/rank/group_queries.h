/* SPDX-License-Identifier: Apache-2.0 */
/* group_queries.h - reordering the rows of a ranking so that each query's rows are adjacent. */
#pragma once

#include "rank/ranking.h"

/*
 * Group a ranking's rows by query. On entry the view has the text's arrays in their original order. If the rows of a
 * query are not adjacent, all rows are moved. THR_OK; THR_ENOMEM, after which the ranking can only be freed.
 */
thr_status thr_ranking_group(thr_ranking *ranking, thr_error *err);
