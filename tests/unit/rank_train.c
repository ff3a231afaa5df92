/* SPDX-License-Identifier: Apache-2.0 */
/* rank_train.c - RankSVM's least by both methods against a naive solver; warm starts, costs, folds. */
#include "test.h"

#include "pairs.h"

#include <thresher/rank.h>

#include "rank/solver/solver.h"

TEST_OWNABLE(thr_rank_problem)

enum { ROUNDS = 24, N_METHODS = 3 };

static const char *const METHODS[N_METHODS] = {"line search", "trust region", "sweep"};

/* The ranking as thr_ranking_from_matrix or _csr has it. */
static thr_ranking *open_ranking(thr_context *context, const test_ranking *made) {
    const thr_ranking_view *view = &made->view;
    uint64_t *queries = test_new(view->n_rows, sizeof *queries);
    thr_ranking *ranking = NULL;
    for (uint64_t q = 0; q < view->n_queries; q++)
        for (uint64_t r = view->offsets[q]; r < view->offsets[q + 1]; r++)
            queries[r] = q;
    const thr_matrix dense = thr_matrix_f32(made->dense, view->n_rows, view->n_features);
    expect_ok(view->dense != NULL
                  ? thr_ranking_from_matrix(context, &dense, view->labels, queries, &ranking, &err)
                  : thr_ranking_from_csr(context, &view->sparse, view->labels, queries, &ranking, &err));
    return ranking;
}

static test_ranking *some_ranking(uint64_t *rng, uint32_t n_features, test_labels labels, bool sparse) {
    test_ranking *made = NULL;
    do {
        const uint64_t n_queries = 2 + thr_rng_below(rng, 6);
        const uint32_t longest = 3 + (uint32_t)thr_rng_below(rng, 25);
        made = test_ranking_make(rng, n_queries, longest, n_features, labels, sparse);
    } while (test_pairs_count(made) == 0);
    return made;
}

/*
 * f bends by 1 at least everywhere, so it is at most half the gradient's square above its least; of features that part
 * all pairs, f is so small that this shows.
 */
static void assert_least(const thr_rank_report *report, double least, const char *what) {
    const double room = 1e-9 * least, above = 0.5 * report->gradient_norm * report->gradient_norm;
    assert_case(report->objective >= least - room && report->objective <= least + above + room,
                "%s: %.17g, the least is %.17g, gradient %g", what, report->objective, least, report->gradient_norm);
}

/* Train by one method; the report is that of the model, and the objective is the least. */
static void check_method(const test_ranking *made, const thr_ranking *ranking, thr_context *context, unsigned method,
                         double c, const double *costs, double least) {
    thr_rank_options options = {0};
    OWNED(thr_rank_model, model) = NULL;
    thr_rank_report report;
    options.c = c;
    options.epsilon = 1e-8;
    options.most_steps = 1000;
    options.method = (thr_rank_method)method;
    expect_ok(thr_rank_train(context, ranking, &options, &model, &report, &err));
    assert_case(report.converged && report.gradient_norm <= 1e-8 * report.first_gradient_norm,
                "method %u: gradient %g of %g after %u steps", method, report.gradient_norm, report.first_gradient_norm,
                report.n_steps);
    assert_least(&report, least, METHODS[method]);
    const double own = test_pairs_value(made, costs, thr_rank_model_weights(model));
    assert_case(fabs(report.objective - own) <= 1e-10 * own, "reported %.17g, is %.17g", report.objective, own);
    assert_int_equal(report.n_pairs, test_pairs_count(made));
    const uint64_t right = test_pairs_right(made, thr_rank_model_weights(model));
    assert_true(report.pairwise_accuracy == (double)right / (double)report.n_pairs);
}

RANDOM_TEST(the_least_is_that_of_a_naive_solver) {
    thr_context *context = test_new_context(2);
    for (unsigned round = 0; round < ROUNDS; round++) {
        const uint32_t n = 1 + (uint32_t)thr_rng_below(&rng, 7);
        const test_labels labels = round % 4 == 3 ? TEST_LABELS_MIXED : (test_labels)(round % 4);
        test_ranking *made = some_ranking(&rng, n, labels, round % 2 != 0);
        OWNED(thr_ranking, ranking) = open_ranking(context, made);
        double *costs = test_new(made->view.n_queries, sizeof *costs), *w = test_new(n, sizeof *w);
        static const double cs[] = {0.001, 1, 30};
        for (uint64_t q = 0; q < made->view.n_queries; q++)
            costs[q] = cs[round % 3];
        const double least = test_pairs_solve(made, costs, w);
        for (unsigned method = 0; method < N_METHODS; method++)
            check_method(made, ranking, context, method, cs[round % 3], costs, least);
    }
}

