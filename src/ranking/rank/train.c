/* SPDX-License-Identifier: Apache-2.0 */
/* train.c - training a ranking model: options, costs, solver, report. */
#include "rank/train.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "rank/model.h"

enum { USUAL_STEPS = 200 };

static const double USUAL_EPSILON = 1e-5;

thr_status thr_rank_check_weights(const double *weights, const char *what, uint64_t n, thr_error *err) {
    for (uint64_t i = 0; i < n && weights != NULL; i++)
        if (!isfinite(weights[i]) || weights[i] < 0)
            return thr_fail(err, THR_EINVAL, "%s %llu of %llu has a weight of %g: choose 0 or more", what,
                            (unsigned long long)i, (unsigned long long)n, weights[i]);
    return THR_OK;
}

thr_status thr_rank_options_resolve(const thr_rank_options *given, const double *c, const thr_ranking_view *view,
                                    thr_rank_options *options, thr_error *err) {
    *options = given != NULL ? *given : (thr_rank_options){0};
    if (c != NULL)
        options->c = *c;
    else if (options->c == 0)
        options->c = 1;
    if (options->epsilon == 0)
        options->epsilon = USUAL_EPSILON;
    if (options->most_steps == 0)
        options->most_steps = USUAL_STEPS;
    if (!isfinite(options->c) || options->c <= 0)
        return thr_fail(err, THR_EINVAL, "C is %g: choose above 0", options->c);
    if (!(options->epsilon > 0 && options->epsilon < 1))
        return thr_fail(err, THR_EINVAL, "epsilon is %g: choose above 0, below 1", options->epsilon);
    THR_TRY(thr_check_enum((int)options->method, THR_RANK_SWEEP, "thr_rank_method", err));
    THR_TRY(thr_check_enum((int)options->scale, THR_RANK_SCALE_MEAN, "thr_rank_scale", err));
    if (options->start != NULL && options->start->n_features != view->n_features)
        return thr_fail(err, THR_EDIM, "the initial model has %u features, the rows have %u: they must be equal",
                        options->start->n_features, view->n_features);
    THR_TRY(thr_rank_check_weights(options->query_weights, "query", view->n_queries, err));
    return thr_rank_check_weights(options->row_weights, "row", view->n_rows, err);
}

void thr_rank_set_costs(thr_rank_problem *problem, const thr_rank_options *options, const bool *left_out) {
    const uint64_t n = problem->view.n_queries;
    double all = 0;
    for (uint64_t q = 0; q < n; q++)
        all += left_out == NULL || !left_out[q] ? thr_rank_pair_weight(problem, q) : 0;
    for (uint64_t q = 0; q < n; q++) {
        const double weight = options->query_weights != NULL ? options->query_weights[q] : 1;
        const double own = thr_rank_pair_weight(problem, q);
        double pairs = 1;
        if (options->scale == THR_RANK_SCALE_QUERY)
            pairs = own;
        else if (options->scale == THR_RANK_SCALE_MEAN)
            pairs = all;
        problem->costs[q] = (left_out != NULL && left_out[q]) || !(own > 0) ? 0 : options->c * weight / pairs;
    }
}

static thr_status check_costs(const thr_rank_problem *problem, thr_error *err) {
    for (uint64_t q = 0; q < problem->view.n_queries; q++)
        if (problem->costs[q] > 0)
            return THR_OK;
    return thr_fail(err, THR_EINVAL,
                    "all queries with pairs have weights of zero: give at least one of them a weight above 0");
}

static thr_status fill_report(thr_rank_solver *solver, bool converged, double seconds, thr_rank_report *report,
                              thr_error *err) {
    uint64_t n_right = 0;
    *report = (thr_rank_report){.objective = solver->value,
                                .gradient_norm = solver->norm,
                                .first_gradient_norm = solver->first_norm,
                                .seconds = seconds,
                                .product_seconds = solver->product_seconds,
                                .n_pairs = solver->problem->n_all_pairs,
                                .n_products = solver->n_products,
                                .n_steps = solver->n_steps,
                                .converged = converged};
    THR_TRY(thr_rank_dispatch_right_pairs(solver, &n_right, err));
    report->pairwise_accuracy = (double)n_right / (double)report->n_pairs;
    return THR_OK;
}

