/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cross_validate.c - cross-validation: queries are divided into folds; while a model trains on the other folds, the
 * queries of one fold have cost 0.
 */
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "rank/train.h"

static thr_status check_c_values(const double *cs, size_t n_cs, thr_error *err) {
    if (n_cs == 0)
        return thr_fail(err, THR_EINVAL, "no values of C: give one or more");
    for (size_t i = 1; i < n_cs; i++)
        if (!(cs[i] > cs[i - 1]))
            return thr_fail(err, THR_EINVAL, "C %g comes after %g: give values in ascending order", cs[i], cs[i - 1]);
    return THR_OK;
}

/* Shuffle the queries that have pairs and assign them to the folds in turn, so that no fold is empty. */
static thr_status assign_folds(const thr_rank_problem *problem, uint32_t n_folds, uint64_t seed, uint32_t *fold_of,
                               thr_error *err) {
    uint64_t *queries = NULL, n = 0;
    for (uint64_t q = 0; q < problem->view.n_queries; q++)
        n += problem->n_pairs[q] != 0;
    if (n_folds < 2 || n_folds > n)
        return thr_fail(err, THR_EINVAL, "%u folds of %llu queries with pairs: choose 2 to %llu", n_folds,
                        (unsigned long long)n, (unsigned long long)n);
    n = 0;
    THR_TRY(thr_alloc(problem->context, (size_t)problem->view.n_queries, sizeof *queries, &queries,
                      "an order of queries", err));
    for (uint64_t q = 0; q < problem->view.n_queries; q++) {
        fold_of[q] = 0;
        if (problem->n_pairs[q] != 0)
            queries[n++] = q;
    }
    for (uint64_t i = n; i > 1; i--) {
        const uint64_t other = thr_rng_below(&seed, i), query = queries[i - 1];
        queries[i - 1] = queries[other];
        queries[other] = query;
    }
    for (uint64_t i = 0; i < n; i++)
        fold_of[queries[i]] = (uint32_t)(i % n_folds);
    thr_release(problem->context, queries);
    return THR_OK;
}

typedef struct cross_validation {
    thr_rank_solver solver;
    thr_rank_options options;
    const thr_rank_folds *folds;
    uint32_t *fold_of; /* of every query */
    bool *left_out;    /* of every query: whether it is in the current fold */
} cross_validation;

/* For every C, train on the other folds and count this fold's correctly ordered pairs. */
static thr_status score_fold(cross_validation *j, uint64_t *n_pairs, thr_error *err) {
    thr_rank_solver *solver = &j->solver;
    bool converged = false;
    memset(solver->w, 0, solver->n * sizeof(double));
    for (size_t i = 0; i < j->folds->n_cs; i++) {
        j->options.c = j->folds->cs[i];
        thr_rank_set_costs(solver->problem, &j->options, j->left_out);
        THR_TRY(thr_rank_solver_run(solver, j->options.method, &converged, err));
        j->folds->accuracies[i] += (double)thr_rank_right_pairs(solver->problem, solver->w, j->left_out, n_pairs);
    }
    return THR_OK;
}

static thr_status score_all(cross_validation *j, thr_error *err) {
    const thr_rank_folds *folds = j->folds;
    uint64_t all = 0;
    for (size_t i = 0; i < folds->n_cs; i++)
        folds->accuracies[i] = 0;
    for (uint32_t fold = 0; fold < folds->n_folds; fold++) {
        uint64_t n_pairs = 0;
        for (uint64_t q = 0; q < j->solver.problem->view.n_queries; q++)
            j->left_out[q] = j->fold_of[q] == fold;
        THR_TRY(score_fold(j, &n_pairs, err));
        all += n_pairs;
    }
    for (size_t i = 0; i < folds->n_cs; i++)
        folds->accuracies[i] /= (double)all;
    return THR_OK;
}

thr_status thr_rank_cross_validate(thr_context *context, const thr_ranking *ranking, const thr_rank_options *given,
                                   const thr_rank_folds *folds, thr_error *err) {
    const thr_ranking_view view = thr_ranking_get_view(ranking);
    thr_rank_problem *problem = NULL;
    cross_validation j = {.solver = {.problem = NULL}, .folds = folds};
    THR_TRY(check_c_values(folds->cs, folds->n_cs, err));
    for (size_t i = 0; i < folds->n_cs; i++)
        THR_TRY(thr_rank_options_resolve(given, &folds->cs[i], &view, &j.options, err));
    thr_status status = thr_rank_problem_create(context, &view, j.options.row_weights, &problem, err);
    if (status != THR_OK)
        return status;
    THR_TRY_OUT(thr_rank_solver_start(problem, &j.solver, err));
    THR_TRY_OUT(thr_rank_solver_choose_device(&j.solver, err));
    j.solver.epsilon = j.options.epsilon;
    j.solver.most_steps = j.options.most_steps;
    THR_TRY_OUT(thr_alloc(context, (size_t)view.n_queries, sizeof *j.fold_of, &j.fold_of, "folds of queries", err));
    THR_TRY_OUT(thr_alloc(context, (size_t)view.n_queries, sizeof *j.left_out, &j.left_out, "folds of queries", err));
    THR_TRY_OUT(assign_folds(problem, folds->n_folds, folds->seed, j.fold_of, err));
    status = score_all(&j, err);
out:
    THR_RELEASE(context, j.left_out, j.fold_of);
    thr_rank_solver_end(&j.solver);
    thr_rank_problem_free(problem);
    return status;
}