static thr_rank_model *train(thr_context *context, const thr_ranking *ranking, const thr_rank_options *options,
                             thr_rank_report *report) {
    thr_rank_model *model = NULL;
    expect_ok(thr_rank_train(context, ranking, options, &model, report, &err));
    return model;
}

/* So many queries that a part of them is solved first; with one method, none are. */
RANDOM_TEST(many_queries_have_the_least_of_all) {
    thr_context *contexts[] = {test_context(1, THR_ISA_BEST, NULL), test_context(3, THR_ISA_SCALAR, NULL)};
    test_ranking *made = test_ranking_make(&rng, 900, 8, 6, TEST_LABELS_MIXED, false);
    double *costs = test_new(made->view.n_queries, sizeof *costs), w[6] = {0};
    thr_rank_options options = {0};
    thr_rank_model *models[3];
    options.c = 0.1;
    options.epsilon = 1e-8;
    for (uint64_t q = 0; q < made->view.n_queries; q++)
        costs[q] = options.c;
    const double least = test_pairs_solve(made, costs, w);
    for (unsigned i = 0; i < 3; i++) {
        thr_ranking *ranking = open_ranking(contexts[i % 2], made);
        thr_rank_report report;
        options.method = i == 2 ? THR_RANK_TRUST_REGION : THR_RANK_LINE_SEARCH;
        models[i] = train(contexts[i % 2], ranking, &options, &report);
        assert_true(report.converged);
        assert_least(&report, least, "many queries");
        thr_ranking_free(ranking);
    }
    assert_memory_equal(thr_rank_model_weights(models[0]), thr_rank_model_weights(models[1]), 6 * sizeof(double));
    for (unsigned i = 0; i < 3; i++)
        thr_rank_model_free(models[i]);
    thr_context_free(contexts[0]);
    thr_context_free(contexts[1]);
}

/* Features that are mixed of others on scales of their own: M has their correlations, scales alone are not enough. */
RANDOM_TEST(features_that_go_together_take_few_products) {
    enum { N = 24 };
    thr_context *context = test_new_context(1);
    test_ranking *made = test_ranking_make(&rng, 200, 40, N, TEST_LABELS_FEW, false);
    float mix[N][N], source[N];
    for (uint32_t i = 0; i < N * N; i++)
        mix[i / N][i % N] = test_normal(&rng) * powf(10, -(float)(i % N) / 6);
    for (uint64_t r = 0; r < made->view.n_rows; r++) {
        for (uint32_t k = 0; k < N; k++)
            source[k] = test_normal(&rng);
        for (uint32_t d = 0; d < N; d++) {
            made->dense[N * r + d] = 0;
            for (uint32_t k = 0; k < N; k++)
                made->dense[N * r + d] += mix[d][k] * source[k];
        }
    }
    OWNED(thr_ranking, ranking) = open_ranking(context, made);
    thr_rank_options options = {0};
    thr_rank_report report;
    options.c = 1000;
    options.epsilon = 1e-9;
    thr_rank_model_free(train(context, ranking, &options, &report));
    assert_case(report.converged && report.n_products <= 10 * (uint64_t)report.n_steps, "%llu products in %u steps",
                (unsigned long long)report.n_products, report.n_steps);
}

typedef struct told_steps {
    thr_rank_step steps[64];
    uint32_t n;
} told_steps;

static void note_step(void *user, const thr_rank_step *step) {
    told_steps *told = user;
    assert_true(told->n < 64);
    told->steps[told->n++] = *step;
}