/* Train. leader: NULL if the problem has the rows, else the rows are in parts. start: the clock at the call. */
static thr_status train(thr_rank_problem *problem, thr_rank_leader *leader, const thr_rank_options *options,
                        double start, thr_rank_model **model, thr_rank_report *report, thr_error *err) {
    thr_rank_solver solver = {.problem = NULL};
    bool converged = false;
    thr_rank_set_costs(problem, options, NULL);
    THR_TRY(check_costs(problem, err));
    THR_TRY(thr_rank_solver_start(problem, &solver, err));
    thr_status status = THR_OK;
    solver.leader = leader;
    if (leader == NULL)
        THR_TRY_OUT(thr_rank_solver_choose_device(&solver, err));
    solver.epsilon = options->epsilon;
    solver.most_steps = options->most_steps;
    solver.on_step = options->on_step;
    solver.on_step_user = options->on_step_user;
    solver.started = start;
    if (options->start != NULL)
        memcpy(solver.w, options->start->weights, solver.n * sizeof(double));
    THR_TRY_OUT(thr_rank_model_make(problem->context, solver.n, model, err));
    status = thr_rank_solver_run(&solver, options->method, &converged, err);
    const bool cancelled = status == THR_ECANCELED && solver.n_steps > 0;
    if (status == THR_OK || cancelled) {
        memcpy((*model)->weights, solver.w, solver.n * sizeof(double));
        if (report != NULL && (leader == NULL || !cancelled))
            THR_TRY_OUT(fill_report(&solver, converged, thr_clock() - start, report, err));
    }
    if (cancelled)
        status = THR_ECANCELED;
out:
    if (status != THR_OK && !(status == THR_ECANCELED && solver.n_steps > 0)) {
        thr_rank_model_free(*model);
        *model = NULL;
    }
    thr_rank_solver_end(&solver);
    return status;
}

thr_status thr_rank_train(thr_context *context, const thr_ranking *ranking, const thr_rank_options *given,
                          thr_rank_model **model, thr_rank_report *report, thr_error *err) {
    const double start = thr_clock();
    const thr_ranking_view view = thr_ranking_get_view(ranking);
    thr_rank_problem *problem = NULL;
    thr_rank_options options;
    *model = NULL;
    if (report != NULL)
        *report = (thr_rank_report){.n_pairs = 0};
    THR_TRY(thr_rank_options_resolve(given, NULL, &view, &options, err));
    THR_TRY(thr_rank_problem_create(context, &view, options.row_weights, &problem, err));
    const thr_status status = train(problem, NULL, &options, start, model, report, err);
    thr_rank_problem_free(problem);
    return status;
}

thr_status thr_rank_train_parts(thr_context *context, const thr_rank_parts *parts, const thr_rank_options *given,
                                thr_rank_model **model, thr_rank_report *report, thr_error *err) {
    const double start = thr_clock();
    thr_rank_leader leader;
    thr_rank_options options;
    *model = NULL;
    if (report != NULL)
        *report = (thr_rank_report){.n_pairs = 0};
    THR_TRY(thr_rank_leader_start(context, parts, &leader, err));
    thr_ranking_view view = leader.problem->view;
    view.n_rows = 0; /* the number of row weights to check: the leader has none */
    thr_status status = thr_rank_options_resolve(given, NULL, &view, &options, err);
    if (status == THR_OK && options.row_weights != NULL)
        status = thr_fail(err, THR_EINVAL,
                          "options->row_weights: give row weights to thr_rank_part_create, not to the leader");
    if (status == THR_OK)
        status = train(leader.problem, &leader, &options, start, model, report, err);
    thr_rank_leader_end(&leader);
    return status;
}
