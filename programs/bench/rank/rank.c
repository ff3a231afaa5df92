/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank.c - `thresher-bench rank`: reads examples of two shapes, MQ2007-list's and MSLR-WEB30K's, and learns from them,
 * beside the classic way (classic.c). One thread; both ways must reach the same objective.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <thresher/device.h>

#include "cli/program.h"
#include "rank.h"
#include "cli/messages.h"

enum { N_SHAPES = 2, ROUNDS = 3 };

static const bench_rank_shape SHAPES[N_SHAPES] = {{"MQ2007-list", 741539, 1017, 46, 1268, false},
                                                  {"MSLR-WEB30K", 2300000, 18919, 136, 5, true}};

/* The classic way takes as many rows of each as it has time for. */
static const double CLASSIC_SHARES[N_SHAPES] = {1, 0.1};
static const double C = 1e-4, EPSILON = 1e-5, CLOSE = 1e-6;

typedef struct rank_bench {
    bench_scan_run *run;
    bench_examples examples;
    bench_rank_shape shape;
    double bandwidth; /* bytes a second that a plain read has */
    char path[1100];
    uint64_t text_bytes, n_written; /* queries in the file */
    bench_table reading, training, classic;
} rank_bench;

/* ------------------------------------------------------------------------------------------------ reading */

static void open_file(rank_bench *b, bool cache, thr_ranking **ranking, double *seconds) {
    thr_ranking_options options;
    thr_ranking_options_init(&options);
    options.without_comments = true;
    options.cache = cache;
    const double start = bench_clock();
    bench_must(b->run, thr_ranking_open(b->run->context, b->path, &options, ranking, &b->run->err));
    *seconds = bench_clock() - start;
}

/* The best of some rounds; the first makes the cache, or finds the file in the system's memory. */
static void time_open(rank_bench *b, bool cache, double *seconds) {
    *seconds = INFINITY;
    for (int round = 0; round <= ROUNDS; round++) {
        thr_ranking *ranking = NULL;
        double took;
        open_file(b, cache, &ranking, &took);
        thr_ranking_free(ranking);
        *seconds = round == 0 ? INFINITY : fmin(*seconds, took);
    }
}

/* The most memory that reading takes, the mapped file left out. */
static void measure_memory(rank_bench *b, size_t *most) {
    bench_allocations t = {.n = 0};
    thr_context *context = NULL;
    thr_ranking *ranking = NULL;
    thr_ranking_options how;
    thr_context_options options;
    thr_context_options_init(&options);
    options.n_threads = 1;
    options.allocator = bench_counting_allocator(&t);
    thr_ranking_options_init(&how);
    how.without_comments = true;
    bench_must(b->run, thr_context_create(&options, &context, &b->run->err));
    const size_t before = t.live;
    bench_must(b->run, thr_ranking_open(context, b->path, &how, &ranking, &b->run->err));
    *most = t.most - before;
    thr_ranking_free(ranking);
    thr_context_free(context);
}

static void measure_reading(rank_bench *b, int shape) {
    const double matrix = (double)b->examples.offsets[b->n_written] * b->shape.n_features * sizeof(float);
    size_t most;
    double parse, load;
    time_open(b, false, &parse);
    measure_memory(b, &most);
    time_open(b, true, &load);
    bench_row(&b->reading, "%s | %s | %s | %.2f | %.0f | %.2f | %.1f | %.2f", b->shape.name,
              prog_exact(b->examples.offsets[b->n_written]).text, prog_bytes((double)b->text_bytes).text, parse,
              (double)b->text_bytes / parse * 1e-6, load, matrix / load * 1e-9, (double)most / matrix);
    bench_figure(b->run, shape == 0 ? "rank_parse_list" : "rank_parse_web", (double)b->text_bytes / parse * 1e-6, 400,
                 true, "text read, MB/s, %s", b->shape.name);
    bench_figure(b->run, shape == 0 ? "rank_memory_list" : "rank_memory_web", (double)most / matrix, 1.3, false,
                 "memory of reading over the float32 matrix, %s", b->shape.name);
}

/* ------------------------------------------------------------------------------------------------ training */

static void train(rank_bench *b, thr_context *context, const thr_ranking *ranking, thr_rank_report *report) {
    thr_rank_options options;
    thr_rank_model *model = NULL;
    thr_rank_options_init(&options);
    options.c = C;
    options.epsilon = EPSILON;
    bench_must(b->run, thr_rank_train(context, ranking, &options, &model, report, &b->run->err));
    thr_rank_model_free(model);
    if (!report->converged)
        bench_fail(b->run, "%s: the gradient did not become small enough", b->shape.name);
}