RANDOM_TEST(every_step_is_reported) {
    thr_context *context = test_new_context(1);
    test_ranking *made = test_ranking_make(&rng, 20, 30, 8, TEST_LABELS_FEW, false);
    OWNED(thr_ranking, ranking) = open_ranking(context, made);
    for (unsigned method = 0; method < N_METHODS; method++) {
        static told_steps told;
        thr_rank_options options = {0};
        thr_rank_report report, until;
        options.method = (thr_rank_method)method;
        options.on_step = note_step;
        options.on_step_user = &told;
        told.n = 0;
        thr_rank_model_free(train(context, ranking, &options, &report));
        assert_int_equal(told.n, report.n_steps + 1);
        assert_true(told.steps[report.n_steps].objective == report.objective);
        assert_true(told.steps[report.n_steps].gradient_norm == report.gradient_norm);
        assert_int_equal(told.steps[report.n_steps].n_products, report.n_products);
        assert_true(told.steps[report.n_steps].seconds <= report.seconds);
        assert_true(told.steps[0].gradient_norm == report.first_gradient_norm && told.steps[0].n_products == 0);
        options.on_step = NULL;
        for (uint32_t i = 0; i < told.n; i++) { /* one that stops there has the same objective */
            assert_int_equal(told.steps[i].step, i);
            assert_true(told.steps[i].first_gradient_norm == report.first_gradient_norm);
            assert_true(i == 0 || told.steps[i].seconds >= told.steps[i - 1].seconds);
            options.most_steps = i;
            if (i > 0)
                thr_rank_model_free(train(context, ranking, &options, &until));
            assert_true(i == 0 || until.objective == told.steps[i].objective);
        }
    }
}

RANDOM_TEST(a_model_to_start_with_saves_steps) {
    thr_context *context = test_new_context(1);
    test_ranking *made = test_ranking_make(&rng, 20, 30, 8, TEST_LABELS_FEW, false);
    OWNED(thr_ranking, ranking) = open_ranking(context, made);
    thr_rank_options options = {0};
    thr_rank_report cold, warm;
    thr_rank_model *model = train(context, ranking, &options, &cold), *again = NULL;
    assert_true(cold.n_steps > 1 && cold.n_products > cold.n_steps);
    options.start = model;
    again = train(context, ranking, &options, &warm);
    assert_int_equal(warm.n_steps, 0);
    assert_memory_equal(&warm.first_gradient_norm, &cold.first_gradient_norm, sizeof(double));
    assert_memory_equal(thr_rank_model_weights(model), thr_rank_model_weights(again), 8 * sizeof(double));

    OWNED(thr_rank_model, narrow) = NULL;
    expect_ok(thr_rank_model_from_weights(context, thr_rank_model_weights(model), 7, &narrow, &err));
    options.start = narrow;
    thr_rank_model *none = model;
    expect_error(thr_rank_train(context, ranking, &options, &none, NULL, &err), THR_EDIM,
                 "the initial model has 7 features, the rows have 8");
    assert_null(none);
    thr_rank_model_free(again);
    thr_rank_model_free(model);
}

/* Scales only change costs, and so do weights: a weight of 2 is a query that is there twice. */
RANDOM_TEST(scales_and_weights_are_costs) {
    thr_context *context = test_new_context(1);
    test_ranking *made = some_ranking(&rng, 5, TEST_LABELS_ALL, false);
    OWNED(thr_ranking, ranking) = open_ranking(context, made);
    const uint64_t n = made->view.n_queries;
    double *costs = test_new(n, sizeof *costs), *weights = test_new(n, sizeof *weights);
    for (unsigned scale = 0; scale < 3; scale++) {
        thr_rank_options options = {0};
        thr_rank_report report;
        double w[5] = {0};
        options.c = 3;
        options.epsilon = 1e-8;
        options.scale = (thr_rank_scale)scale;
        options.query_weights = weights;
        for (uint64_t q = 0; q < n; q++) {
            const double rows = (double)(made->view.offsets[q + 1] - made->view.offsets[q]);
            const double pairs[] = {1, rows * (rows - 1) / 2, (double)test_pairs_count(made)};
            weights[q] = (double)(q % 3);
            costs[q] = 3 * weights[q] / pairs[scale];
        }
        OWNED(thr_rank_model, model) = train(context, ranking, &options, &report);
        const double least = test_pairs_solve(made, costs, w);
        assert_least(&report, least, "a scale");
    }
}

