/* SPDX-License-Identifier: Apache-2.0 */
/*
 * newton.c - a Newton step by preconditioned conjugate gradients, and the line search along it.
 *
 * H step = -gradient is solved until the residual's norm (the preconditioner's) is a share of the gradient's: a tenth
 * at first, less as the gradient shrinks. So the first steps are cheap, and the last ones are exact enough to reach
 * epsilon. Each trial of the line search evaluates f and its gradient. Usually the first trial is accepted, and the
 * next step uses its evaluation.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "rank/solver/solver.h"

/* Against endless loops by rounding. */
enum { MOST_PRODUCTS = 1000, MOST_TRIALS = 40 };
static const double loosest = 0.1;     /* largest share of the gradient left as residual */
static const double goal_share = 0.25; /* the residual need not be below this share of the final gradient */
static const double sufficient = 0.01; /* Armijo's constant: f must fall by this share of its slope */
static const double rounding = 1e-13;  /* relative to f: smaller changes are rounding errors */

static double residual_share(const thr_rank_solver *solver) {
    const double progress = fmin(sqrt(solver->norm / solver->first_norm), loosest);
    return fmax(progress, fmin(goal_share * solver->epsilon * solver->first_norm / solver->norm, loosest));
}

static thr_status find_step(thr_rank_solver *solver, thr_error *err) {
    const uint32_t n = solver->n;
    const double share = residual_share(solver);
    THR_TRY(thr_rank_dispatch_precondition(solver, err));
    memset(solver->step, 0, n * sizeof(double));
    for (uint32_t d = 0; d < n; d++)
        solver->r[d] = -solver->gradient[d];
    double rz = thr_rank_preconditioner_solve(&solver->preconditioner, solver->r, solver->z);
    const double enough = share * share * rz;
    memcpy(solver->p, solver->z, n * sizeof(double));
    for (uint32_t i = 0; i < MOST_PRODUCTS && rz > enough; i++) {
        THR_TRY(thr_rank_solver_product(solver, solver->p, solver->hp, err));
        /* every eigenvalue of H is 1 at least, so the divisor is positive */
        const double length = rz / thr_rank_inner(solver->p, solver->hp, n);
        for (uint32_t d = 0; d < n; d++) {
            solver->step[d] += length * solver->p[d];
            solver->r[d] -= length * solver->hp[d];
        }
        const double before = rz;
        rz = thr_rank_preconditioner_solve(&solver->preconditioner, solver->r, solver->z);
        for (uint32_t d = 0; d < n; d++)
            solver->p[d] = solver->z[d] + rz / before * solver->p[d];
    }
    return THR_OK;
}

thr_status thr_rank_newton_step(thr_rank_solver *solver, bool *moved, thr_error *err) {
    const uint32_t n = solver->n;
    const double value = solver->value, norm = solver->norm;
    THR_TRY(find_step(solver, err));
    const double slope = thr_rank_inner(solver->gradient, solver->step, n);
    thr_status status = THR_OK;
    double fraction = 1;
    bool falls = false;
    memcpy(solver->p, solver->w, n * sizeof(double));
    for (uint32_t trial = 0; trial < MOST_TRIALS && !falls && status == THR_OK; trial++) {
        for (uint32_t d = 0; d < n; d++)
            solver->w[d] = solver->p[d] + fraction * solver->step[d];
        status = thr_rank_solver_evaluate(solver, true, err);
        falls = solver->value <= value + sufficient * fraction * slope + rounding * value;
        fraction *= 0.5;
    }
    *moved = falls && (solver->value < value || solver->norm < norm);
    if (status == THR_OK && *moved)
        return THR_OK;
    memcpy(solver->w, solver->p, n * sizeof(double)); /* no trial was accepted: back to the best w */
    solver->value = value;
    solver->norm = norm;
    return status;
}
