/* SPDX-License-Identifier: Apache-2.0 */
/* train.h - options that are in range, and costs of a query's pairs by them. */
#ifndef THR_RANK_TRAIN_H
#define THR_RANK_TRAIN_H

#include "rank/solver.h"

/* Options as they were given over the defaults, with *c, unless NULL. THR_EINVAL; THR_EDIM for a start's features. */
thr_status thr_rank_options_take(const thr_rank_options *given, const double *c, const thr_ranking_view *view,
                                 thr_rank_options *options, thr_error *err);

/* Costs for options->c; queries of a fold (NULL: none is) cost nothing, and their pairs do not count for the mean. */
void thr_rank_costs(thr_rank_problem *problem, const thr_rank_options *options, const bool *left_out);

#endif
