/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_device.c - RankSVM on GPUs: the CPU's bits in every pass and in whole trainings, the reference beside them, and
 * messages and fallbacks where there are no GPUs, or they fail. The GPUs are emulated (tests/simt).
 */
#include "test.h"

#include "pairs.h"

#include <thresher/rank.h>

#include "device/gpus.h"
#include "emulator.h"
#include "rank/solver/solver.h"

static test_emulator emulator;
static thr_error error;
static unsigned n_matrices, n_sampled; /* compared */

/* "auto" finds every training worth a GPU in these. */
static thr_context *make_context(const char *device, test_memory *memory) {
    thr_context_options options = {0};
    thr_context *context = NULL;
    options.n_threads = 2;
    options.device = device;
    if (memory != NULL)
        options.allocator = test_memory_allocator(memory);
    assert_ok(thr_context_create(&options, &context, &error), &error);
    if (context->gpus != NULL)
        context->gpus->wake_up = -1e3;
    return context;
}

static void end(thr_context *context) {
    thr_context_free(context);
    emulator.let_fail("none");
    assert_int_equal(emulator.allocated() + emulator.pinned(), 0);
}

static double *random_vector(uint64_t *rng, size_t n, double scale) {
    double *v = test_new(n, sizeof *v);
    for (size_t d = 0; d < n; d++)
        v[d] = scale * (double)test_normal(rng);
    return v;
}

/* Weights of which some are 0. */
static double *random_weights(uint64_t *rng, size_t n) {
    double *v = test_new(n, sizeof *v);
    for (size_t i = 0; i < n; i++)
        v[i] = (double)thr_rng_below(rng, 8) * 0.375;
    return v;
}

/* ------------------------------------------------------------------------------------------------ passes */

typedef struct answers {
    double value, *gradient, *diagonal, *product, *counts;
} answers;

static answers answers_make(const thr_ranking_view *view) {
    const size_t n = view->n_features;
    return (answers){0, test_new(n, sizeof(double)), test_new(n, sizeof(double)), test_new(n, sizeof(double)),
                     test_new((size_t)view->n_rows, sizeof(double))};
}

static void take_counts(const thr_rank_problem *problem, answers *a) {
    const thr_ranking_view *view = &problem->view;
    for (uint64_t q = 0; q < view->n_queries; q++)
        for (uint64_t u = view->offsets[q]; u < view->offsets[q + 1]; u++)
            a->counts[u] = problem->n_pairs[q] != 0 && problem->costs[q] > 0 ? problem->counts[u] : 0;
}

static void ask_cpu(thr_rank_problem *problem, const double *w, const double *v, answers *a) {
    a->value = thr_rank_evaluate(problem, w, a->gradient, a->diagonal);
    thr_rank_product(problem, v, a->product);
    take_counts(problem, a);
}

static void ask_device(thr_rank_gpu_problem *device, thr_rank_problem *problem, const double *w, const double *v,
                       answers *a) {
    assert_ok(thr_rank_device_evaluate(device, w, a->gradient, a->diagonal, &a->value, &error), &error);
    assert_ok(thr_rank_device_product(device, v, a->product, &error), &error);
    memset(problem->counts, 0, (size_t)problem->view.n_rows * sizeof(double));
    assert_ok(thr_rank_device_counts(device, &error), &error);
    take_counts(problem, a);
}

static bool same_bits(const double *a, const double *b, size_t n) {
    return memcmp(a, b, n * sizeof *a) == 0;
}

/* What has other bits; NULL: nothing. */
static const char *other_bits(const answers *a, const answers *b, const thr_ranking_view *view) {
    if (!same_bits(&a->value, &b->value, 1))
        return "value";
    if (!same_bits(a->counts, b->counts, (size_t)view->n_rows))
        return "count";
    if (!same_bits(a->gradient, b->gradient, view->n_features))
        return "gradient";
    if (!same_bits(a->diagonal, b->diagonal, view->n_features))
        return "diagonal";
    return same_bits(a->product, b->product, view->n_features) ? NULL : "product";
}

