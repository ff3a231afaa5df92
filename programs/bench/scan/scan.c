/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan.c - `thresher-bench scan`: one thread, the figures of results/scan.csv, every answer checked.
 *
 * Each section measures both sides of its comparison in this run. A side's time is the best of its repeats. Synthetic
 * data is called synthetic.
 */
#include "bench.h"

enum { K = 10, ROUNDS = 8, SCAN_REPEATS = 6, BUILD_ROWS = 1000000, BUILD_DIMS = 200, MIN_CODE_BYTES = 256 << 20 };

static const double TARGET_BANDWIDTH = 0.90, TARGET_EXACT_BANDWIDTH = 0.80, TARGET_BUILD_S = 3.0, TARGET_OPEN_MS = 20.0;
static const uint64_t TARGET_BUILD_BYTES = 256000000;

static const prog_option options[] = {
    {PROG_COUNT_OPTION("items", "N", offsetof(bench_values, items),
                       "items of the synthetic scans, at least; their codes are 256 MiB or more in any case"),
     .fallback = "4000000", .least = 1000, .most = 1000000000},
    BENCH_SCRATCH_OPTION,
    BENCH_CSV_OPTION,
    PROG_OPTIONS_END,
};

/* ------------------------------------------------------------------------------------- full-plane scans */

static const struct { uint32_t n_dims, bits; } SHAPES[] = {{64, 2}, {96, 3}, {200, 3}};
enum { N_SHAPES = sizeof SHAPES / sizeof *SHAPES };

/* Best time of one query, k = 10, seconds. */
static double time_search(thr_index *index, const thr_search_options *options_in, uint32_t n_dims, int repeats) {
    double best = INFINITY;
    float query[512];
    uint64_t ids[K];
    float scores[K];
    for (int i = 0; i < repeats; i++) {
        bench_normal_row(1000, (uint64_t)i, n_dims, query);
        for (BENCH_ALSO(best))
            bench_ask(index, query, n_dims, K, options_in, ids, scores);
    }
    return best;
}

static void measure_shape(bench_table *table, int shape) {
    const uint32_t n_dims = SHAPES[shape].n_dims, bits = SHAPES[shape].bits;
    bench_normal normal = {.seed = bench.program->globals.seed, .n_dims = n_dims};
    /* Far more codes than a cache holds, or the plain read would be one of the cache. */
    const uint64_t enough = MIN_CODE_BYTES / (bits * ((n_dims + 7) / 8));
    const uint64_t items = bench.values->items > enough ? bench.values->items : enough;
    const char *dir = bench_path("scan%d", shape);
    thr_index_build_options build = {0};
    build.item_bits = build.lead_bits = bits; /* all planes are read */
    build.codes_only = true;
    build.calibration_queries = THR_NO_CALIBRATION;
    thr_reader *reader = bench_reader(bench.context, items, n_dims, bench_normal_rows, &normal);
    thr_index *index = bench_build(bench.context, reader, dir, &build);
    thr_search_options search = {0};
    size_t size = 0;
    const void *file = bench_map_segment(dir, &size);
    /* In turns, because other processes share the memory bandwidth. */
    double read = 0, took = INFINITY;
    for (int round = 0; round < ROUNDS; round++) {
        read = fmax(read, bench_read_bandwidth(file, size));
        took = fmin(took, time_search(index, &search, n_dims, SCAN_REPEATS));
    }
    bench_unmap(file, size);
    const thr_index_info info = thr_index_get_info(index);
    const double rate = (double)info.code_bytes / took;
    bench_row(table, "%u d x %u bits | %.1f M | %.0f | %.2f | %.0f | %.1f | %.1f | %.2f | %.2f", n_dims, bits,
              (double)info.n_items * 1e-6, (double)info.code_bytes / (double)info.n_items, took * 1e3,
              (double)info.n_items / took * 1e-6, rate * 1e-9, read * 1e-9, rate / read,
              rate / bench_memory_bandwidth());
    bench_at_least(rate / read, TARGET_BANDWIDTH, "full-plane scan of %u d x %u bits with selection, over plain read",
                   n_dims, bits);
    thr_index_free(index);
    bench_scratch_remove(dir);
}

static void measure_shapes(void) {
    bench_table *table = bench_table_begin(
        "all planes, 4-bit query", 2,
        "what | items | bytes per item | ms per query | M items/s | GB/s of codes | GB/s plain read | "
        "share of plain read | share of a plain read of huge pages");
    (void)bench_memory_bandwidth(); /* before there are codes */
    for (int shape = 0; shape < N_SHAPES; shape++)
        measure_shape(table, shape);
    bench_print(table);
    bench_print_text(
        "Plain read: the best of passes that sum the words of the same mapped file, in turns with the scans. "
        "\"Of huge pages\": the share of a plain read of anonymous memory in huge pages, %.1f GB/s.\n\n",
        bench_memory_bandwidth() * 1e-9);
}

/* ------------------------------------------------------------------------------------------- build, open */

typedef struct build_work {
    const char *file, *dir;
    thr_dtype keep;
    bool calibrated;
} build_work;

