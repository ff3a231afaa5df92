/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RankSVM on a GPU against the CPU with all its threads, from the same problem, to the same least: the same weights, to
 * the bit, by trees over levels, and the same objective, within 1e-10, by the reference, RankSVM's algorithm 2. Sparse
 * rows are the same rows with one number in ten. The time is that of solving, without reading and without what is made
 * once: trees, and the copy to the device, which has a time of its own. The full size is the shape of MSLR-WEB30K.
 */
#include "gcheck.h"

#include "base/clock.h"
#include "rank/solver/solver.h"

typedef struct sizes {
    uint64_t n_rows, n_queries;
    uint32_t n_features, n_levels;
    int repeats; /* timed runs; the fastest counts */
} sizes;

static const sizes SIZES[] = {[GCHECK_SMALL] = {500, 25, 9, 5, 1},
                              [GCHECK_QUICK] = {230000, 1892, 136, 5, 2},
                              [GCHECK_FULL] = {2300000, 18919, 136, 5, 3}};
static const double C = 1e-4, EPSILON = 1e-5, CLOSE = 1e-10, BAD_SCALE = 100;
static const uint32_t SPARSE_SHARE = 10; /* one number in so many is an entry */

typedef struct job {
    gcheck *g;
    sizes n;
    float *values;
    double *labels;
    uint64_t *offsets, *queries;
    uint64_t *starts; /* of sparse rows */
    uint32_t *columns;
    float *entries;
    thr_context *gpu;
    uint64_t n_compared, n_wrong;
} job;

/* Values from 0 to 1, a third of the features a hundred times as large; labels by a noisy score, few at the top. */
static void draw(job *j) {
    uint64_t rng = j->g->seed;
    const size_t d = j->n.n_features;
    j->values = test_array((size_t)j->n.n_rows * d, sizeof *j->values);
    j->labels = test_array((size_t)j->n.n_rows, sizeof *j->labels);
    j->offsets = test_array((size_t)j->n.n_queries + 1, sizeof *j->offsets);
    j->queries = test_array((size_t)j->n.n_queries, sizeof *j->queries);
    for (uint64_t q = 0; q <= j->n.n_queries; q++)
        j->offsets[q] = q * j->n.n_rows / j->n.n_queries;
    for (uint64_t q = 0; q < j->n.n_queries; q++)
        j->queries[q] = q;
    for (uint64_t row = 0; row < j->n.n_rows; row++) {
        double score = 0;
        for (size_t f = 0; f < d; f++) {
            const double value = (double)(thr_rng_next(&rng) >> 40) * 0x1p-24;
            score += (f % 2 == 0 ? 1 : -1) * (value - 0.5);
            j->values[row * d + f] = (float)(f % 3 == 0 ? value * BAD_SCALE : value);
        }
        const double noisy = score / sqrt((double)d) + (double)(thr_rng_next(&rng) >> 40) * 0x1p-25;
        j->labels[row] = fmin(fmax(floor(noisy * 6), 0), j->n.n_levels - 1);
    }
}

static void draw_entries(job *j) {
    uint64_t rng = j->g->seed + 1;
    const size_t d = j->n.n_features, n = (size_t)j->n.n_rows * d;
    size_t n_entries = 0;
    j->starts = test_array((size_t)j->n.n_rows + 1, sizeof *j->starts);
    j->columns = test_array(n / SPARSE_SHARE * 2 + d, sizeof *j->columns);
    j->entries = test_array(n / SPARSE_SHARE * 2 + d, sizeof *j->entries);
    for (size_t i = 0; i < n; i++) {
        if (i % d == 0)
            j->starts[i / d] = n_entries;
        if (thr_rng_below(&rng, SPARSE_SHARE) != 0 || n_entries == n / SPARSE_SHARE * 2 + d)
            continue;
        j->columns[n_entries] = (uint32_t)(i % d);
        j->entries[n_entries++] = j->values[i];
    }
    j->starts[j->n.n_rows] = n_entries;
}

static thr_rank_problem *make_problem(const job *j, thr_context *context, bool sparse) {
    const thr_csr rows = {.starts = j->starts,
                          .columns = j->columns,
                          .values = j->entries,
                          .n_rows = j->n.n_rows,
                          .n_columns = j->n.n_features};
    const thr_ranking_view view = {.n_rows = j->n.n_rows,
                                   .n_queries = j->n.n_queries,
                                   .n_features = j->n.n_features,
                                   .offsets = j->offsets,
                                   .queries = j->queries,
                                   .labels = j->labels,
                                   .dense = sparse ? NULL : j->values,
                                   .sparse = sparse ? rows : (thr_csr){.values = NULL}};
    thr_rank_problem *problem = NULL;
    gcheck_must(thr_rank_problem_create(context, &view, NULL, &problem, &err), &err, "a ranking");
    for (uint64_t q = 0; q < j->n.n_queries; q++)
        problem->costs[q] = C;
    return problem;
}