static double distance(const double *a, const double *b, size_t n) {
    double largest = 1e-300, most = 0;
    for (size_t d = 0; d < n; d++) {
        largest = fmax(largest, fmax(fabs(a[d]), fabs(b[d])));
        most = fmax(most, fabs(a[d] - b[d]));
    }
    return most / largest;
}

/* Scores of some rows are made equal, others a margin of about 1 apart: whole numbers. */
static void make_ties(test_ranking *made, double *w) {
    const thr_ranking_view *view = &made->view;
    for (uint64_t i = 0; i < view->n_rows * view->n_features; i++)
        made->dense[i] = rintf(made->dense[i]);
    for (uint64_t e = 0; e < made->starts[view->n_rows]; e++)
        made->values[e] = rintf(made->values[e]);
    for (uint32_t d = 0; d < view->n_features; d++)
        w[d] = rint(2 * w[d]) / 2;
}

static void check_matrix(thr_rank_problem *cpu, thr_rank_problem *gpu, thr_rank_gpu_problem *device, int number) {
    const size_t n = cpu->view.n_features;
    thr_rank_preconditioner p;
    double *scales = test_new(n, sizeof *scales);
    float *sums = test_new(n * n, sizeof *sums);
    const thr_rank_sample sample = thr_rank_sample_choose(gpu);
    assert_ok(thr_rank_preconditioner_start(cpu, &p, &error), &error);
    if (!p.is_diagonal) {
        thr_rank_preconditioner_set(&p, NULL);
        assert_ok(thr_rank_device_matrix(device, &sample, scales, sums, &error), &error);
        assert_case(same_bits(p.scales, scales, n), "shape %d: other scales", number);
        for (size_t i = 0; i < n; i++) /* used: below the diagonal */
            assert_case(memcmp(p.sums + i * n, sums + i * n, i * sizeof *sums) == 0, "shape %d: row %zu", number, i);
        n_matrices++;
        n_sampled += sample.query_step > 1 || sample.row_step > 1;
    }
    thr_rank_preconditioner_end(&p);
}

typedef struct shape {
    uint64_t n_queries;
    uint32_t longest, n_features;
    test_labels labels;
    double scale; /* of w */
    bool ties, weighted;
    uint32_t sparse; /* 0: dense; else one of so many entries is kept */
} shape;

static const shape SHAPES[] = {
    {1, 2, 1, TEST_LABELS_ALL, 1, false, false, 0},        {5, 9, 3, TEST_LABELS_FEW, 0.1, false, true, 0},
    {6, 40, 8, TEST_LABELS_FEW, 1, true, false, 0},        {7, 130, 17, TEST_LABELS_MANY, 0.1, false, false, 0},
    {12, 60, 9, TEST_LABELS_MIXED, 0.3, false, true, 0},   {40, 12, 5, TEST_LABELS_MIXED, 1, true, true, 0},
    {3, 200, 19, TEST_LABELS_ALL, 3, false, false, 0},     {4, 150, 7, TEST_LABELS_MANY, 0, false, true, 0},
    {2, 300, 66, TEST_LABELS_ALL, 0.01, false, true, 0},   {30, 33, 4, TEST_LABELS_MIXED, 0.01, false, false, 0},
    {1, 2500, 3, TEST_LABELS_FEW, 0.3, false, false, 0},   {1, 1500, 2, TEST_LABELS_ALL, 0.3, true, true, 0},
    {1, 700, 130, TEST_LABELS_MANY, 0.2, false, false, 0}, {300, 8, 2, TEST_LABELS_FEW, 0.3, false, false, 0},
    {20, 150, 3, TEST_LABELS_MIXED, 0.3, false, true, 0},  {9, 100, 33, TEST_LABELS_FEW, 0.1, false, false, 0},
};

/* Few entries per row, and features without any: no preconditioner's matrix for most. */
static const shape SPARSE_SHAPES[] = {
    {9, 40, 700, TEST_LABELS_MIXED, 1, false, false, 40}, {30, 33, 70, TEST_LABELS_MANY, 0.3, true, true, 9},
    {3, 250, 90, TEST_LABELS_ALL, 0.3, false, true, 4},   {60, 9, 40, TEST_LABELS_FEW, 1, false, false, 30},
    {1, 1200, 9, TEST_LABELS_FEW, 0.3, false, false, 3},
};

