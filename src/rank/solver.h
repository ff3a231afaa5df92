/* SPDX-License-Identifier: Apache-2.0 */
/*
 * solver.h - the least of RankSVM's function (problem.h), to |gradient| <= epsilon |gradient at 0|.
 *
 * Both methods take Newton's steps, each by conjugate gradients on products with the Hessian. f is convex and its
 * gradient continuous, with pieces that are parabolas: near the least a whole step ends on it.
 *
 *   line search    the step is solved to some share of the gradient and halved until f falls by a hundredth of what its
 *                  slope says; conjugate gradients are preconditioned (precondition.h), which makes up for
 *                  features on scales of their own, and for those that say the same. Of many queries a part is solved
 *                  first, to begin where its least is.
 *   trust region   RankSVM, algorithm 1, with the rules of Lin, Weng and Keerthi (2008): a step has at most the length
 *                  that f was like its parabola before, at first that of the gradient (not 0, which would never move).
 */
#ifndef THR_RANK_SOLVER_H
#define THR_RANK_SOLVER_H

#include <thresher/rank.h>

#include "base/progress.h"
#include "device/policy.h"
#include "rank/device/problem.h"
#include "rank/precondition.h"

typedef struct thr_rank_solver {
    thr_rank_problem *problem;
    thr_progress progress; /* of readings of X */
    double epsilon;
    uint32_t most_steps;
    uint32_t n;              /* features */
    double *w;               /* the best one so far */
    double *gradient, *step; /* at w; from w */
    double *diagonal;        /* of the Hessian, about; where the preconditioner wants it */
    thr_rank_preconditioner preconditioner;
    double *r, *z, *p, *hp; /* of conjugate gradients; r: minus gradient, minus H step */
    double *costs;          /* n_queries: the problem's, while a part of the queries is looked at */
    thr_device_policy on_device;
    thr_rank_device *device; /* its copy; NULL: f and products are the CPU's */
    double *device_w;        /* of the device's last evaluation */
    double value, norm, first_norm;
    thr_rank_step_fn on_step; /* or NULL */
    void *on_step_user;
    double started; /* the clock that on_step is told the seconds since */
    uint32_t n_steps;
    uint64_t n_products, n_readings;
    double product_seconds;
} thr_rank_solver;

/* THR_ENOMEM. w is 0. */
thr_status thr_rank_solver_start(thr_rank_problem *problem, thr_rank_solver *solver, thr_error *err);
void thr_rank_solver_end(thr_rank_solver *solver);

/*
 * Evaluate and multiply on the context's GPU from now on, where the policy has it so (device/policy.h).
 * THR_EUNSUPPORTED with "cuda" for sparse rows; THR_ENOMEM; THR_EDEVICE.
 */
thr_status thr_rank_solver_choose_device(thr_rank_solver *solver, thr_error *err);

/*
 * From solver->w to the least of f by the problem's costs. *converged: whether epsilon was reached; it may not be for
 * most_steps, or for the limits of double.
 *
 * THR_OK; THR_EINVAL when the gradient at 0 is 0, so that 0 is the least; THR_ERANGE when f is not finite;
 * THR_ECANCELED (w is the best so far).
 */
thr_status thr_rank_solver_run(thr_rank_solver *solver, thr_rank_method method, bool *converged, thr_error *err);

/* ------------------------------------------------------------------------------------------------ for the methods */

/* One step from w, where f, gradient and diagonal are known. *moved: false where none makes f less. */
thr_status thr_rank_newton_step(thr_rank_solver *solver, bool *moved, thr_error *err);
thr_status thr_rank_trust_step(thr_rank_solver *solver, double *radius, bool *moved, thr_error *err);

/* Evaluate at w. THR_ERANGE; THR_ECANCELED; a device's failures, here and below. */
thr_status thr_rank_solver_evaluate(thr_rank_solver *solver, bool diagonal, thr_error *err);

/* out = H v, counted and timed. THR_ECANCELED. */
thr_status thr_rank_solver_product(thr_rank_solver *solver, const double *v, double *out, thr_error *err);

/*
 * f at w, a product with the Hessian of the last evaluation, and the preconditioner for that: by the device, or, where
 * there is none or it fails a solver that may do without, the CPU. Nothing is counted. THR_EDEVICE; THR_ENOMEM.
 */
thr_status thr_rank_solver_f(thr_rank_solver *solver, double *gradient, double *diagonal, double *value,
                             thr_error *err);
thr_status thr_rank_solver_multiply(thr_rank_solver *solver, const double *v, double *out, thr_error *err);
thr_status thr_rank_solver_precondition(thr_rank_solver *solver, thr_error *err);

/* Count a reading of X, and ask whether to go on. */
thr_status thr_rank_solver_read(thr_rank_solver *solver, thr_error *err);

static inline double thr_rank_inner(const double *a, const double *b, uint32_t n) {
    double sum = 0;
    for (uint32_t d = 0; d < n; d++)
        sum += a[d] * b[d];
    return sum;
}

#endif