/* In a child: its exit code is 0 when the index was built; the parent takes the time. */
static int build_in_child(void *arg) {
    const build_work *work = arg;
    thr_reader *reader = NULL;
    thr_index_build_options build = {0};
    build.keep = work->keep;
    build.codes_only = work->keep == THR_DTYPE_NONE;
    build.replace = true;
    if (!work->calibrated)
        build.calibration_queries = THR_NO_CALIBRATION;
    bench_check(thr_reader_open(bench.context, work->file, &reader, &bench.err));
    bench_check(thr_index_build(bench.context, work->dir, reader, &build, &bench.err));
    thr_reader_free(reader);
    return 0;
}

/* Open, first answer, close; the best of some. */
static void measure_open(const char *dir) {
    double best = INFINITY;
    float query[BUILD_DIMS];
    uint64_t ids[K];
    for (uint64_t repeat = 0; repeat < 7; repeat++) {
        thr_index *index = NULL;
        bench_normal_row(77, repeat, BUILD_DIMS, query);
        for (BENCH_ALSO(best)) {
            index = bench_open(bench.context, dir);
            bench_ask(index, query, BUILD_DIMS, K, NULL, ids, NULL);
        }
        thr_index_free(index);
    }
    bench_at_most(best * 1e3, TARGET_OPEN_MS,
                  "open an index of 1 M x 200 items and answer the first query, page cache warm, ms");
}

/* The exact scan of far more vectors than a cache holds. */
static void measure_exact(const char *dir) {
    thr_index *index = bench_open(bench.context, dir);
    thr_search_options exact = {0};
    exact.exact = true;
    size_t size = 0;
    const void *file = bench_map_segment(dir, &size);
    const double took = time_search(index, &exact, BUILD_DIMS, 7);
    const double read = bench_read_bandwidth(file, size), rate = (double)thr_index_get_info(index).vector_bytes / took;
    bench_unmap(file, size);
    thr_index_free(index);
    bench_table *table = bench_table_begin("exact scan of 1 M x 200", 1, "system | ms per query | GB/s");
    bench_row(table, "Thresher | %.1f | %.1f", took * 1e3, rate * 1e-9);
    bench_row(table, "plain read |  | %.1f", read * 1e-9);
    bench_print(table);
    bench_at_least(rate / read, TARGET_EXACT_BANDWIDTH,
                   "exact float scan of 1 M x 200 over plain read of the same file");
}

static void measure_build(void) {
    /* A calibration maps the files, which counts as memory: time and memory without it, then the time with it. */
    static const struct {
        thr_dtype keep;
        bool calibrated;
    } BUILDS[] = {{THR_DTYPE_NONE, false}, {THR_DTYPE_F16, false}, {THR_DTYPE_F32, false}, {THR_DTYPE_F32, true}};
    bench_table *table =
        bench_table_begin("build 1 M x 200", 2,
                          "kept | calibrated | seconds | M items/s | peak memory, MB | of it codes, MB | index, MB");
    const char *file = bench_path("build.fbin"), *dir = bench_path("build");
    const bench_normal normal = {.seed = bench.program->globals.seed, .n_dims = BUILD_DIMS};
    bench_save_normal(file, &normal, BUILD_ROWS);
    double seconds = 0, beyond = 0;
    for (int i = 0; i < 4; i++) {
        build_work work = {file, dir, BUILDS[i].keep, BUILDS[i].calibrated};
        double best;
        uint64_t peak = 0;
        for (BENCH_BEST(best, work.calibrated ? 1 : 3)) {
            uint64_t bytes = 0;
            if (bench_in_child(build_in_child, &work, &bytes) != 0)
                bench_fail("%s: the build failed", dir);
            peak = bytes > peak ? bytes : peak;
        }
        thr_index *index = bench_open(bench.context, dir);
        const thr_index_info info = thr_index_get_info(index);
        thr_index_free(index);
        bench_row(table, "%s | %s | %.2f | %.2f | %.0f | %.0f | %.0f", thr_dtype_name(work.keep),
                  work.calibrated ? "yes" : "no", best, (double)info.n_items / best * 1e-6, (double)peak * 1e-6,
                  (double)info.code_bytes * 1e-6, (double)info.file_bytes * 1e-6);
        if (work.calibrated)
            continue;
        seconds = best;
        beyond = (double)(peak - info.code_bytes);
    }
    bench_print(table);
    bench_at_most(seconds, TARGET_BUILD_S, "build 1 M x 200 float32, float32 kept, not calibrated, seconds");
    bench_at_most(beyond * 1e-6, (double)TARGET_BUILD_BYTES * 1e-6, "peak memory of that build beyond the codes, MB");
    (void)remove(file);

    measure_open(dir);
    measure_exact(dir);
    bench_scratch_remove(dir);
}

/* ------------------------------------------------------------------------------------------------ all */

static void sections(void) {
    bench_print_title("scan");
    /* The build is first: a child's peak memory counts what the parent held when it was made. */
    measure_build();
    measure_shapes();
}

BENCH_COMMAND(
    scan, bench_no_arguments, options, sections, .summary = "measure builds, scans and searches on this machine",
    .text =
        "Prints the figures of results/scan.csv for this machine: build, open, full-plane scans and the exact scan of "
        "floats over the plain read bandwidth, with one thread and every answer checked. It takes a few minutes and 3 "
        "GB of scratch space.",
    .examples = PROG_EXAMPLES("thresher-bench scan", "thresher-bench scan --items 1000000"));