static void report_training(rank_bench *b, const char *device, const thr_rank_report *report) {
    const double matrix = (double)b->shape.n_rows * b->shape.n_features * sizeof(float);
    const double rate = matrix * (double)report->n_products / report->product_seconds;
    bench_row(&b->training,
              "%s%s | %s x %" PRIu32 " | %" PRIu32 " | %s | %.2f | %" PRIu32 ", %" PRIu64 " | %.1f | %.2f | %.2f",
              b->shape.name, device, prog_exact(b->shape.n_rows).text, b->shape.n_features, b->shape.n_levels,
              prog_short((double)report->n_pairs).text, report->seconds, report->n_steps, report->n_products,
              rate * 1e-9, rate / b->bandwidth, 100 * report->pairwise_accuracy);
}

/* The same on a GPU, where there is one: it must come to the same objective. */
static void train_on_gpu(rank_bench *b, const thr_ranking *ranking, const thr_rank_report *wanted) {
    thr_context_options options;
    thr_context *context = NULL;
    thr_rank_report report;
    uint32_t n_gpus = 0;
    if (thr_device_count(&n_gpus, NULL) != THR_OK || n_gpus == 0)
        return;
    thr_context_options_init(&options);
    options.n_threads = 1;
    options.device = "cuda:0";
    bench_must(b->run, thr_context_create(&options, &context, &b->run->err));
    train(b, context, ranking, &report);
    if (report.objective != wanted->objective)
        bench_fail(b->run, "%s: the objective is %.17g, on a GPU %.17g", b->shape.name, wanted->objective,
                   report.objective);
    report_training(b, ", a GPU", &report);
    thr_context_free(context);
}

/* All examples, from memory. */
static void measure_training(rank_bench *b, int shape) {
    const bench_examples *e = &b->examples;
    const thr_matrix rows = thr_matrix_f32(e->values, b->shape.n_rows, b->shape.n_features);
    const double matrix = (double)b->shape.n_rows * b->shape.n_features * sizeof(float);
    thr_ranking *ranking = NULL;
    thr_rank_report report;
    bench_must(b->run, thr_ranking_from_matrix(b->run->context, &rows, e->labels, e->queries, &ranking, &b->run->err));
    train(b, b->run->context, ranking, &report);
    report_training(b, "", &report);
    train_on_gpu(b, ranking, &report);
    thr_ranking_free(ranking);
    const double rate = matrix * (double)report.n_products / report.product_seconds;
    bench_figure(b->run, shape == 0 ? "rank_product_list" : "rank_product_web", rate / b->bandwidth, 0.7, true,
                 "bytes of X a second in products with the Hessian over a plain read's, %s", b->shape.name);
}

/* ------------------------------------------------------------------------------------------------ both ways */

static void report_both(rank_bench *b, const thr_rank_report *ours, const bench_classic_result *theirs, double read_s,
                        int shape) {
    const double whole = (theirs->read_s + theirs->solve_s) / (read_s + ours->seconds);
    const char *const names[] = {"Thresher", "classic"};
    for (int i = 0; i < 2; i++) {
        bench_row(&b->classic, "%s | %s | %s | %.2f | %.2f | %" PRIu32 ", %" PRIu64 " | %.8g | %.1f | %.1f",
                  b->shape.name, prog_exact(b->examples.offsets[b->n_written]).text, names[i],
                  i == 0 ? read_s : theirs->read_s, i == 0 ? ours->seconds : theirs->solve_s,
                  i == 0 ? ours->n_steps : theirs->n_steps, i == 0 ? ours->n_products : theirs->n_products,
                  i == 0 ? ours->objective : theirs->objective, i == 0 ? 1.0 : theirs->solve_s / ours->seconds,
                  i == 0 ? 1.0 : whole);
    }
    bench_figure(b->run, shape == 0 ? "rank_solve_list" : "rank_solve_web", theirs->solve_s / ours->seconds, 20, true,
                 "classic solving over ours, %s", b->shape.name);
    bench_figure(b->run, shape == 0 ? "rank_whole_list" : "rank_whole_web", whole, 5, true,
                 "the same, reading included, %s", b->shape.name);
}

/* The file's examples, read by each. */
static void measure_both(rank_bench *b, int shape) {
    bench_classic_result theirs;
    thr_rank_report ours;
    thr_ranking *ranking = NULL;
    double read_s;
    open_file(b, false, &ranking, &read_s);
    train(b, b->run->context, ranking, &ours);
    thr_ranking_free(ranking);
    bench_classic_train(b->run, b->path, C, EPSILON, NULL, &theirs);
    if (fabs(theirs.objective - ours.objective) > CLOSE * ours.objective)
        bench_fail(b->run, "%s: the objective is %.10g, by the classic way %.10g", b->shape.name, ours.objective,
                   theirs.objective);
    report_both(b, &ours, &theirs, read_s, shape);
}

