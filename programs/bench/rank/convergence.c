/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convergence.c - `thresher-bench rank --convergence`: how far each solver is above the minimum of RankSVM's
 * objective, over time (RankSVM, figure 1).
 *
 * All solvers have the same examples and start at 0. Times include what a solver prepares. The objective after a step
 * is the same in every run, so the least time of some rounds is kept for each step. Each solver is compared with its
 * own minimum: their sums round otherwise, and the minima differ by some 1e-8.
 */
#include <inttypes.h>
#include <string.h>

#include "rank.h"
#include "cli/messages.h"

enum { N_SOLVERS = 3, ROUNDS = 3, N_LEVELS = 3 };

static const char *const SOLVERS[N_SOLVERS] = {"Newton, line search", "trust region", "classic"};
static const double LEVELS[N_LEVELS] = {1e-2, 1e-4, 1e-8};
static const double EPSILON = 1e-9; /* f is some (1e-9 |gradient at 0|)^2 above its least there */
static const double CLOSE = 1e-6;   /* relative, of the least of all solvers */

typedef struct convergence_bench {
    const char *name;
    double c, least[N_SOLVERS];
    bench_rank_trace traces[N_SOLVERS];
    bench_table *table, *shapes;
} convergence_bench;

/* ------------------------------------------------------------------------------------------------ runs */

static void note_step(void *user, const thr_rank_step *step) {
    bench_rank_trace_add(user, step->seconds, step->objective);
}

static void run_ours(convergence_bench *b, const thr_ranking *ranking, thr_rank_method method,
                     bench_rank_trace *trace) {
    thr_rank_model *model = NULL;
    thr_rank_options options = {0};
    options.c = b->c;
    options.epsilon = EPSILON;
    options.method = method;
    options.on_step = note_step;
    options.on_step_user = trace;
    bench_check(thr_rank_train(bench.context, ranking, &options, &model, NULL, &bench.err));
    thr_rank_model_free(model);
}

/* A round of one solver: of the steps that are there already the lesser time stays. */
static void run_round(convergence_bench *b, const thr_ranking *ranking, const bench_examples *e, int solver) {
    bench_rank_trace round = {.n = 0}, *kept = &b->traces[solver];
    bench_classic_result result;
    if (solver < 2)
        run_ours(b, ranking, (thr_rank_method)solver, &round);
    else
        bench_classic_train(e, e->shape.n_queries, b->c, EPSILON, &round, &result);
    for (int i = 0; i < round.n && kept->n != 0; i++) {
        if (i >= kept->n || round.objectives[i] != kept->objectives[i])
            bench_fail("%s, %s: step %d is not what it was in the round before", b->name, SOLVERS[solver], i);
        round.seconds[i] = fmin(round.seconds[i], kept->seconds[i]);
    }
    *kept = round;
}

static void run_solvers(convergence_bench *b, const thr_ranking *ranking, const bench_examples *e) {
    for (int round = 0; round < ROUNDS; round++)
        for (int solver = 0; solver < N_SOLVERS; solver++)
            run_round(b, ranking, e, solver);
    for (int solver = 0; solver < N_SOLVERS; solver++) {
        const bench_rank_trace *trace = &b->traces[solver];
        double *least = &b->least[solver];
        *least = trace->objectives[0];
        for (int i = 1; i < trace->n; i++)
            *least = fmin(*least, trace->objectives[i]);
        if (fabs(*least / b->least[0] - 1) > CLOSE)
            bench_fail("%s: the least is %.10g, by %s %.10g", b->name, b->least[0], SOLVERS[solver], *least);
    }
}

/* ------------------------------------------------------------------------------------------------ report */

static double above(const convergence_bench *b, int solver, int i) {
    return b->traces[solver].objectives[i] / b->least[solver] - 1;
}