/* Keep one of `share` entries, and the matrix of all numbers the same. */
static void thin_out(uint64_t *rng, test_ranking *made, uint32_t share) {
    uint64_t kept = 0, e = 0;
    for (uint64_t row = 0; row < made->view.n_rows; row++) {
        for (; e < made->starts[row + 1]; e++) {
            made->columns[kept] = made->columns[e];
            made->values[kept] = made->values[e];
            if (thr_rng_below(rng, share) == 0)
                kept++;
            else
                made->dense[row * made->view.n_features + made->columns[e]] = 0;
        }
        made->starts[row + 1] = kept;
    }
}

static test_ranking *make_ranking(uint64_t *rng, const shape *s) {
    test_ranking *made = NULL;
    do {
        made = test_ranking_make(rng, s->n_queries, s->longest, s->n_features, s->labels, s->sparse != 0);
    } while (test_pairs_count(made) == 0);
    if (s->sparse > 1)
        thin_out(rng, made, s->sparse);
    return made;
}

/* One query of a shape's longest may be drawn short: the largest of some is taken. */
static test_ranking *make_long_ranking(uint64_t *rng, const shape *s) {
    test_ranking *made = make_ranking(rng, s);
    while (s->n_queries == 1 && s->longest > 500 && made->view.n_rows < s->longest * 3 / 4) {
        made = make_ranking(rng, s);
    }
    return made;
}

static void check_naive(const test_ranking *made, const double *costs, const double *w, const double *v,
                        const answers *a) {
    const size_t n = made->view.n_features;
    double *wanted = test_new(n, sizeof *wanted);
    const double value = test_pairs_value(made, costs, w);
    assert_case(fabs(a->value - value) <= 1e-11 * value, "value %.17g is not %.17g", a->value, value);
    test_pairs_gradient(made, costs, w, wanted);
    assert_true(distance(a->gradient, wanted, n) < 1e-10);
    test_pairs_product(made, costs, w, v, wanted);
    assert_true(distance(a->product, wanted, n) < 1e-10);
}

/* Sweeps have the same bits on both, and the trees' answers up to rounding. */
static void check_sweeps(thr_rank_problem *problems[2], thr_rank_gpu_problem *device, const double *w, const double *v,
                         const answers *trees, int number) {
    const thr_ranking_view *view = &problems[0]->view;
    const size_t n = view->n_features, n_rows = (size_t)view->n_rows;
    answers cpu = answers_make(view), gpu = answers_make(view);
    for (int i = 0; i < 2; i++)
        assert_ok(thr_rank_problem_sweep(problems[i], true, &error), &error);
    ask_cpu(problems[0], w, v, &cpu);
    ask_device(device, problems[1], w, v, &gpu);
    for (int i = 0; i < 2; i++)
        assert_ok(thr_rank_problem_sweep(problems[i], false, &error), &error);
    const char *what = other_bits(&cpu, &gpu, view);
    assert_case(what == NULL, "shape %d: sweeps have another %s on a GPU", number, what);
    assert_case(problems[0]->weights != NULL || same_bits(trees->counts, gpu.counts, n_rows),
                "shape %d: sweeps count others", number);
    assert_case(
        fabs(gpu.value - trees->value) <= 1e-11 * trees->value && distance(gpu.gradient, trees->gradient, n) < 1e-10 &&
            distance(gpu.product, trees->product, n) < 1e-10 && distance(gpu.counts, trees->counts, n_rows) < 1e-12,
        "shape %d: sweeps come to %.17g, not %.17g", number, gpu.value, trees->value);
}