typedef struct solved {
    double *w, objective, seconds, copied, product;
} solved;

typedef enum way { TREES, SWEEPS, SPARSE } way;
static const char *const WAYS[] = {"trees", "sweeps", "trees, of sparse rows"};

/* From zeros, repeats times; the GPU's where the context has one. */
static solved solve(const job *j, thr_context *context, way how, int repeats) {
    thr_rank_problem *problem = make_problem(j, context, how == SPARSE);
    solved s = {.w = test_array(j->n.n_features, sizeof *s.w), .seconds = INFINITY, .product = INFINITY};
    thr_rank_solver solver;
    gcheck_must(thr_rank_solver_start(problem, &solver, &err), &err, "a solver");
    solver.epsilon = EPSILON;
    solver.most_steps = 100;
    const double start = thr_clock();
    gcheck_must(thr_rank_solver_choose_device(&solver, &err), &err, "rows to the device");
    s.copied = thr_clock() - start;
    for (int i = 0; i < repeats; i++) {
        bool converged = false;
        const double begin = thr_clock();
        memset(solver.w, 0, solver.n * sizeof *solver.w);
        gcheck_must(
            thr_rank_solver_run(&solver, how == SWEEPS ? THR_RANK_SWEEP : THR_RANK_LINE_SEARCH, &converged, &err), &err,
            "solving");
        s.seconds = fmin(s.seconds, thr_clock() - begin);
        s.product = fmin(s.product, solver.product_seconds / (double)solver.n_products);
    }
    memcpy(s.w, solver.w, solver.n * sizeof *s.w);
    s.objective = solver.value;
    thr_rank_solver_end(&solver);
    thr_rank_problem_free(problem);
    return s;
}

static void compare(job *j, const solved *wanted, const solved *got, way how) {
    const bool same = how != SWEEPS ? memcmp(wanted->w, got->w, j->n.n_features * sizeof *got->w) == 0
                                    : fabs(wanted->objective - got->objective) <= CLOSE * wanted->objective;
    j->n_compared++;
    j->n_wrong += same ? 0 : 1;
    if (!same)
        (void)printf("FAIL ranking by %s: objective %.17g, the CPU's %.17g\n", WAYS[how], got->objective,
                     wanted->objective);
}

static void report_times(gcheck *g, const char *name, const solved *s) {
    gcheck_figure(g, s->seconds, "rank.%s_s", name);
    gcheck_figure(g, s->product, "rank.%s_product_s", name);
}

/* Solve on the CPU, on the GPU and, of dense rows, by sweeps; compare, and report times if there are to be some. */
static void solve_all(job *j, bool sparse, bool timed) {
    const int repeats = timed ? j->n.repeats : 1;
    solved cpu = solve(j, j->g->context, sparse ? SPARSE : TREES, repeats);
    solved gpu = solve(j, j->gpu, sparse ? SPARSE : TREES, repeats);
    compare(j, &cpu, &gpu, sparse ? SPARSE : TREES);
    if (timed) {
        report_times(j->g, sparse ? "sparse_cpu" : "cpu", &cpu);
        report_times(j->g, sparse ? "sparse" : "trees", &gpu);
        gcheck_figure(j->g, gpu.copied, sparse ? "rank.sparse_copied_s" : "rank.copied_s");
    }
    if (!sparse) {
        solved swept = solve(j, j->gpu, SWEEPS, 1);
        compare(j, &cpu, &swept, SWEEPS);
        if (timed)
            report_times(j->g, "sweeps", &swept);
        free(swept.w);
    }
    free(cpu.w);
    free(gpu.w);
}

void gcheck_rank(gcheck *g, bool timed) {
    job j = {.g = g, .n = SIZES[timed || g->effort == GCHECK_SMALL ? g->effort : GCHECK_QUICK]};
    thr_context_options options = {0};
    gcheck_say("ranking: %llu rows of %u features, %llu queries", (unsigned long long)j.n.n_rows, j.n.n_features,
               (unsigned long long)j.n.n_queries);
    draw(&j);
    draw_entries(&j);
    options.device = "cuda:0";
    gcheck_must(thr_context_create(&options, &j.gpu, &err), &err, "starting");
    solve_all(&j, false, timed);
    solve_all(&j, true, timed);
    gcheck_figure(g, (double)j.n.n_rows, "rank.rows");
    gcheck_figure(g, j.n.n_features, "rank.features");
    gcheck_figure(g, (double)j.n_compared, "rank.compared");
    gcheck_figure(g, (double)j.n_wrong, "rank.wrong");
    g->n_failed += j.n_wrong;
    thr_context_free(j.gpu);
    free(j.values);
    free(j.labels);
    free(j.offsets);
    free(j.queries);
    free(j.starts);
    free(j.columns);
    free(j.entries);
}
