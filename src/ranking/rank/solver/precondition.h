/* SPDX-License-Identifier: Apache-2.0 */
/*
 * precondition.h - a preconditioner for conjugate gradients: a matrix that approximates the Hessian and is cheap to
 * solve with.
 *
 *     M = I + 2 sum over queries of c_q sum over rows of o_i b_i (x_i - m_q) (x_i - m_q)',
 *         m_q the mean of q's rows weighted by o b
 *
 * M treats the two rows of a pair as independent; for the Hessian's differences x_i - x_j this is nearly true. It
 * captures the scales of features and their correlations, so that few iterations remain. M is computed from a sample:
 * some queries, and some rows of long ones; in all 128 rows for each feature, or fewer if M would else cost more than
 * four products. The choice depends only on the data. The sums are float32, of values scaled to a diagonal of 1. To
 * make M positive definite, a little is added to the diagonal.
 *
 * With more than 1,024 features, or so many for the rows that M would cost more than a few products with the Hessian,
 * the preconditioner is diagonal: 0.99 + 0.01 times the Hessian's diagonal.
 */
#pragma once

#include "rank/solver/problem.h"

/* Every query_step-th query of positive cost, and every row_step-th of its rows. */
typedef struct thr_rank_sample {
    uint64_t query_step, row_step;
} thr_rank_sample;

/* Choose the sample for the problem's current costs. */
thr_rank_sample thr_rank_sample_choose(const thr_rank_problem *problem);

/* Whether samples are drawn from a query. */
static inline bool thr_rank_sample_may_have(const thr_rank_problem *problem, uint64_t query) {
    return problem->n_pairs[query] != 0 && problem->costs[query] > 0;
}

typedef struct thr_rank_preconditioner {
    const thr_rank_problem *problem;
    bool is_diagonal;
    double *scales; /* n: square roots of M's diagonal, or the scales themselves if is_diagonal */
    double *factor; /* n x n: Cholesky factor of the scaled matrix, lower triangle */
    double *row, *mean;
    float *panel, *sums; /* sampled rows; n x n */
} thr_rank_preconditioner;

/* Allocate; _start chooses whether it is diagonal by the size of the problem. THR_OK or THR_ENOMEM. */
thr_status thr_rank_preconditioner_start(const thr_rank_problem *problem, thr_rank_preconditioner *p, thr_error *err);
thr_status thr_rank_preconditioner_make(const thr_rank_problem *problem, bool is_diagonal, thr_rank_preconditioner *p,
                                        thr_error *err);
void thr_rank_preconditioner_end(thr_rank_preconditioner *p);

/*
 * Add the sampled rows of this problem, which may be one part of several. matrix false: add the diagonal of M to
 * scales. matrix true: scales are the square roots of the complete diagonal; add the scaled products to sums. *place:
 * the number of queries of earlier parts from which samples are drawn; increased by this problem's.
 */
void thr_rank_sample_add(thr_rank_preconditioner *p, const thr_rank_sample *sample, bool matrix, uint64_t *place);

/* Compute the preconditioner for the w of the last evaluation. diagonal: that evaluation's, used if is_diagonal. */
void thr_rank_preconditioner_set(thr_rank_preconditioner *p, const double *diagonal);

/* Factorise scales and sums that were computed elsewhere, such as on a device. Not for is_diagonal. */
void thr_rank_preconditioner_factorise(thr_rank_preconditioner *p);

/* z = M^-1 r. Returns r' z. */
double thr_rank_preconditioner_solve(const thr_rank_preconditioner *p, const double *r, double *z);