static void check_shape(thr_context *contexts[2], const thr_devices *devices, const shape *s, uint64_t *rng,
                        int number) {
    test_ranking *made = make_long_ranking(rng, s);
    const thr_ranking_view *view = &made->view;
    const size_t n = view->n_features;
    double *there = random_vector(rng, n, s->scale), *w = test_new(n, sizeof *w), *v = random_vector(rng, n, 1);
    if (s->ties)
        make_ties(made, there);
    double *weights = s->weighted ? random_weights(rng, (size_t)view->n_rows) : NULL;
    thr_rank_problem *problems[2];
    void *device = NULL;
    answers cpu = answers_make(view), gpu = answers_make(view);
    for (int i = 0; i < 2; i++)
        assert_ok(thr_rank_problem_create(contexts[i], view, weights, &problems[i], &error), &error);
    assert_ok(thr_rank_device_create(problems[1], devices, &device, &error), &error);
    for (int round = 0; round < 2; round++) { /* of other costs, at 0 and somewhere else */
        for (uint64_t q = 0; q < view->n_queries; q++)
            problems[0]->costs[q] = problems[1]->costs[q] =
                s->n_queries == 1 ? 0.5 : (double)thr_rng_below(rng, 4) * 0.3;
        for (size_t d = 0; d < n; d++)
            w[d] = round == 0 ? 0 : there[d];
        ask_cpu(problems[0], w, v, &cpu);
        ask_device(device, problems[1], w, v, &gpu);
        const char *what = other_bits(&cpu, &gpu, view);
        assert_case(what == NULL, "seed %llu, shape %d, round %d: another %s", (unsigned long long)test_seed(), number,
                    round, what);
        if (!s->weighted)
            check_naive(made, problems[1]->costs, w, v, &gpu);
        check_matrix(problems[0], problems[1], device, number);
        check_sweeps(problems, device, w, v, &gpu, number);
    }
    thr_rank_device_free(device);
    for (int i = 0; i < 2; i++)
        thr_rank_problem_free(problems[i]);
}

static void check_shapes(const shape *shapes, int n, bool sparse) {
    uint64_t rng = test_seed();
    thr_context *contexts[] = {make_context("cpu", NULL), make_context("cuda:1", NULL)};
    for (int i = 0; i < n; i++) {
        shape s = shapes[i];
        s.sparse = sparse && s.sparse == 0 ? 1 : s.sparse;
        check_shape(contexts, thr_device_gpus_get(contexts[1]), &s, &rng, i);
    }
    thr_context_free(contexts[0]);
    end(contexts[1]);
}

TEST(passes_have_the_bits_of_the_cpu) {
    n_matrices = n_sampled = 0;
    check_shapes(SHAPES, COUNT_OF(SHAPES), false);
    assert_case(n_matrices > 10 && n_sampled > 2, "%u matrices, %u of samples", n_matrices, n_sampled);
}

TEST(passes_of_sparse_rows_have_the_bits_of_the_cpu) {
    n_matrices = n_sampled = 0;
    check_shapes(SHAPES, COUNT_OF(SHAPES), true);
    check_shapes(SPARSE_SHAPES, COUNT_OF(SPARSE_SHAPES), true);
    assert_case(n_matrices > 10 && n_sampled > 2, "%u matrices, %u of samples", n_matrices, n_sampled);
}

/* ------------------------------------------------------------------------------------------------ trainings */

/* The ranking as thr_ranking_from_matrix or _csr has it. */
static thr_ranking *open_ranking(thr_context *context, const test_ranking *made) {
    const thr_ranking_view *view = &made->view;
    uint64_t *queries = test_new((size_t)view->n_rows, sizeof *queries);
    thr_ranking *ranking = NULL;
    for (uint64_t q = 0; q < view->n_queries; q++)
        for (uint64_t r = view->offsets[q]; r < view->offsets[q + 1]; r++)
            queries[r] = q;
    const thr_matrix dense = thr_matrix_f32(made->dense, view->n_rows, view->n_features);
    assert_ok(view->dense != NULL
                  ? thr_ranking_from_matrix(context, &dense, view->labels, queries, &ranking, &error)
                  : thr_ranking_from_csr(context, &view->sparse, view->labels, queries, &ranking, &error),
              &error);
    return ranking;
}

typedef struct trained {
    thr_rank_model *model;
    thr_rank_report report;
    char device[256];
    bool launched;
} trained;

