/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank.c - `thresher-bench rank`: reads examples of two shapes, MQ2007-list's and MSLR-WEB30K's, and learns from them,
 * beside the classic way (classic.c). One thread; both ways must reach the same objective. --convergence has the other
 * synthetic sets of the RankSVM paper's figure 1, too.
 */
#include <inttypes.h>

#include "rank.h"
#include "cli/messages.h"

enum { N_SHAPES = 2, N_CURVES = 5, ROUNDS = 3 };

/* The last ones are for --convergence alone. */
static const bench_rank_shape SHAPES[N_CURVES] = {{"MQ2007-list", 741539, 1017, 46, 1268, false, 1},
                                                  {"MSLR-WEB30K", 2300000, 18919, 136, 5, true, 0.1},
                                                  {"MQ2008-list", 540679, 295, 46, 1831, false, 1},
                                                  {"MSLR-WEB10K", 723421, 6000, 136, 5, true, 0.3},
                                                  {"MQ2008", 9630, 471, 46, 3, false, 1}};

static const double C = 1e-4, EPSILON = 1e-5, CLOSE = 1e-6;

typedef struct rank_bench {
    bench_examples examples;
    bench_rank_shape shape;
    double bandwidth; /* bytes per second that a plain read has */
    const char *path;
    uint64_t text_bytes, n_written; /* rows in the file */
    bench_table *reading, *training, *classic;
} rank_bench;

/* ------------------------------------------------------------------------------------------------ reading */

/* Seconds of opening the file. */
static double open_file(rank_bench *b, bool cache, thr_ranking **ranking) {
    double seconds;
    thr_ranking_options options = {0};
    options.without_comments = true;
    options.cache = cache;
    for (BENCH_BEST(seconds, 1))
        bench_check(thr_ranking_open(bench.context, b->path, &options, ranking, &bench.err));
    return seconds;
}

/* The best of some rounds; the first makes the cache, or finds the file in the system's memory. */
static double time_open(rank_bench *b, bool cache) {
    double seconds = INFINITY;
    for (int round = 0; round <= ROUNDS; round++) {
        thr_ranking *ranking = NULL;
        const double took = open_file(b, cache, &ranking);
        thr_ranking_free(ranking);
        seconds = round == 0 ? INFINITY : fmin(seconds, took);
    }
    return seconds;
}

static void measure_reading(rank_bench *b) {
    const double matrix = (double)b->n_written * b->shape.n_features * sizeof(float), text = (double)b->text_bytes;
    const double parse = time_open(b, false), load = time_open(b, true);
    bench_row(b->reading, "%s | %s | %.0f | %.2f | %.0f | %.2f | %.1f", b->shape.name, prog_exact(b->n_written).text,
              text * 1e-6, parse, text / parse * 1e-6, load, matrix / load * 1e-9);
    bench_at_least(text / parse * 1e-6, 400, "text read, MB/s, %s", b->shape.name);
}

/* ------------------------------------------------------------------------------------------------ training */

static void train(rank_bench *b, const thr_ranking *ranking, thr_rank_report *report) {
    thr_rank_model *model = NULL;
    thr_rank_options options = {0};
    options.c = C;
    options.epsilon = EPSILON;
    bench_check(thr_rank_train(bench.context, ranking, &options, &model, report, &bench.err));
    thr_rank_model_free(model);
    if (!report->converged)
        bench_fail("%s: the gradient did not become small enough", b->shape.name);
}

/* The bytes of X per second in products with the Hessian over a plain read's. */
static double report_training(rank_bench *b, const thr_rank_report *report) {
    const double matrix = (double)b->shape.n_rows * b->shape.n_features * sizeof(float);
    const double rate = matrix * (double)report->n_products / report->product_seconds;
    bench_row(b->training, "%s | %s | %" PRIu32 " | %.0f | %.2f | %" PRIu32 " | %" PRIu64 " | %.1f | %.2f | %.2f",
              b->shape.name, prog_exact(b->shape.n_rows).text, b->shape.n_features, (double)report->n_pairs * 1e-6,
              report->seconds, report->n_steps, report->n_products, rate * 1e-9, rate / b->bandwidth,
              100 * report->pairwise_accuracy);
    return rate / b->bandwidth;
}

/* All examples, from memory. */
static void measure_training(rank_bench *b) {
    const bench_examples *e = &b->examples;
    const thr_matrix rows = thr_matrix_f32(e->values, b->shape.n_rows, b->shape.n_features);
    thr_ranking *ranking = NULL;
    thr_rank_report report;
    bench_check(thr_ranking_from_matrix(bench.context, &rows, e->labels, e->queries, &ranking, &bench.err));
    train(b, ranking, &report);
    bench_at_least(report_training(b, &report), 0.7,
                   "bytes of X per second in products with the Hessian over a plain read's, %s", b->shape.name);
    thr_ranking_free(ranking);
}

/* ------------------------------------------------------------------------------------------------ both ways */