/* Each row of a ranking, repeated by its weight. */
static test_ranking *repeat(const test_ranking *made, const double *weights, uint32_t n_features) {
    test_ranking *copies = test_new(1, sizeof *copies);
    const thr_ranking_view *view = &made->view;
    copies->offsets = test_new(view->n_queries + 1, sizeof(uint64_t));
    copies->queries = test_new(view->n_queries, sizeof(uint64_t));
    copies->labels = test_new(3 * view->n_rows, sizeof(double));
    copies->dense = test_new(3 * view->n_rows * n_features, sizeof(float));
    uint64_t n = 0;
    for (uint64_t q = 0; q < view->n_queries; q++) {
        copies->offsets[q] = n;
        for (uint64_t r = view->offsets[q]; r < view->offsets[q + 1]; r++)
            for (double copy = 0; copy < weights[r]; copy++, n++) {
                copies->labels[n] = made->labels[r];
                memcpy(copies->dense + n * n_features, made->dense + r * n_features, n_features * sizeof(float));
            }
    }
    copies->offsets[view->n_queries] = n;
    copies->view = *view;
    copies->view.n_rows = n;
    copies->view.offsets = copies->offsets;
    copies->view.queries = copies->queries;
    copies->view.labels = copies->labels;
    copies->view.dense = copies->dense;
    return copies;
}

/* A weight of 2 is a row that is there twice, of 0 one that is not there, whatever C is the cost of. */
/* What a pair of each query costs where C is 2; a query without pairs costs nothing. The caller frees them. */
static double *pair_costs(const test_ranking *ranking, thr_rank_scale scale) {
    double *costs = test_new(ranking->view.n_queries, sizeof *costs);
    for (uint64_t q = 0; q < ranking->view.n_queries; q++) {
        const thr_ranking_view one = {
            .offsets = ranking->offsets + q, .n_queries = 1, .labels = ranking->labels, .n_rows = ranking->view.n_rows};
        const test_ranking query = {.view = one, .labels = ranking->labels};
        const uint64_t own = test_pairs_count(&query), all = test_pairs_count(ranking);
        costs[q] = scale == THR_RANK_SCALE_PAIR ? 2 : 2 / (double)(scale == THR_RANK_SCALE_MEAN ? all : own);
        costs[q] = own != 0 ? costs[q] : 0;
    }
    return costs;
}

RANDOM_TEST(rows_weigh_as_often_as_they_are_there) {
    thr_context *context = test_new_context(2);
    for (unsigned round = 0; round < 12; round++) {
        const test_labels labels = round % 4 == 3 ? TEST_LABELS_MIXED : (test_labels)(round % 4);
        const thr_rank_scale scale = (thr_rank_scale)(round % 3);
        test_ranking *made = some_ranking(&rng, 4, labels, false), *copies = NULL;
        const thr_ranking_view *view = &made->view;
        double *weights = test_new(view->n_rows, sizeof *weights), w[4] = {0};
        do {
            for (uint64_t r = 0; r < view->n_rows; r++)
                weights[r] = (double)thr_rng_below(&rng, 4);
            copies = repeat(made, weights, 4);
        } while (test_pairs_count(copies) == 0);
        double *costs = pair_costs(copies, scale);
        const double least = test_pairs_solve(copies, costs, w);
        OWNED(thr_ranking, ranking) = open_ranking(context, made);
        thr_rank_options options = {0};
        thr_rank_report report;
        options.c = 2;
        options.epsilon = 1e-8;
        options.scale = scale;
        options.row_weights = weights;
        thr_rank_model_free(train(context, ranking, &options, &report));
        assert_least(&report, least, "rows with weights");
        assert_int_equal(report.n_pairs, test_pairs_count(made));
    }
}

RANDOM_TEST(threads_and_levels_do_not_change_a_model) {
    thr_context *contexts[] = {test_context(1, THR_ISA_BEST, NULL), test_context(3, THR_ISA_SCALAR, NULL)};
    test_ranking *made = test_ranking_make(&rng, 90, 20, 11, TEST_LABELS_MIXED, false);
    thr_rank_model *models[2];
    for (unsigned i = 0; i < 2; i++) {
        thr_ranking *ranking = open_ranking(contexts[i], made);
        models[i] = train(contexts[i], ranking, NULL, NULL);
        thr_ranking_free(ranking);
    }
    assert_memory_equal(thr_rank_model_weights(models[0]), thr_rank_model_weights(models[1]), 11 * sizeof(double));
    for (unsigned i = 0; i < 2; i++) {
        thr_rank_model_free(models[i]);
        thr_context_free(contexts[i]);
    }
}