static thr_status try_train(thr_context *context, const test_ranking *made, const thr_rank_options *options,
                            trained *t) {
    thr_ranking *ranking = open_ranking(context, made);
    const uint64_t before = emulator.launches();
    const thr_status status = thr_rank_train(context, ranking, options, &t->model, &t->report, &error);
    t->launched = emulator.launches() > before;
    (void)snprintf(t->device, sizeof t->device, "%s", thr_context_device(context));
    thr_ranking_free(ranking);
    return status;
}

static trained train(const char *device, const test_ranking *made, const thr_rank_options *options) {
    thr_context *context = make_context(device, NULL);
    trained t = {.model = NULL};
    assert_ok(try_train(context, made, options, &t), &error);
    /* The model is the context's: only its weights may stay. */
    thr_rank_model *model = NULL;
    static thr_context *keeper;
    if (keeper == NULL)
        keeper = make_context("cpu", NULL);
    assert_ok(thr_rank_model_from_weights(keeper, thr_rank_model_weights(t.model), thr_rank_model_n_features(t.model),
                                          &model, &error),
              &error);
    thr_rank_model_free(t.model);
    t.model = model;
    end(context);
    return t;
}

static void assert_same_model(const trained *a, const trained *b) {
    assert_true(a->report.objective == b->report.objective && a->report.n_steps == b->report.n_steps &&
                a->report.n_products == b->report.n_products &&
                a->report.pairwise_accuracy == b->report.pairwise_accuracy);
    assert_true(same_bits(thr_rank_model_weights(a->model), thr_rank_model_weights(b->model),
                          thr_rank_model_n_features(a->model)));
}

/*
 * Dense and sparse, all methods, with and without a matrix for the preconditioner, weights, costs a query, and a
 * start.
 */
RANDOM_TEST(trainings_end_with_the_bits_of_the_cpu) {
    rng += 1;
    static const shape shapes[] = {
        {12, 30, 6, TEST_LABELS_MIXED, 0, false, false, 0}, {4, 20, 40, TEST_LABELS_FEW, 0, false, true, 0},
        {300, 5, 3, TEST_LABELS_MIXED, 0, true, false, 0},  {12, 30, 6, TEST_LABELS_MIXED, 0, false, true, 1},
        {10, 20, 150, TEST_LABELS_FEW, 0, false, true, 10}, {300, 5, 30, TEST_LABELS_MIXED, 0, true, false, 10}};
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        test_ranking *made = make_ranking(&rng, &shapes[i]);
        double *row_weights = shapes[i].weighted ? random_weights(&rng, (size_t)made->view.n_rows) : NULL;
        double *query_weights = random_weights(&rng, (size_t)made->view.n_queries);
        thr_rank_options options = {0};
        options.c = 0.1;
        options.row_weights = row_weights;
        options.query_weights = i == 1 ? NULL : query_weights;
        trained first = {.model = NULL};
        for (int round = 0; round < 2; round++) {
            options.method = (thr_rank_method)((i + (size_t)round) % 3);
            trained cpu = train("cpu", made, &options), gpu = train(round == 0 ? "cuda:1" : "auto", made, &options);
            assert_true(!cpu.launched && gpu.launched && strncmp(gpu.device, "cuda:", 5) == 0);
            assert_same_model(&cpu, &gpu);
            thr_rank_model_free(cpu.model);
            thr_rank_model_free(first.model);
            first = gpu;
            options.start = first.model;
            options.c = 0.15;
        }
        thr_rank_model_free(first.model);
    }
}

static double solve(thr_rank_problem *problem, const thr_devices *devices, bool sweep, double *accuracy) {
    thr_rank_solver solver;
    bool converged = false;
    uint64_t n_pairs = 0;
    assert_ok(thr_rank_solver_start(problem, &solver, &error), &error);
    solver.epsilon = 1e-8;
    solver.most_steps = 100;
    if (devices != NULL) {
        assert_ok(thr_rank_solver_choose_device(&solver, &error), &error);
        assert_non_null(solver.device);
    }
    assert_ok(thr_rank_solver_run(&solver, sweep ? THR_RANK_SWEEP : THR_RANK_LINE_SEARCH, &converged, &error), &error);
    assert_true(converged);
    const double value = solver.value;
    *accuracy = (double)thr_rank_right_pairs(problem, solver.w, NULL, &n_pairs) / (double)n_pairs;
    thr_rank_solver_end(&solver);
    return value;
}

