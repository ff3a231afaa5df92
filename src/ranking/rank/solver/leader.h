/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leader.h - evaluates the objective of a ranking whose rows are in parts: the leader sends requests to all parts and
 * adds their sums, with the bits of problem.h's.
 */
#pragma once

#include "rank/solver/precondition.h"

typedef struct thr_rank_leader {
    const thr_rank_parts *parts;
    thr_rank_problem *problem; /* the whole without rows */
    double *sums;              /* the numbers of a request */
} thr_rank_leader;

/* The number of doubles that a part with these chunks writes for a request. */
size_t thr_rank_request_output_size(const thr_rank_request *request, const thr_rank_range *range, uint32_t n_features);

/* THR_OK; THR_EINVAL for parts that do not divide all chunks; THR_ENOMEM. */
thr_status thr_rank_leader_start(thr_context *context, const thr_rank_parts *parts, thr_rank_leader *leader,
                                 thr_error *err);
void thr_rank_leader_end(thr_rank_leader *leader);

/* As thr_rank_evaluate, with f in *value; thr_rank_product; thr_rank_right_pairs. Statuses are those of parts->run. */
thr_status thr_rank_leader_evaluate(thr_rank_leader *leader, const double *w, double *gradient, double *diagonal,
                                    double *value, thr_error *err);
thr_status thr_rank_leader_product(thr_rank_leader *leader, const double *v, double *out, thr_error *err);
thr_status thr_rank_leader_right_pairs(thr_rank_leader *leader, const double *w, uint64_t *n_right, thr_error *err);

/* As thr_rank_preconditioner_set, for one that is not diagonal. */
thr_status thr_rank_leader_precondition(thr_rank_leader *leader, thr_rank_preconditioner *p, thr_error *err);
