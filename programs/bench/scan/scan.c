/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan.c - `thresher-bench scan`: one thread, the figures of docs/benchmarks.md, every answer checked.
 *
 * Each section measures both sides of its comparison in this run. A side's time is the best of its repeats. Synthetic
 * data is called synthetic.
 */
#include "run.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json.h"
#include "cli/program.h"
#include "cli/messages.h"

enum { K = 10, ROUNDS = 8, SCAN_REPEATS = 6, BUILD_ROWS = 1000000, BUILD_DIMS = 200, MIN_CODE_BYTES = 256 << 20 };

static const double TARGET_BANDWIDTH = 0.90, TARGET_EXACT_BANDWIDTH = 0.80, TARGET_BUILD_S = 3.0, TARGET_OPEN_MS = 20.0;
static const uint64_t TARGET_BUILD_BYTES = 256000000, TARGET_LIBRARY_BYTES = 1000000;

static const prog_option options[] = {
    {PROG_TEXT_OPTION("data", "PREFIX", offsetof(bench_scan_values, data),
                      "real vectors PREFIXbase.fvecs.xz and PREFIXquery.fvecs.xz, or without .xz"),
     .fallback = "../shared/data/vectors/books100d_", .names = PROG_NAMES_FILE},
    {PROG_COUNT_OPTION("items", "N", offsetof(bench_scan_values, items),
                       "items of the synthetic scans, at least; their codes are 256 MiB or more in any case"),
     .fallback = "4000000", .least = 1000, .most = 1000000000},
    {BENCH_SCRATCH_OPTION(offsetof(bench_scan_values, scratch))},
    {PROG_FLAG_OPTION("peers", offsetof(bench_scan_values, peers),
                      "also run the peers of programs/bench/search/exact.py that are installed (Python)")},
    PROG_OPTIONS_END,
};

/* ------------------------------------------------------------------------------------- full-plane scans */

static const struct { uint32_t n_dims, bits; } SHAPES[] = {{64, 2}, {96, 3}, {200, 3}};
enum { N_SHAPES = sizeof SHAPES / sizeof *SHAPES };

/* Best time of one query, k = 10, seconds; the answers' scores must not increase and ids must differ. */
static double time_search(bench_scan_run *run, thr_index *index, const thr_search_options *options_in, uint32_t n_dims,
                          int repeats) {
    double best = INFINITY;
    float query[512];
    uint64_t ids[K];
    float scores[K];
    for (int i = 0; i < repeats; i++) {
        bench_normal normal = {.seed = 1000, .n_dims = n_dims};
        (void)bench_normal_rows(&normal, (uint64_t)i, 1, query);
        const thr_matrix rows = thr_matrix_f32(query, 1, n_dims);
        const double start = bench_clock();
        bench_must(run, thr_index_search(index, &rows, K, options_in, ids, scores, &run->err));
        const double took = bench_clock() - start;
        best = took < best ? took : best;
        for (int j = 1; j < K; j++)
            if (!(scores[j] <= scores[j - 1]) || ids[j] == ids[j - 1])
                bench_fail(run, "answers are not in order or hold an item twice");
    }
    return best;
}

static void bench_shape(bench_scan_run *run, bench_table *table, int shape) {
    const uint32_t n_dims = SHAPES[shape].n_dims, bits = SHAPES[shape].bits;
    bench_normal normal = {.seed = run->program->globals.seed, .n_dims = n_dims};
    /* Far more codes than a cache holds, or the plain read would be one of the cache. */
    const uint64_t enough = MIN_CODE_BYTES / (bits * ((n_dims + 7) / 8));
    const uint64_t items = run->values->items > enough ? run->values->items : enough;
    char dir[4096];
    (void)snprintf(dir, sizeof dir, "%s/scan%d", run->scratch, shape);
    thr_index_build_options build;
    thr_index_build_options_init(&build);
    build.item_bits = build.lead_bits = bits; /* all planes are read */
    build.keep = THR_DTYPE_NONE;
    build.calibration_queries = 0;
    thr_index *index = bench_make_index(
        run, run->context, bench_reader(run, run->context, items, n_dims, bench_normal_rows, &normal), dir, &build);
    thr_search_options search;
    thr_search_options_init(&search);
    size_t size = 0;
    const void *file = bench_map_segment(dir, &size);
    /* In turns, because other processes share the memory bandwidth. */
    double read = 0, took = INFINITY;
    for (int round = 0; round < ROUNDS; round++) {
        read = fmax(read, bench_read_bandwidth(file, size));
        took = fmin(took, time_search(run, index, &search, n_dims, SCAN_REPEATS));
    }
    bench_unmap(file, size);
    const thr_index_info info = thr_index_get_info(index);
    const double rate = (double)info.code_bytes / took;
    bench_row(table, "%u d x %u bits | %.1f M | %.0f | %.2f | %.0f | %.1f | %.1f | %.2f | %.2f", n_dims, bits,
              (double)info.n_items * 1e-6, (double)info.code_bytes / (double)info.n_items, took * 1e3,
              (double)info.n_items / took * 1e-6, rate * 1e-9, read * 1e-9, rate / read,
              rate / run->anonymous_bandwidth);
    run->scan_share[shape] = rate / read;
    thr_index_free(index);
    bench_scratch_remove(dir);
}

