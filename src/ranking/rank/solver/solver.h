/* SPDX-License-Identifier: Apache-2.0 */
/*
 * solver.h - minimising RankSVM's objective (problem.h) until |gradient| <= epsilon |gradient at 0|.
 *
 * Both methods take Newton steps, each by conjugate gradients on products with the Hessian. f is convex, its gradient
 * is continuous, and f is piecewise quadratic: near the minimum a full step ends exactly on it.
 *
 *     line search    the step's system is solved until the residual is some share of the gradient. Then the step is
 *                    halved until f falls by at least a hundredth of the decrease that its slope predicts. Conjugate
 *                    gradients are preconditioned (precondition.h), which corrects
 *                    for features of different scales and for correlated features. With many queries, the minimum
 *                    over a subset of them is the starting point.
 *     trust region   RankSVM, algorithm 1, with the rules of Lin, Weng and Keerthi (2008): a step is limited to the
 *                    radius in which the quadratic model agreed with f, at first the norm of the gradient (a radius
 *                    of 0 would never move).
 */
#pragma once

#include <thresher/rank.h>

#include "base/progress.h"
#include "device/policy.h"
#include "rank/device/gpu_problem.h"
#include "rank/solver/leader.h"

typedef struct thr_rank_solver {
    thr_rank_problem *problem;
    thr_progress progress; /* counts readings of X */
    double epsilon;
    uint32_t most_steps;
    uint32_t n;              /* features */
    double *w;               /* between steps the best so far; within one the point of a trial */
    double *gradient, *step; /* gradient at w; step from w */
    double *diagonal;        /* approximate, of the Hessian; used if the preconditioner is diagonal */
    thr_rank_preconditioner preconditioner;
    double *r, *z, *p, *hp;  /* of conjugate gradients; r = -gradient - H step */
    double *costs;           /* n_queries: saves the problem's costs while a subset of the queries is solved */
    thr_rank_leader *leader; /* the rows are in parts; NULL: here */
    thr_device_policy on_device;
    thr_rank_gpu_problem *device; /* the problem's copy on a GPU; NULL: the CPU evaluates */
    double *device_w;             /* w of the device's last evaluation */
    double value, norm, first_norm;
    thr_rank_step_fn on_step; /* or NULL */
    void *on_step_user;
    double started; /* clock at the start, for on_step's seconds */
    uint32_t n_steps;
    uint64_t n_products, n_readings;
    double product_seconds;
} thr_rank_solver;

/* Allocate; w is 0. THR_OK or THR_ENOMEM. */
thr_status thr_rank_solver_start(thr_rank_problem *problem, thr_rank_solver *solver, thr_error *err);
void thr_rank_solver_end(thr_rank_solver *solver);

/*
 * Evaluate and multiply on the context's GPU from now on, if the policy selects it (device/policy.h). THR_OK;
 * THR_EUNSUPPORTED for 2^32 rows or more, or no feature, with "cuda"; THR_ENOMEM; THR_EDEVICE.
 */
thr_status thr_rank_solver_choose_device(thr_rank_solver *solver, thr_error *err);

/*
 * Minimise f from solver->w. *converged: whether epsilon was reached; most_steps or the precision of double may prevent
 * it.
 *
 * Returns THR_OK; THR_EINVAL when the gradient at 0 is 0, so that w = 0 is the minimum; THR_ERANGE when f is not
 * finite; THR_ECANCELED, with the best w so far.
 */
thr_status thr_rank_solver_run(thr_rank_solver *solver, thr_rank_method method, bool *converged, thr_error *err);

/* ---------------------------------------------------------------------------------------- functions for the methods */

/*
 * Take one step from w, where f, gradient and diagonal are known. *moved is false if no step decreases f. Statuses as
 * thr_rank_solver_evaluate and thr_rank_solver_product.
 */
thr_status thr_rank_newton_step(thr_rank_solver *solver, bool *moved, thr_error *err);
thr_status thr_rank_trust_step(thr_rank_solver *solver, double *radius, bool *moved, thr_error *err);

/* Evaluate at w, counted. THR_OK; THR_ERANGE; THR_ECANCELED; what thr_rank_dispatch_evaluate returns. */
thr_status thr_rank_solver_evaluate(thr_rank_solver *solver, bool diagonal, thr_error *err);

/* out = H v, counted and timed. THR_OK; THR_ECANCELED; what thr_rank_dispatch_product returns. */
thr_status thr_rank_solver_product(thr_rank_solver *solver, const double *v, double *out, thr_error *err);

/*
 * f at w with its gradient and diagonal, a product with the Hessian of the last evaluation, and the preconditioner for
 * it. Uncounted. The leader's parts or the device compute them; if there is none, or it fails and the policy allows a
 * fallback, the CPU does (dispatch.c). THR_OK; THR_EDEVICE; THR_ENOMEM; what the leader returns.
 */
thr_status thr_rank_dispatch_evaluate(thr_rank_solver *solver, double *gradient, double *diagonal, double *value,
                                      thr_error *err);
thr_status thr_rank_dispatch_product(thr_rank_solver *solver, const double *v, double *out, thr_error *err);
thr_status thr_rank_dispatch_precondition(thr_rank_solver *solver, thr_error *err);

/* Count the pairs in the right order at w. Evaluate again before the next product. Statuses as the leader's. */
thr_status thr_rank_dispatch_right_pairs(thr_rank_solver *solver, uint64_t *n_right, thr_error *err);

/* Count a pass over X and report progress. THR_OK or THR_ECANCELED. */
thr_status thr_rank_solver_count_pass(thr_rank_solver *solver, thr_error *err);

/* a' b, added in the order of d. */
static inline double thr_rank_inner(const double *a, const double *b, uint32_t n) {
    double sum = 0;
    for (uint32_t d = 0; d < n; d++)
        sum += a[d] * b[d];
    return sum;
}
