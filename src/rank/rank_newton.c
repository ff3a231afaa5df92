/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_newton.c - a Newton step by preconditioned conjugate gradients, and the search along it.
 *
 * H step = -gradient is solved until the residual, measured by the preconditioner, is a share of the gradient's: a
 * tenth at first, less as the gradient falls, so that the last steps are as exact as they must be and the first ones
 * cheap. Along the step only scores change: a trial needs no reading of X.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "rank/rank_solver.h"

enum { MOST_PRODUCTS = 1000, MOST_TRIALS = 40 };
static const double loosest = 0.1;     /* share of the residual */
static const double sufficient = 0.01; /* share of the slope that f must fall by */
static const double rounding = 1e-13;  /* of f: falls below that are not seen */

/* z = r by the preconditioner; r z. */
static double precondition(thr_rank_solver *solver) {
    for (uint32_t d = 0; d < solver->n; d++)
        solver->z[d] = solver->r[d] / solver->diagonal[d];
    return thr_rank_inner(solver->r, solver->z, solver->n);
}

static thr_status find_step(thr_rank_solver *solver, thr_error *err) {
    const uint32_t n = solver->n;
    const double progress = sqrt(solver->norm / solver->first_norm), share = progress < loosest ? progress : loosest;
    memset(solver->step, 0, n * sizeof(double));
    for (uint32_t d = 0; d < n; d++)
        solver->r[d] = -solver->gradient[d];
    double rz = precondition(solver);
    const double enough = share * share * rz;
    memcpy(solver->p, solver->z, n * sizeof(double));
    for (uint32_t i = 0; i < MOST_PRODUCTS && rz > enough; i++) {
        THR_TRY(thr_rank_solver_product(solver, solver->p, solver->hp, err));
        const double length = rz / thr_rank_inner(solver->p, solver->hp, n); /* H is 1 at least: above 0 */
        for (uint32_t d = 0; d < n; d++) {
            solver->step[d] += length * solver->p[d];
            solver->r[d] -= length * solver->hp[d];
        }
        const double before = rz;
        rz = precondition(solver);
        for (uint32_t d = 0; d < n; d++)
            solver->p[d] = solver->z[d] + rz / before * solver->p[d];
    }
    return THR_OK;
}

/* The longest of 1, 1/2, 1/4, ... that makes f fall enough; 0 where none does. */
static thr_status search(thr_rank_solver *solver, double *length, thr_error *err) {
    const double slope = thr_rank_inner(solver->gradient, solver->step, solver->n);
    const double ww = thr_rank_inner(solver->w, solver->w, solver->n);
    const double ws = thr_rank_inner(solver->w, solver->step, solver->n);
    const double ss = thr_rank_inner(solver->step, solver->step, solver->n);
    thr_rank_aim(solver->problem, solver->step);
    THR_TRY(thr_rank_solver_read(solver, err));
    double part = 1;
    for (uint32_t trial = 0; trial < MOST_TRIALS; trial++) {
        const double norm = ww + part * (2 * ws + part * ss);
        const double value = 0.5 * norm + thr_rank_costs_along(solver->problem, part);
        if (value <= solver->value + sufficient * part * slope + rounding * solver->value) {
            *length = part;
            return THR_OK;
        }
        part *= 0.5;
    }
    *length = 0;
    return THR_OK;
}

thr_status thr_rank_newton_step(thr_rank_solver *solver, bool *moved, thr_error *err) {
    const uint32_t n = solver->n;
    const double value = solver->value, norm = solver->norm;
    double length = 0;
    THR_TRY(find_step(solver, err));
    THR_TRY(search(solver, &length, err));
    memcpy(solver->p, solver->w, n * sizeof(double));
    for (uint32_t d = 0; d < n; d++)
        solver->w[d] += length * solver->step[d];
    const thr_status status = thr_rank_solver_evaluate(solver, true, err);
    *moved = length > 0 && (solver->value < value || solver->norm < norm);
    if (status == THR_OK && *moved)
        return THR_OK;
    memcpy(solver->w, solver->p, n * sizeof(double)); /* the best one stays */
    solver->value = value;
    solver->norm = norm;
    return status;
}