/* Seconds to the first step that is as near as each of LEVELS. */
static void add_rows(convergence_bench *b) {
    for (int solver = 0; solver < N_SOLVERS; solver++) {
        const bench_rank_trace *trace = &b->traces[solver];
        bench_row(b->table, "%s | %s | %d", b->name, SOLVERS[solver], trace->n - 1);
        for (int level = 0, i = 0; level < N_LEVELS; level++) {
            while (i < trace->n && above(b, solver, i) > LEVELS[level])
                i++;
            bench_cells(b->table, i == trace->n ? "-" : "%.3f", trace->seconds[i < trace->n ? i : 0]);
        }
    }
}

/* ------------------------------------------------------------------------------------------------ examples */

static void measure(convergence_bench *b, const char *name, const bench_examples *e, double c) {
    const thr_matrix rows = thr_matrix_f32(e->values, e->offsets[e->shape.n_queries], e->shape.n_features);
    thr_ranking *ranking = NULL;
    b->name = name;
    b->c = c;
    bench_row(b->shapes, "%s | %s | %s | %" PRIu32, name, e->shape.n_levels != 0 ? "synthetic" : "real",
              prog_exact(e->offsets[e->shape.n_queries]).text, e->shape.n_features);
    memset(b->traces, 0, sizeof b->traces);
    bench_check(thr_ranking_from_matrix(bench.context, &rows, e->labels, e->queries, &ranking, &bench.err));
    run_solvers(b, ranking, e);
    thr_ranking_free(ranking);
    add_rows(b);
}

static void measure_drawn(convergence_bench *b, const bench_rank_shape *shape, double c) {
    const double share = shape->classic_share * (double)bench.values->items / 100;
    const size_t mark = bench_mark();
    bench_rank_shape less = *shape;
    less.n_rows = (uint64_t)((double)shape->n_rows * share);
    less.n_queries = (uint64_t)ceil((double)shape->n_queries * share);
    const bench_examples e = bench_examples_draw(&less);
    measure(b, shape->name, &e, c);
    bench_release(mark);
}

/* The public set, where it is there; C as the paper has it. */
static void measure_real(convergence_bench *b) {
    char path[1100];
    thr_ranking *ranking = NULL;
    (void)snprintf(path, sizeof path, "%s/letor/mq2007.partial.svm.xz", bench_data());
    const thr_status status = thr_ranking_open(bench.context, path, NULL, &ranking, &bench.err);
    if (status == THR_ENOTFOUND) {
        prog_note(
            "%s does not exist: MQ2007 is left out; name the directory of the public data by --data or THRESHER_DATA",
            path);
        return;
    }
    bench_check(status);
    const thr_ranking_view view = thr_ranking_get_view(ranking);
    uint64_t *queries = bench_alloc(view.n_rows * sizeof *queries);
    if (view.dense == NULL)
        bench_fail("%s: not dense", path);
    for (uint64_t q = 0; q < view.n_queries; q++)
        for (uint64_t i = view.offsets[q]; i < view.offsets[q + 1]; i++)
            queries[i] = view.queries[q];
    const bench_examples e = {
        .shape = {.n_rows = view.n_rows, .n_queries = view.n_queries, .n_features = view.n_features},
        .values = (float *)(uintptr_t)view.dense,
        .labels = (double *)(uintptr_t)view.labels,
        .queries = queries,
        .offsets = (uint64_t *)(uintptr_t)view.offsets};
    measure(b, "MQ2007", &e, 1);
    thr_ranking_free(ranking);
}

void bench_rank_convergence(const bench_rank_shape *shapes, int n_shapes, double c) {
    convergence_bench *b = bench_alloc(sizeof *b);
    b->table = bench_table_begin("seconds", 2, "data | system | steps | s to 1e-2 | s to 1e-4 | s to 1e-8");
    b->shapes = bench_table_begin("examples", 2, "data | what | rows | features");
    measure_real(b);
    for (int i = 0; i < n_shapes; i++)
        measure_drawn(b, &shapes[i], c);
    bench_print_title("rank-convergence");
    bench_print_text(
        "How far each solver is above its least objective, as a share of it, by seconds from the start; all "
        "begin at 0 and have the same examples. MQ2007 with C = 1, synthetic examples with C = %g per pair.\n\n",
        c);
    bench_print(b->shapes);
    bench_print(b->table);
}
