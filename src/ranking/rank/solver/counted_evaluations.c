/* SPDX-License-Identifier: Apache-2.0 */
/* counted_evaluations.c - counts and times what dispatch.c evaluates: the objective at w, products with its Hessian. */
#include <math.h>

#include "base/clock.h"
#include "base/error.h"
#include "rank/solver/solver.h"

thr_status thr_rank_solver_count_pass(thr_rank_solver *solver, thr_error *err) {
    return thr_progress_step(&solver->progress, ++solver->n_readings, err);
}

thr_status thr_rank_solver_product(thr_rank_solver *solver, const double *v, double *out, thr_error *err) {
    const double start = thr_clock();
    THR_TRY(thr_rank_dispatch_product(solver, v, out, err));
    solver->product_seconds += thr_clock() - start;
    solver->n_products++;
    return thr_rank_solver_count_pass(solver, err);
}

thr_status thr_rank_solver_evaluate(thr_rank_solver *solver, bool diagonal, thr_error *err) {
    THR_TRY(thr_rank_dispatch_evaluate(solver, solver->gradient,
                                       diagonal && solver->preconditioner.is_diagonal ? solver->diagonal : NULL,
                                       &solver->value, err));
    solver->norm = sqrt(thr_rank_inner(solver->gradient, solver->gradient, solver->n));
    if (!isfinite(solver->value) || !isfinite(solver->norm))
        return thr_fail(err, THR_ERANGE,
                        "the objective is %g and its gradient %g: features or C are too large; scale them down",
                        solver->value, solver->norm);
    return thr_rank_solver_count_pass(solver, err);
}