/* Features that equal the label but for noise, and others: accuracy grows with C up to some C; the seed sets folds. */
RANDOM_TEST(folds_judge_costs) {
    thr_context *context = test_new_context(2);
    test_ranking *made = test_ranking_make(&rng, 40, 10, 6, TEST_LABELS_FEW, false);
    for (uint64_t r = 0; r < made->view.n_rows; r++)
        made->dense[6 * r] = (float)made->labels[r] + test_normal(&rng);
    OWNED(thr_ranking, ranking) = open_ranking(context, made);
    const double cs[] = {1e-6, 0.01, 1};
    double first[3], again[3], other[3], one[1];
    expect_ok(thr_rank_cross_validate(context, ranking, NULL, &(thr_rank_folds){cs, first, 3, 7, 5}, &err));
    expect_ok(thr_rank_cross_validate(context, ranking, NULL, &(thr_rank_folds){cs, again, 3, 7, 5}, &err));
    expect_ok(thr_rank_cross_validate(context, ranking, NULL, &(thr_rank_folds){cs, other, 3, 8, 5}, &err));
    expect_ok(thr_rank_cross_validate(context, ranking, NULL, &(thr_rank_folds){cs, one, 1, 7, 5}, &err));
    assert_memory_equal(first, again, sizeof first);
    assert_memory_equal(first, one, sizeof one);
    assert_true(memcmp(first, other, sizeof first) != 0);
    assert_case(first[1] > 0.6 && first[1] < 1, "accuracy %g", first[1]);

    expect_error(thr_rank_cross_validate(context, ranking, NULL, &(thr_rank_folds){cs, first, 3, 7, 1}, &err),
                 THR_EINVAL, "1 folds of");
    expect_error(thr_rank_cross_validate(context, ranking, NULL, &(thr_rank_folds){cs, first, 3, 7, 41}, &err),
                 THR_EINVAL, "choose 2 to");
    const double falling[] = {1, 0.1}, negative[] = {-1, 1};
    expect_error(thr_rank_cross_validate(context, ranking, NULL, &(thr_rank_folds){falling, first, 2, 7, 5}, &err),
                 THR_EINVAL, "C 0.1 comes after 1: give values in ascending order");
    expect_error(thr_rank_cross_validate(context, ranking, NULL, &(thr_rank_folds){negative, first, 2, 7, 5}, &err),
                 THR_EINVAL, "C is -1: choose above 0");
}

/* The default options with one change to o, their copy: training is refused, and the error has this part. */
#define refuse_training(change, part)                                                                                  \
    do {                                                                                                               \
        thr_rank_options o;                                                                                            \
        thr_rank_model *model = NULL;                                                                                  \
        o = (thr_rank_options){0};                                                                                     \
        (change);                                                                                                      \
        expect_error(thr_rank_train(context, ranking, &o, &model, NULL, &err), THR_EINVAL, (part));                    \
        assert_null(model);                                                                                            \
    } while (0)

RANDOM_TEST(options_out_of_range_are_refused) {
    thr_context *context = test_new_context(1);
    test_ranking *made = test_ranking_make(&rng, 3, 6, 2, TEST_LABELS_ALL, false);
    OWNED(thr_ranking, ranking) = open_ranking(context, made);
    const double negative[] = {1, -1, 1}, none[] = {0, 0, 0};
    double *weights = test_new(made->view.n_rows, sizeof *weights);
    refuse_training(o.c = -1, "C is -1: choose above 0");
    refuse_training(o.c = (double)NAN, "C is nan");
    refuse_training(o.epsilon = -1, "epsilon is -1");
    refuse_training(o.epsilon = 1, "epsilon is 1");
    refuse_training(o.method = (thr_rank_method)3, "3 is no thr_rank_method");
    refuse_training(o.scale = (thr_rank_scale)3, "3 is no thr_rank_scale");
    refuse_training(o.query_weights = negative, "query 1 of 3 has a weight of -1");
    refuse_training(o.query_weights = none, "have weights of zero");
    refuse_training(o.row_weights = weights, "have weights of zero");
    weights[2] = (double)NAN;
    refuse_training(o.row_weights = weights, "row 2 of ");
}

RANDOM_TEST(features_that_nothing_can_be_learned_from_are_refused) {
    thr_context *context = test_new_context(1);
    test_ranking *made = test_ranking_make(&rng, 3, 6, 2, TEST_LABELS_ALL, false);
    thr_rank_model *model = NULL;
    thr_rank_options options = {0};
    options.c = 1e300;
    for (uint64_t r = 0; r < made->view.n_rows; r++)
        made->dense[2 * r] *= 1e30f;
    thr_ranking *huge = open_ranking(context, made);
    expect_error(thr_rank_train(context, huge, &options, &model, NULL, &err), THR_ERANGE, "too large");
    thr_ranking_free(huge);
    memset(made->dense, 0, made->view.n_rows * 2 * sizeof(float));
    OWNED(thr_ranking, blank) = open_ranking(context, made);
    expect_error(thr_rank_train(context, blank, NULL, &model, NULL, &err), THR_EINVAL, "0 is the best model");
    assert_null(model);
}

