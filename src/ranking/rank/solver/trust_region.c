/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust_region.c - a step of the trust region method (RankSVM, algorithm 1; Lin, Weng and Keerthi 2008).
 *
 * Conjugate gradients stop when the residual is a tenth of the gradient, or at the region's boundary. The radius is
 * then adjusted by the ratio of f's decrease to the quadratic model's.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "rank/solver/solver.h"

enum { MOST_PRODUCTS = 1000 };        /* against an endless loop by rounding */
static const double rounding = 1e-13; /* relative to f: smaller changes are rounding errors */
static const double residual_share = 0.1;
/* The paper's eta, of actual over predicted decrease: reject the step, shrink the radius, keep it, grow it. */
static const double ETA0 = 1e-4, ETA1 = 0.25, ETA2 = 0.75;
/* The paper's sigma: factors by which a radius may change. */
static const double SIGMA1 = 0.25, SIGMA2 = 0.5, SIGMA3 = 4;

/* The length along p from the step to the boundary. */
static double distance_to_boundary(const thr_rank_solver *solver, double radius) {
    const double sp = thr_rank_inner(solver->step, solver->p, solver->n);
    const double pp = thr_rank_inner(solver->p, solver->p, solver->n);
    const double slack = radius * radius - thr_rank_inner(solver->step, solver->step, solver->n);
    const double root = sqrt(sp * sp + pp * slack);
    return sp >= 0 ? slack / (sp + root) : (root - sp) / pp;
}

static thr_status find_step(thr_rank_solver *solver, double radius, thr_error *err) {
    const uint32_t n = solver->n;
    memset(solver->step, 0, n * sizeof(double));
    for (uint32_t d = 0; d < n; d++)
        solver->r[d] = solver->p[d] = -solver->gradient[d];
    double rr = thr_rank_inner(solver->r, solver->r, n);
    const double enough = residual_share * residual_share * rr;
    bool inside = true;
    for (uint32_t i = 0; i < MOST_PRODUCTS && inside && rr > enough; i++) {
        THR_TRY(thr_rank_solver_product(solver, solver->p, solver->hp, err));
        const double whole = rr / thr_rank_inner(solver->p, solver->hp, n), edge = distance_to_boundary(solver, radius);
        inside = whole < edge;
        const double length = inside ? whole : edge;
        for (uint32_t d = 0; d < n; d++) {
            solver->step[d] += length * solver->p[d];
            solver->r[d] -= length * solver->hp[d];
        }
        const double before = rr;
        rr = thr_rank_inner(solver->r, solver->r, n);
        for (uint32_t d = 0; d < n; d++)
            solver->p[d] = solver->r[d] + rr / before * solver->p[d];
    }
    return THR_OK;
}

/* fall: f's decrease; wanted: the quadratic model's; scale: about the best length along the step, relative to it. */
static double next_radius(double radius, double length, double fall, double wanted, double scale) {
    if (fall < ETA0 * wanted)
        return fmin(fmax(scale, SIGMA1) * length, SIGMA2 * radius);
    if (fall < ETA1 * wanted)
        return fmax(SIGMA1 * radius, fmin(scale * length, SIGMA2 * radius));
    if (fall < ETA2 * wanted)
        return fmax(SIGMA1 * radius, fmin(scale * length, SIGMA3 * radius));
    return fmax(radius, fmin(scale * length, SIGMA3 * radius));
}

thr_status thr_rank_trust_step(thr_rank_solver *solver, double *radius, bool *moved, thr_error *err) {
    const uint32_t n = solver->n;
    const bool first = !(*radius > 0);
    if (first)
        *radius = solver->norm;
    THR_TRY(find_step(solver, *radius, err));
    const double slope = thr_rank_inner(solver->gradient, solver->step, n);
    const double wanted = -0.5 * (slope - thr_rank_inner(solver->step, solver->r, n));
    const double length = sqrt(thr_rank_inner(solver->step, solver->step, n));
    const double before = solver->value, norm = solver->norm;
    memcpy(solver->p, solver->w, n * sizeof(double));
    for (uint32_t d = 0; d < n; d++)
        solver->w[d] += solver->step[d];
    thr_status status = thr_rank_solver_evaluate(solver, false, err);
    const double fall = before - solver->value, bend = -fall - slope;
    const double scale = bend <= 0 ? SIGMA3 : fmax(SIGMA1, -0.5 * slope / bend);
    *radius = next_radius(first ? fmin(*radius, length) : *radius, length, fall, wanted, scale);
    *moved = true;
    const bool unseen = fabs(fall) <= rounding * before && solver->norm < norm;
    if (status == THR_OK && (fall > ETA0 * wanted || unseen))
        return THR_OK;
    memcpy(solver->w, solver->p, n * sizeof(double));
    solver->value = before;
    solver->norm = norm;
    *moved = wanted > rounding * before;
    /* products need an evaluation at this w */
    return status == THR_OK ? thr_rank_solver_evaluate(solver, false, err) : status;
}