static void bench_shapes(bench_scan_run *run) {
    static bench_table table;
    bench_table_begin(&table, "One query over all planes, 4-bit query, k = 10, codes only (synthetic)",
                      "codes | items | bytes an item | ms a query | M items/s | GB/s of codes | GB/s plain read | "
                      "share | of huge pages");
    run->anonymous_bandwidth = bench_anonymous_bandwidth();
    for (int shape = 0; shape < N_SHAPES; shape++)
        bench_shape(run, &table, shape);
    bench_print(run, &table);
    bench_say(
        run,
        "Plain read: the best of passes that sum the words of the same mapped file, in turns with the scans. \"Of huge "
        "pages\": the share of a plain read of anonymous memory in huge pages, %.1f GB/s.\n\n",
        run->anonymous_bandwidth * 1e-9);
    for (int shape = 0; shape < N_SHAPES; shape++)
        bench_figure(run, "scan_share_of_read_bandwidth", run->scan_share[shape], TARGET_BANDWIDTH, true,
                     "full-plane scan of %u d x %u bits with selection, over plain read", SHAPES[shape].n_dims,
                     SHAPES[shape].bits);
}

/* ------------------------------------------------------------------------------------------- build, open */

typedef struct build_work {
    bench_scan_run *run;
    const char *file, *dir;
    thr_dtype keep;
    bool calibrated;
} build_work;

/* In a child: its exit code is 0 when the index was built; the parent takes the time. */
static int build_in_child(void *arg) {
    const build_work *work = arg;
    thr_context *context = NULL;
    thr_reader *reader = NULL;
    thr_error err;
    thr_context_options o;
    thr_context_options_init(&o);
    o.n_threads = 1;
    thr_index_build_options build;
    thr_index_build_options_init(&build);
    build.keep = work->keep;
    build.replace = true;
    if (!work->calibrated)
        build.calibration_queries = 0;
    thr_status status = thr_context_create(&o, &context, &err);
    if (status == THR_OK)
        status = thr_reader_open(context, work->file, &reader, &err);
    if (status == THR_OK)
        status = thr_index_build(context, work->dir, reader, &build, &err);
    if (status != THR_OK)
        prog_error("%s", err.text);
    thr_reader_free(reader);
    thr_context_free(context);
    return status == THR_OK ? 0 : 1;
}

/* Open, first answer, close; the best of some. */
static void bench_open(bench_scan_run *run, const char *dir) {
    double best = INFINITY;
    for (int repeat = 0; repeat < 7; repeat++) {
        float query[BUILD_DIMS];
        uint64_t ids[K];
        bench_normal other = {.seed = 77, .n_dims = BUILD_DIMS};
        (void)bench_normal_rows(&other, (uint64_t)repeat, 1, query);
        const thr_matrix rows = thr_matrix_f32(query, 1, BUILD_DIMS);
        thr_index *index = NULL;
        const double start = bench_clock();
        bench_must(run, thr_index_open(run->context, dir, &index, &run->err));
        bench_must(run, thr_index_search(index, &rows, K, NULL, ids, NULL, &run->err));
        const double took = bench_clock() - start;
        best = took < best ? took : best;
        thr_index_free(index);
    }
    bench_figure(run, "open_and_first_query_ms", best * 1e3, TARGET_OPEN_MS, false,
                 "open an index of 1 M x 200 items and answer the first query, page cache warm, ms");
}

/* The exact scan of far more vectors than a cache holds. */
static void bench_exact(bench_scan_run *run, const char *dir) {
    thr_index *index = NULL;
    thr_search_options exact;
    thr_search_options_init(&exact);
    exact.exact = true;
    bench_must(run, thr_index_open(run->context, dir, &index, &run->err));
    size_t size = 0;
    const void *file = bench_map_segment(dir, &size);
    const double took = time_search(run, index, &exact, BUILD_DIMS, 7);
    const double read = bench_read_bandwidth(file, size), rate = (double)thr_index_get_info(index).vector_bytes / took;
    bench_unmap(file, size);
    thr_index_free(index);
    bench_say(run,
              "Exact scan of 1 M x 200 float32: %.1f ms a query, %.1f GB/s; plain read of the same file %.1f GB/s.\n\n",
              took * 1e3, rate * 1e-9, read * 1e-9);
    bench_figure(run, "exact_share_of_read_bandwidth", rate / read, TARGET_EXACT_BANDWIDTH, true,
                 "exact float scan of 1 M x 200 over plain read of the same file");
}