typedef struct stopper {
    unsigned calls, stop_at;
} stopper;

static bool stop(void *user, const char *what, uint64_t done, uint64_t total) {
    stopper *s = user;
    (void)what, (void)done, (void)total;
    return ++s->calls != s->stop_at;
}

/* Solvers report at every step; the clock drops most reports, so the solver is called directly here. */
RANDOM_TEST(who_is_stopped_has_the_best_so_far) {
    thr_context *context = test_new_context(1);
    test_ranking *made = test_ranking_make(&rng, 30, 40, 12, TEST_LABELS_MANY, false);
    OWNED(thr_rank_problem, problem) = NULL;
    thr_rank_solver solver;
    expect_ok(thr_rank_problem_create(context, &made->view, NULL, &problem, &err));
    stopper stops = {.stop_at = 1};
    context->progress = stop;
    context->progress_user = &stops;
    bool converged = true;
    expect_ok(thr_rank_solver_start(problem, &solver, &err));
    solver.epsilon = 1e-6;
    solver.most_steps = 100;
    expect_error(thr_rank_solver_run(&solver, THR_RANK_LINE_SEARCH, &converged, &err), THR_ECANCELED, NULL);
    assert_int_equal(solver.n_steps, 0);
    assert_false(converged);
    thr_rank_solver_end(&solver);
}

RANDOM_TEST(every_allocation_may_fail) {
    test_memory memory = {0};
    thr_context *context = test_context(2, THR_ISA_BEST, &memory);
    test_ranking *made = test_ranking_make(&rng, 6, 9, 4, TEST_LABELS_ALL, false);
    thr_ranking *ranking = open_ranking(context, made);
    const double cs[] = {0.1, 1};
    for (unsigned job = 0; job < 4; job++) { /* each by trees and by sweeps */
        test_oom oom = test_oom_start(&memory);
        thr_rank_options options = {0};
        options.method = job < 2 ? THR_RANK_LINE_SEARCH : THR_RANK_SWEEP;
        while (test_oom_next(&oom)) {
            thr_rank_model *model = NULL;
            double accuracies[2];
            test_oom_arm(&oom);
            const thr_status status = job % 2 == 0
                                          ? thr_rank_train(context, ranking, &options, &model, NULL, &err)
                                          : thr_rank_cross_validate(context, ranking, &options,
                                                                    &(thr_rank_folds){cs, accuracies, 2, 1, 3}, &err);
            const bool succeeded = test_oom_check(&oom, status, &err, NULL);
            assert_int_equal(model != NULL, succeeded && job % 2 == 0);
            thr_rank_model_free(model);
        }
    }
    thr_ranking_free(ranking);
    thr_context_free(context);
}

/* liblinear-ranksvm's optimum of a part of MQ2007, C = 1; it has features in double, which moves it by 3e-9. */
TEST(mq2007_has_the_published_least) {
    static const char *const path = THR_SOURCE_DIR "/../shared/data/letor/mq2007.partial.svm.xz";
    const char *data = getenv("THR_LETOR");
    thr_context *context = test_context(0, THR_ISA_BEST, NULL);
    thr_ranking *ranking = NULL;
    if (thr_ranking_open(context, data != NULL ? data : path, NULL, &ranking, &err) != THR_OK) {
        print_message("skipped: %s; THR_LETOR names MQ2007's file\n", err.text);
        thr_context_free(context);
        skip();
    }
    thr_rank_options options = {0};
    thr_rank_report report;
    thr_rank_model *model = train(context, ranking, &options, &report);
    print_message("%u steps, %llu products, %.2f s: objective %.10g\n", report.n_steps,
                  (unsigned long long)report.n_products, report.seconds, report.objective);
    assert_case(fabs(report.objective / 227396.1108 - 1) < 1e-8, "objective %.10g", report.objective);
    assert_case(fabs(report.pairwise_accuracy - 0.7051) < 5e-5, "accuracy %.6f", report.pairwise_accuracy);
    thr_rank_model_free(model);
    thr_ranking_free(ranking);
    thr_context_free(context);
}