static void report_way(rank_bench *b, const char *name, const bench_classic_result *r, double over) {
    bench_row(b->classic, "%s | %s | %s | %.2f | %" PRIu32 " | %" PRIu64 " | %.8g | %.1f", b->shape.name, name,
              prog_exact(b->n_written).text, r->solve_s, r->n_steps, r->n_products, r->objective, over);
}

/* The file's examples. */
static void measure_both(rank_bench *b, uint64_t n_queries) {
    bench_classic_result theirs;
    thr_rank_report report;
    thr_ranking *ranking = NULL;
    (void)open_file(b, false, &ranking);
    train(b, ranking, &report);
    thr_ranking_free(ranking);
    bench_classic_train(&b->examples, n_queries, C, EPSILON, NULL, &theirs);
    if (fabs(theirs.objective - report.objective) > CLOSE * report.objective)
        bench_fail("%s: the objective is %.10g, by the classic way %.10g", b->shape.name, report.objective,
                   theirs.objective);
    const bench_classic_result ours = {report.objective, report.seconds, report.n_products, report.n_steps};
    report_way(b, "Thresher", &ours, 1);
    report_way(b, "classic", &theirs, theirs.solve_s / ours.solve_s);
    bench_at_least(theirs.solve_s / ours.solve_s, 20, "classic solving over ours, %s", b->shape.name);
}

/* ------------------------------------------------------------------------------------------------ all */

static void run_shape(rank_bench *b, const bench_rank_shape *shape) {
    const double share = (double)bench.values->items / 100;
    const size_t mark = bench_mark();
    b->shape = *shape;
    b->shape.n_rows = (uint64_t)((double)shape->n_rows * share);
    b->shape.n_queries = (uint64_t)ceil((double)shape->n_queries * share);
    b->examples = bench_examples_draw(&b->shape);
    const uint64_t n_queries = (uint64_t)ceil((double)b->shape.n_queries * shape->classic_share);
    b->n_written = b->examples.offsets[n_queries];
    b->path = bench_path("%s.svm", shape->name);
    b->text_bytes = bench_examples_write(&b->examples, n_queries, b->path);
    measure_reading(b);
    measure_training(b);
    measure_both(b, n_queries);
    bench_release(mark);
}

static void sections(void) {
    rank_bench *b = bench_alloc(sizeof *b);
    if (bench.values->convergence) {
        bench_rank_convergence(SHAPES, N_CURVES, C);
        return;
    }
    b->reading =
        bench_table_begin("reading", 1, "data | rows | text, MB | read, s | MB/s | cache, s | GB/s of float32");
    b->training = bench_table_begin("training", 1,
                                    "data | rows | features | pairs, M | s | Newton steps | products | GB/s of X | "
                                    "share of a plain read | pairs in order, %");
    b->classic =
        bench_table_begin("the classic way", 2,
                          "data | system | rows | solve, s | Newton steps | products | objective | solve over ours");
    b->bandwidth = bench_memory_bandwidth();
    if (!(b->bandwidth > 0))
        bench_fail("no memory to read");
    bench_print_title("rank");
    bench_print_text(
        "Synthetic examples of the shapes of two public sets%s; C = %g per pair, to %g of the gradient at 0. "
        "The classic way: doubles with an index each, a trust region, a tree "
        "over labels.\n\n",
        bench.values->items == 100 ? "" : ", fewer rows", C, EPSILON);
    for (int shape = 0; shape < N_SHAPES; shape++)
        run_shape(b, &SHAPES[shape]);
    bench_print(b->reading);
    bench_print(b->training);
    bench_print(b->classic);
}

static const prog_option options[] = {
    {PROG_COUNT_OPTION("share", "PERCENT", offsetof(bench_values, items),
                       "of the rows that the sets have; all take 3 GB of memory and 1 GB in the scratch directory"),
     .fallback = "100", .least = 1, .most = 100},
    {PROG_FLAG_OPTION("convergence", offsetof(bench_values, convergence),
                      "instead: how near to the least objective each solver is, by seconds")},
    {PROG_TEXT_OPTION("data", "DIR", offsetof(bench_values, data),
                      "with --convergence: where letor/mq2007.partial.svm.xz is; else THRESHER_DATA"),
     .names = PROG_NAMES_DIR},
    BENCH_SCRATCH_OPTION,
    BENCH_CSV_OPTION,
    PROG_OPTIONS_END,
};

BENCH_COMMAND(
    rank, bench_no_arguments, options, sections, .summary = "measure learning to rank on this machine",
    .text = "Makes examples of the shapes of MQ2007-list and MSLR-WEB30K, reads them from text and from the cache, and "
            "learns a linear RankSVM of them, beside the classic way to do it: one thread, the same file, and the same "
            "objective at the end.",
    .examples = PROG_EXAMPLES("thresher-bench rank", "thresher-bench rank --share 5",
                              "thresher-bench rank --convergence"));