static void bench_build(bench_scan_run *run) {
    /* A calibration maps the files, which counts as memory: time and memory without it, then the time with it. */
    static const struct {
        thr_dtype keep;
        bool calibrated;
    } BUILDS[] = {{THR_DTYPE_NONE, false}, {THR_DTYPE_F16, false}, {THR_DTYPE_F32, false}, {THR_DTYPE_F32, true}};
    static bench_table table;
    bench_table_begin(
        &table, "Build 1 M x 200 float32 from a file in the page cache, 3 bits, flushed to disk (synthetic)",
        "kept for refine | calibrated | seconds | M items/s | peak memory, MB | of it codes, MB | index, MB");
    char file[4096], dir[4096];
    (void)snprintf(file, sizeof file, "%s/build.fbin", run->scratch);
    (void)snprintf(dir, sizeof dir, "%s/build", run->scratch);
    const bench_normal normal = {.seed = run->program->globals.seed, .n_dims = BUILD_DIMS};
    bench_save_normal_fbin(run, file, &normal, BUILD_ROWS);
    double seconds = 0, beyond = 0;
    for (int i = 0; i < 4; i++) {
        build_work work = {run, file, dir, BUILDS[i].keep, BUILDS[i].calibrated};
        double best = INFINITY;
        uint64_t peak = 0;
        for (int repeat = 0; repeat < (work.calibrated ? 1 : 3); repeat++) {
            uint64_t bytes = 0;
            const double start = bench_clock();
            if (bench_in_child(build_in_child, &work, &bytes) != 0)
                bench_fail(run, "%s: the build failed", dir);
            const double took = bench_clock() - start;
            best = took < best ? took : best;
            peak = bytes > peak ? bytes : peak;
        }
        thr_index *index = NULL;
        bench_must(run, thr_index_open(run->context, dir, &index, &run->err));
        const thr_index_info info = thr_index_get_info(index);
        thr_index_free(index);
        bench_row(&table, "%s | %s | %.2f | %.2f | %.0f | %.0f | %.0f", thr_dtype_name(work.keep),
                  work.calibrated ? "yes" : "no", best, (double)info.n_items / best * 1e-6, (double)peak * 1e-6,
                  (double)info.code_bytes * 1e-6, (double)info.file_bytes * 1e-6);
        if (work.calibrated)
            continue;
        seconds = best;
        beyond = (double)(peak - info.code_bytes);
    }
    bench_print(run, &table);
    bench_figure(run, "build_1m_x_200_s", seconds, TARGET_BUILD_S, false,
                 "build 1 M x 200 float32, float32 kept, not calibrated, seconds");
    bench_figure(run, "build_peak_beyond_codes_mb", beyond * 1e-6, (double)TARGET_BUILD_BYTES * 1e-6, false,
                 "its peak memory beyond the codes, MB");
    (void)remove(file);

    bench_open(run, dir);
    bench_exact(run, dir);
    bench_filter(run, dir);
    bench_scratch_remove(dir);
}

/* ------------------------------------------------------------------------------------------------ all */

static void bench_sections(bench_scan_run *run) {
    bench_say_machine(run, "scan");
    /* The build is first: a child's peak memory counts what the parent held when it was made. */
    bench_build(run);
    bench_shapes(run);
    bench_real(run);
    const uint64_t library = bench_library_size();
    if (library > 0)
        bench_figure(run, "library_kb", (double)library * 1e-3, (double)TARGET_LIBRARY_BYTES * 1e-3, false,
                     "size of libthresher.so as it is loaded here, kB");
}

static int bench_scan(program *run, const void *values) {
    return bench_run(run, values, bench_sections);
}

const prog_command bench_scan_command = {
    PROG_COMMAND("scan", NULL, bench_scan_values, bench_no_arguments, options, bench_scan),
    .summary = "measure builds, scans and searches on this machine",
    .text = "Prints the figures of docs/benchmarks.md for this machine, as Markdown tables: build, open, searches with "
            "filters, full-plane scans over the plain read bandwidth, and search over the exact float scan of the same "
            "vectors, with one "
            "thread and every answer checked.\n\n"
            "The real vectors are left out, with a word, when they are not there. It takes a few minutes and 3 GB "
            "of scratch space.",
    .examples = PROG_EXAMPLES("thresher-bench scan", "thresher-bench scan --json"),
};
