/* SPDX-License-Identifier: Apache-2.0 */
/* solver.c - what both methods share: memory, evaluations, the starting point, and when to stop. */
#include "rank/solver/solver.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"

thr_status thr_rank_solver_start(thr_rank_problem *problem, thr_rank_solver *solver, thr_error *err) {
    *solver = (thr_rank_solver){.problem = problem, .n = problem->view.n_features};
    double **const vectors[] = {&solver->w, &solver->gradient, &solver->step, &solver->diagonal,
                                &solver->r, &solver->z,        &solver->p,    &solver->hp};
    thr_status status = THR_OK;
    thr_device_policy_start(&solver->on_device, problem->context);
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors && status == THR_OK; i++)
        status = thr_alloc_zero(problem->context, solver->n, sizeof(double), vectors[i], "vectors of a solver", err);
    if (status == THR_OK)
        status = thr_alloc(problem->context, (size_t)problem->view.n_queries, sizeof(double), &solver->costs,
                           "costs of queries", err);
    if (status == THR_OK)
        status = thr_rank_preconditioner_start(problem, &solver->preconditioner, err);
    if (status != THR_OK)
        thr_rank_solver_end(solver);
    return status;
}

void thr_rank_solver_end(thr_rank_solver *solver) {
    if (solver->problem == NULL)
        return;
    thr_context *context = solver->problem->context;
    thr_device_policy_end(&solver->on_device);
    thr_rank_preconditioner_end(&solver->preconditioner);
    THR_RELEASE(context, solver->device_w, solver->costs, solver->w, solver->gradient, solver->step, solver->diagonal,
                solver->r, solver->z, solver->p, solver->hp);
    *solver = (thr_rank_solver){.problem = NULL};
}

/*
 * Evaluate at 0, because epsilon is relative to the norm of the gradient at 0 for every start; then at w.
 */
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
                        "the features do not predict the labels: over all pairs, those of better rows are as large as "
                        "those of worse ones, and 0 is the best model; use other features");
    return THR_OK;
}

static void report_step(const thr_rank_solver *solver) {
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

/* Take steps until the gradient is epsilon times the first one, or no step makes progress. */
static thr_status minimise(thr_rank_solver *solver, bool searches, thr_error *err) {
    double radius = 0;
    bool moved = true;
    while (moved && solver->n_steps < solver->most_steps && solver->norm > solver->epsilon * solver->first_norm) {
        THR_TRY(searches ? thr_rank_newton_step(solver, &moved, err)
                         : thr_rank_trust_step(solver, &radius, &moved, err));
        solver->n_steps += moved;
        if (moved)
            report_step(solver);
    }
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ starting point */

/*
 * With many queries, first solve for every SUBSET-th of them: its minimum is close to that of all, at a fraction of the
 * work, and saves two or three steps over all queries. The data alone determines the subset. Its costs are scaled up by
 * SUBSET to keep the balance with |w|^2.
 */
enum { SUBSET = 16, LEAST_QUERIES = 16 /* queries of the subset */ };
static const double subset_epsilon = 0.02;

static bool select_subset(thr_rank_problem *problem, double *costs) {
    uint64_t n = 0, place = 0;
    for (uint64_t q = 0; q < problem->view.n_queries; q++)
        n += problem->n_pairs[q] != 0 && problem->costs[q] > 0;
    if (n < SUBSET * LEAST_QUERIES)
        return false;
    for (uint64_t q = 0; q < problem->view.n_queries; q++) {
        costs[q] = problem->costs[q];
        const bool is_in = problem->n_pairs[q] != 0 && costs[q] > 0 && place++ % SUBSET == 0;
        problem->costs[q] = is_in ? SUBSET * costs[q] : 0;
    }
    return true;
}

/* Move from w = 0 to the minimum of a subset. Its steps and products are neither counted nor reported. */
static thr_status solve_subset(thr_rank_solver *solver, thr_error *err) {
    thr_rank_problem *problem = solver->problem;
    const double epsilon = solver->epsilon, first_norm = solver->first_norm, product_seconds = solver->product_seconds;
    const uint64_t n_products = solver->n_products;
    const thr_rank_step_fn on_step = solver->on_step;
    if (!select_subset(problem, solver->costs))
        return THR_OK;
    thr_status status = thr_rank_solver_evaluate(solver, true, err);
    solver->epsilon = subset_epsilon;
    solver->first_norm = solver->norm;
    solver->on_step = NULL;
    if (status == THR_OK)
        status = minimise(solver, true, err);
    solver->on_step = on_step;
    memcpy(problem->costs, solver->costs, (size_t)problem->view.n_queries * sizeof(double));
    solver->epsilon = epsilon;
    solver->first_norm = first_norm;
    solver->n_steps = 0;
    solver->n_products = n_products;
    solver->product_seconds = product_seconds;
    return status == THR_OK ? thr_rank_solver_evaluate(solver, true, err) : status;
}

/* ------------------------------------------------------------------------------------------------ run */

thr_status thr_rank_solver_run(thr_rank_solver *solver, thr_rank_method method, bool *converged, thr_error *err) {
    const bool searches = method == THR_RANK_LINE_SEARCH;
    const bool warm = thr_rank_inner(solver->w, solver->w, solver->n) > 0;
    solver->progress = thr_progress_start(solver->problem->context, "rank", 0);
    solver->n_steps = 0;
    solver->n_products = solver->n_readings = 0;
    solver->product_seconds = 0;
    *converged = false;
    THR_TRY(thr_rank_problem_sweep(solver->problem, method == THR_RANK_SWEEP, err));
    THR_TRY(evaluate_first(solver, searches, err));
    report_step(solver);
    if (searches && !warm)
        THR_TRY(solve_subset(solver, err));
    THR_TRY(minimise(solver, searches, err));
    *converged = solver->norm <= solver->epsilon * solver->first_norm;
    /* training is complete: a request to cancel comes too late */
    (void)thr_progress_end(&solver->progress, solver->n_readings, err);
    return THR_OK;
}