/* RankSVM's algorithm 2 for the whole way: another order of sums, the same least. */
RANDOM_TEST(sweeps_come_to_the_same_least) {
    rng += 2;
    const shape s = {10, 40, 6, TEST_LABELS_MIXED, 0, false, false, 0};
    for (int round = 0; round < 2; round++) {
        test_ranking *made = make_ranking(&rng, &s);
        thr_context *context = make_context("cuda", NULL);
        const thr_devices *devices = thr_device_gpus_get(context);
        thr_rank_problem *problem = NULL;
        double accuracies[4];
        assert_ok(thr_rank_problem_create(context, &made->view, NULL, &problem, &error), &error);
        for (uint64_t q = 0; q < made->view.n_queries; q++)
            problem->costs[q] = 0.05;
        const double least = solve(problem, NULL, false, &accuracies[0]);
        assert_true(solve(problem, devices, false, &accuracies[1]) == least);
        const double swept = solve(problem, devices, true, &accuracies[2]);
        assert_true(solve(problem, NULL, true, &accuracies[3]) == swept && accuracies[2] == accuracies[3]);
        assert_case(fabs(swept - least) <= 1e-10 * least, "%.17g, not %.17g", swept, least);
        assert_true(accuracies[0] == accuracies[1] && accuracies[0] == accuracies[2]);
        thr_rank_problem_free(problem);
        end(context);
    }
}

RANDOM_TEST(folds_are_judged_alike) {
    rng += 3;
    const shape s = {15, 12, 4, TEST_LABELS_FEW, 0, false, false, 0};
    static const double cs[] = {0.01, 1};
    static const char *const devices[] = {"cpu", "cuda"};
    test_ranking *made = make_ranking(&rng, &s);
    double accuracies[2][2];
    for (int i = 0; i < 2; i++) {
        thr_context *context = make_context(devices[i], NULL);
        thr_ranking *ranking = open_ranking(context, made);
        assert_ok(
            thr_rank_cross_validate(context, ranking, NULL, &(thr_rank_folds){cs, accuracies[i], 2, 1, 2}, &error),
            &error);
        thr_ranking_free(ranking);
        end(context);
    }
    assert_true(same_bits(accuracies[0], accuracies[1], 2));
}

/* ------------------------------------------------------------------------------------------------ what cannot be */

/* Features that no row has an entry of are no reason to fail, but their gradient is 0. */
TEST(rows_without_entries_are_refused_as_on_the_cpu) {
    static const uint64_t starts[] = {0, 0, 0}, queries[] = {1, 1};
    static const double labels[] = {0, 1};
    static const char *const devices[] = {"cpu", "cuda"};
    const thr_csr none = {.starts = starts, .n_rows = 2, .n_columns = 3};
    for (int i = 0; i < 2; i++) {
        thr_context *context = make_context(devices[i], NULL);
        thr_ranking *ranking = NULL;
        thr_rank_model *model = NULL;
        assert_ok(thr_ranking_from_csr(context, &none, labels, queries, &ranking, &error), &error);
        assert_error(thr_rank_train(context, ranking, NULL, &model, NULL, &error), THR_EINVAL, &error,
                     "the features do not predict the labels");
        assert_null(model);
        thr_ranking_free(ranking);
        end(context);
    }
}

RANDOM_TEST(numbers_too_large_are_refused_as_on_the_cpu) {
    rng += 5;
    const shape s = {3, 20, 4, TEST_LABELS_FEW, 0, false, false, 0};
    static const char *const devices[] = {"cpu", "cuda"};
    test_ranking *made = make_ranking(&rng, &s);
    thr_rank_options options = {0};
    options.c = 1e308;
    for (uint64_t i = 0; i < made->view.n_rows * made->view.n_features; i++)
        made->dense[i] *= 1e30F;
    for (int i = 0; i < 2; i++) {
        thr_context *context = make_context(devices[i], NULL);
        trained t = {.model = NULL};
        assert_error(try_train(context, made, &options, &t), THR_ERANGE, &error, "features or C are too large");
        end(context);
    }
}

