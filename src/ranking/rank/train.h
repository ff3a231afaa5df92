/* SPDX-License-Identifier: Apache-2.0 */
/* train.h - checks the options of a training, and computes the costs of queries from them. */
#pragma once

#include "rank/solver/solver.h"

/*
 * Merge the given options into the defaults and check them; *c, if not NULL, replaces C. THR_OK; THR_EINVAL; THR_EDIM
 * if given->start has another number of features than the rows.
 */
thr_status thr_rank_options_resolve(const thr_rank_options *given, const double *c, const thr_ranking_view *view,
                                    thr_rank_options *options, thr_error *err);

/* THR_OK; THR_EINVAL if one of n weights is below 0 or not finite; what: "row" or "query". weights may be NULL. */
thr_status thr_rank_check_weights(const double *weights, const char *what, uint64_t n, thr_error *err);

/*
 * Set the problem's costs for options->c. left_out: n_queries flags, or NULL: none. These queries have cost 0, and
 * their pairs do not enter the mean.
 */
void thr_rank_set_costs(thr_rank_problem *problem, const thr_rank_options *options, const bool *left_out);
