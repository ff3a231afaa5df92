/* SPDX-License-Identifier: Apache-2.0 */
/* What both methods share: memory, evaluations, and when to stop. */
#include "rank/rank_solver.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"

thr_status thr_rank_solver_start(thr_rank_problem *problem, thr_rank_solver *solver, thr_error *err) {
    *solver = (thr_rank_solver){.problem = problem, .n = problem->view.n_features};
    double **const vectors[] = {&solver->w, &solver->gradient, &solver->step, &solver->diagonal,
                                &solver->r, &solver->z,        &solver->p,    &solver->hp};
    thr_status status = THR_OK;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors && status == THR_OK; i++)
        status = thr_alloc_zero(problem->context, solver->n, sizeof(double), vectors[i], "vectors of a solver", err);
    if (status != THR_OK)
        thr_rank_solver_end(solver);
    return status;
}

void thr_rank_solver_end(thr_rank_solver *solver) {
    if (solver->problem == NULL)
        return;
    thr_context *context = solver->problem->context;
    thr_release(context, solver->w);
    thr_release(context, solver->gradient);
    thr_release(context, solver->step);
    thr_release(context, solver->diagonal);
    thr_release(context, solver->r);
    thr_release(context, solver->z);
    thr_release(context, solver->p);
    thr_release(context, solver->hp);
    *solver = (thr_rank_solver){.problem = NULL};
}

thr_status thr_rank_solver_read(thr_rank_solver *solver, thr_error *err) {
    return thr_progress_step(&solver->progress, ++solver->n_readings, err);
}

thr_status thr_rank_solver_product(thr_rank_solver *solver, const double *v, double *out, thr_error *err) {
    const double start = thr_clock();
    thr_rank_product(solver->problem, v, out);
    solver->product_seconds += thr_clock() - start;
    solver->n_products++;
    return thr_rank_solver_read(solver, err);
}

thr_status thr_rank_solver_evaluate(thr_rank_solver *solver, bool diagonal, thr_error *err) {
    solver->value = thr_rank_evaluate(solver->problem, solver->w, solver->gradient, diagonal ? solver->diagonal : NULL);
    solver->norm = sqrt(thr_rank_inner(solver->gradient, solver->gradient, solver->n));
    for (uint32_t d = 0; d < solver->n && diagonal; d++)
        solver->diagonal[d] = 0.99 + 0.01 * solver->diagonal[d];
    if (!isfinite(solver->value) || !isfinite(solver->norm))
        return thr_fail(err, THR_ERANGE,
                        "the objective is %g and its gradient %g: features or C are too large; scale them down",
                        solver->value, solver->norm);
    return thr_rank_solver_read(solver, err);
}

/* |gradient| at 0, which epsilon is a share of wherever the solver starts; then f at w. */
static thr_status evaluate_first(thr_rank_solver *solver, bool diagonal, thr_error *err) {
    const bool warm = thr_rank_inner(solver->w, solver->w, solver->n) > 0;
    if (warm) {
        memcpy(solver->p, solver->w, solver->n * sizeof(double));
        memset(solver->w, 0, solver->n * sizeof(double));
        const thr_status status = thr_rank_solver_evaluate(solver, false, err);
        memcpy(solver->w, solver->p, solver->n * sizeof(double));
        THR_TRY(status);
        solver->first_norm = solver->norm;
    }
    THR_TRY(thr_rank_solver_evaluate(solver, diagonal, err));
    if (!warm)
        solver->first_norm = solver->norm;
    if (!(solver->first_norm > 0))
        return thr_fail(err, THR_EINVAL,
                        "the features tell nothing of the labels: over all pairs, those of better rows are as large as "
                        "those of worse ones, and 0 is the best model; give other features");
    return THR_OK;
}

static void tell_step(const thr_rank_solver *solver) {
    if (solver->on_step == NULL)
        return;
    const thr_rank_step step = {.objective = solver->value,
                                .gradient_norm = solver->norm,
                                .first_gradient_norm = solver->first_norm,
                                .seconds = thr_clock() - solver->started,
                                .n_products = solver->n_products,
                                .step = solver->n_steps};
    solver->on_step(solver->on_step_user, &step);
}

thr_status thr_rank_solver_run(thr_rank_solver *solver, thr_rank_method method, bool *converged, thr_error *err) {
    const bool searches = method == THR_RANK_LINE_SEARCH;
    double radius = 0;
    bool moved = true;
    solver->progress = thr_progress_start(solver->problem->context, "rank", 0);
    solver->n_steps = 0;
    solver->n_products = solver->n_readings = 0;
    solver->product_seconds = 0;
    *converged = false;
    THR_TRY(evaluate_first(solver, searches, err));
    tell_step(solver);
    while (moved && solver->n_steps < solver->most_steps) {
        *converged = solver->norm <= solver->epsilon * solver->first_norm;
        if (*converged)
            break;
        THR_TRY(searches ? thr_rank_newton_step(solver, &moved, err)
                         : thr_rank_trust_step(solver, &radius, &moved, err));
        solver->n_steps += moved;
        if (moved)
            tell_step(solver);
    }
    *converged = solver->norm <= solver->epsilon * solver->first_norm;
    (void)thr_progress_end(&solver->progress, solver->n_readings, err); /* it is done, whatever the answer */
    return THR_OK;
}