RANDOM_TEST(auto_takes_a_gpu_only_where_it_is_worth_it) {
    rng += 6;
    for (uint32_t sparse = 0; sparse < 2; sparse++) {
        const shape s = {6, 20, 4, TEST_LABELS_FEW, 0, false, false, sparse};
        test_ranking *made = make_ranking(&rng, &s);
        thr_context *context = make_context("auto", NULL);
        trained t = {.model = NULL};
        context->gpus->wake_up = 10;
        assert_ok(try_train(context, made, NULL, &t), &error);
        assert_false(t.launched);
        thr_rank_model_free(t.model);
        end(context);
    }
}

/* Every allocation, copy and launch in turn, some of the later ones, until none is left to fail. */
static void fail_in_turn(uint32_t sparse) {
    static const char *const kinds[] = {"alloc", "copy", "launch"};
    uint64_t rng = test_seed() + 7;
    const shape s = {3, 9, 3, TEST_LABELS_FEW, 0, false, false, sparse};
    test_ranking *made = make_ranking(&rng, &s);
    const trained right = train("cpu", made, NULL);
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++)
        for (int required = 0; required < 2; required++) {
            bool failed = true;
            int n = 0;
            for (int i = 1; failed; i += i < 40 ? 1 : 7, n++) {
                thr_context *context = make_context(required ? "cuda" : "auto", NULL);
                trained t = {.model = NULL};
                char failure[32];
                (void)snprintf(failure, sizeof failure, "%s %d", kinds[kind], i);
                if (!required) /* opened before, as with "cuda" */
                    assert_non_null(thr_device_gpus_get(context));
                emulator.let_fail(failure);
                const thr_status status = try_train(context, made, NULL, &t);
                emulator.let_fail("none");
                failed = required ? status != THR_OK : strncmp(t.device, "cpu; ", 5) == 0;
                if (required && failed)
                    assert_error(status, kind == 0 ? THR_ENOMEM : THR_EDEVICE, &error, "cuda:0: ");
                else {
                    assert_case(status == THR_OK, "%s: %s", failure, error.text);
                    assert_same_model(&t, &right);
                }
                thr_rank_model_free(t.model);
                end(context);
            }
            assert_case(n > (kind == 0 ? 25 : 30), "%s: %d", kinds[kind], n);
        }
    thr_rank_model_free(right.model);
}

TEST(every_failure_is_reported_or_recovered) {
    fail_in_turn(0);
    fail_in_turn(1);
}

static void refuse_allocations_in_turn(uint32_t sparse) {
    uint64_t rng = test_seed() + 8;
    const shape s = {3, 9, 3, TEST_LABELS_MANY, 0, false, true, sparse};
    test_ranking *made = make_ranking(&rng, &s);
    thr_rank_options options = {0};
    options.most_steps = 1;
    test_memory memory = {0};
    thr_context *context = make_context("cuda", &memory);
    thr_ranking *ranking = open_ranking(context, made);
    thr_status status = THR_ENOMEM;
    size_t n = 0;
    for (; status != THR_OK; n++) {
        thr_rank_model *model = NULL;
        const size_t live = memory.live;
        memory.fail_at = memory.calls + n + 1;
        status = thr_rank_train(context, ranking, &options, &model, NULL, &error);
        assert_true(status == THR_OK || (status == THR_ENOMEM && model == NULL));
        thr_rank_model_free(model);
        assert_int_equal(memory.live, live);
        assert_int_equal(emulator.allocated() + emulator.pinned(), 0);
    }
    assert_case(n > 35, "%zu allocations", n);
    thr_ranking_free(ranking);
    end(context);
}

TEST(every_allocation_of_the_host_may_fail) {
    refuse_allocations_in_turn(0);
    refuse_allocations_in_turn(1);
}

TEST_NEEDS(test_emulator_take(&emulator, 2))
