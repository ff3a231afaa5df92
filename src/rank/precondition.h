/* SPDX-License-Identifier: Apache-2.0 */
/*
 * precondition.h - a matrix near the Hessian that is easily solved with, for conjugate gradients.
 *
 *   M = I + 2 sum over queries of c_q sum over rows of o_i b_i (x_i - m_q) (x_i - m_q)',
 *       m_q the mean of q's rows by o b
 *
 * takes a pair's two rows for independent, which the Hessian's differences x_i - x_j nearly are. It knows scales of
 * features and how they go together, so that few steps are left. A sample of rows is enough: some queries, and of long
 * ones some rows, 128 a feature in all, chosen by the data alone. The sums are made in float32 of numbers scaled to a
 * diagonal of 1, with a little added to it, as much as makes M positive.
 *
 * Features whose matrix would cost more than some products with the Hessian, as they are many beside the rows, are
 * scaled one by one: 0.99 + 0.01 diagonal.
 */
#ifndef THR_RANK_PRECONDITION_H
#define THR_RANK_PRECONDITION_H

#include "rank/problem.h"

/* Every query_step-th query that costs something, and every row_step-th of its rows. */
typedef struct thr_rank_sample {
    uint64_t query_step, row_step;
} thr_rank_sample;

/* The sample by the problem's costs as they are, and whether a query may be in it. */
thr_rank_sample thr_rank_sample_choose(const thr_rank_problem *problem);
static inline bool thr_rank_sample_may_have(const thr_rank_problem *problem, uint64_t query) {
    return problem->n_pairs[query] != 0 && problem->costs[query] > 0;
}

typedef struct thr_rank_preconditioner {
    const thr_rank_problem *problem;
    bool is_diagonal;
    double *scales; /* n: of the diagonal, or roots of it */
    double *factor; /* n x n: of the scaled matrix, Cholesky's, below its diagonal and on it */
    double *row, *mean;
    float *panel, *sums; /* rows of the sample; n x n */
} thr_rank_preconditioner;

/* THR_ENOMEM. */
thr_status thr_rank_preconditioner_start(const thr_rank_problem *problem, thr_rank_preconditioner *p, thr_error *err);
void thr_rank_preconditioner_end(thr_rank_preconditioner *p);

/* Make it for the w of the last evaluation; diagonal: what that said, where is_diagonal. */
void thr_rank_preconditioner_set(thr_rank_preconditioner *p, const double *diagonal);

/* The same of scales and sums that are made, by whom it may be; not where is_diagonal. */
void thr_rank_preconditioner_factorise(thr_rank_preconditioner *p);

/* z = M^-1 r; r z. */
double thr_rank_preconditioner_solve(const thr_rank_preconditioner *p, const double *r, double *z);

#endif