/* ------------------------------------------------------------------------------------------------ all */

static void run_shape(rank_bench *b, int shape) {
    b->shape = SHAPES[shape];
    const double share = (double)b->run->values->items / 100;
    b->shape.n_rows = (uint64_t)((double)b->shape.n_rows * share);
    b->shape.n_queries = (uint64_t)ceil((double)b->shape.n_queries * share);
    b->examples = bench_examples_draw(b->run, &b->shape);
    b->n_written = (uint64_t)ceil((double)b->shape.n_queries * CLASSIC_SHARES[shape]);
    (void)snprintf(b->path, sizeof b->path, "%s/rank%d.svm", b->run->scratch, shape);
    b->text_bytes = bench_examples_write(b->run, &b->examples, b->n_written, b->path);
    measure_reading(b, shape);
    measure_training(b, shape);
    measure_both(b, shape);
    bench_examples_free(&b->examples);
}

static void run_all(rank_bench *b) {
    bench_table_begin(&b->reading, "Reading SVMlight text, and the cache beside it",
                      "examples | rows | text | read, s | MB/s | cache, s | GB/s of float32 | memory over it");
    bench_table_begin(&b->training, "Training from memory",
                      "examples | rows x features | levels | pairs | s | Newton steps, products | GB/s of X | of a "
                      "plain read | pairs in order, %");
    bench_table_begin(&b->classic, "Beside the classic way, from the same file",
                      "examples | rows | way | read, s | solve, s | Newton steps, products | objective | solve over "
                      "ours | whole over ours");
    b->bandwidth = bench_anonymous_bandwidth();
    if (!(b->bandwidth > 0))
        bench_fail(b->run, "no memory to read");
    bench_say_machine(b->run, "rank");
    bench_say(b->run,
              "Synthetic examples of the shapes of two public sets%s; C = %g a pair, to %g of the gradient at 0. A "
              "plain read of memory: %.1f GB/s. The classic way: doubles with an index each, a trust region, a tree "
              "over labels.\n\n",
              b->run->values->items == 100 ? "" : ", fewer rows", C, EPSILON, b->bandwidth * 1e-9);
    for (int shape = 0; shape < N_SHAPES; shape++)
        run_shape(b, shape);
    bench_print(b->run, &b->reading);
    bench_print(b->run, &b->training);
    bench_print(b->run, &b->classic);
}

static void sections(bench_scan_run *run) {
    if (run->values->curves != NULL) {
        bench_rank_convergence(run, SHAPES, CLASSIC_SHARES, N_SHAPES, C);
        return;
    }
    rank_bench *b = bench_room(run, sizeof *b);
    b->run = run;
    run_all(b);
    free(b);
}

static int run_rank(program *run, const void *values) {
    return bench_run(run, values, sections);
}

static const prog_option options[] = {
    {PROG_COUNT_OPTION("share", "PERCENT", offsetof(bench_scan_values, items),
                       "of the rows that the sets have; all take 3 GB of memory and 1 GB in the scratch directory"),
     .fallback = "100", .least = 1, .most = 100},
    {PROG_TEXT_OPTION("convergence", "DIR", offsetof(bench_scan_values, curves),
                      "instead: how near to the least objective each solver is, by seconds; curves into DIR as .csv"),
     .names = PROG_NAMES_DIR},
    {PROG_TEXT_OPTION("data", "DIR", offsetof(bench_scan_values, data),
                      "with --convergence: where letor/mq2007.partial.svm.xz is, which is left out where it is not"),
     .fallback = "../shared/data", .names = PROG_NAMES_DIR},
    {BENCH_SCRATCH_OPTION(offsetof(bench_scan_values, scratch))},
    PROG_OPTIONS_END,
};

const prog_command bench_rank_command = {
    PROG_COMMAND("rank", NULL, bench_scan_values, bench_no_arguments, options, run_rank),
    .summary = "measure learning to rank on this machine",
    .text = "Makes examples of the shapes of MQ2007-list and MSLR-WEB30K, reads them from text and from the cache, and "
            "learns a linear RankSVM of them, beside the classic way to do it: one thread, the same file, and the same "
            "objective at the end.",
    .examples = PROG_EXAMPLES("thresher-bench rank", "thresher-bench rank --share 5",
                              "thresher-bench rank --convergence curves"),
};
