/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer.c - `thresher-bench writer`: durable changes over the disk's own flushes, and adds in batches over a build.
 * Vectors are synthetic. Checked: every acknowledged item is there when the index is opened again.
 */
#define _DEFAULT_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "bench.h"

enum { SINGLE_DIMS = 384, BATCH_DIMS = 100, BATCH = 1000, THREADS = 16 };

/* Measurements of single adds alternate, as disks change their rates. Shorter ones would mostly time learning codes. */
static const double SECONDS = 2;
enum { ROUNDS = 4 };
static const double TARGET_ONE = 0.9, TARGET_MANY = 4, TARGET_BATCH_RATE = 200e3, TARGET_BATCH_SHARE = 0.5;

typedef struct writer_bench {
    thr_context *context; /* of any number of threads, unlike the run's */
    const char *dir;
} writer_bench;

/* ------------------------------------------------------------------------------------------------ single adds */

/* Writes of a vector and its id to the end of a file, flushed one by one, a second. */
static double disk_rate(void) {
    enum { FRAME = SINGLE_DIMS * sizeof(float) + 80 };
    static char bytes[FRAME];
    const char *path = bench_path("flushed");
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    uint64_t n = 0;
    if (fsync(fd) != 0)
        bench_fail("%s: cannot be flushed", path);
    const double start = bench_clock();
    for (; bench_clock() - start < SECONDS; n++)
        if (pwrite(fd, bytes, FRAME, (off_t)(n * FRAME)) != FRAME || fdatasync(fd) != 0)
            bench_fail("%s: cannot be written", path);
    const double seconds = bench_clock() - start;
    (void)close(fd);
    return (double)n / seconds;
}

typedef struct adder {
    pthread_t thread;
    thr_index_writer *writer;
    double end;
    uint64_t seed;
    atomic_ullong *n_added;
    bool failed;
} adder;

static void *add_singles(void *arg) {
    adder *a = arg;
    bench_normal normal = {.seed = a->seed, .n_dims = SINGLE_DIMS};
    float row[SINGLE_DIMS] = {0};
    const thr_matrix one = thr_matrix_f32(row, 1, SINGLE_DIMS);
    for (uint64_t i = 0; bench_clock() < a->end && !a->failed; i++) {
        (void)bench_normal_rows(&normal, i, 1, row);
        a->failed = thr_index_writer_add(a->writer, &one, NULL, NULL, NULL, NULL) != THR_OK;
        (void)atomic_fetch_add(a->n_added, 1);
    }
    return NULL;
}

/* A writer of a new and empty index. */
static thr_index_writer *create(writer_bench *b, uint32_t n_dims) {
    thr_index_create_options options = {0};
    options.n_dims = n_dims;
    options.replace = true;
    thr_index_writer *writer = NULL;
    bench_check(thr_index_create(b->context, b->dir, &options, &bench.err));
    bench_check(thr_index_writer_open(b->context, b->dir, NULL, &writer, &bench.err));
    return writer;
}

/* Durable adds per second of some threads to an empty index; all of them must be there afterwards. */
static double add_rate(writer_bench *b, int n_threads) {
    static adder adders[THREADS];
    atomic_ullong n_added = 0;
    thr_index_writer *writer = create(b, SINGLE_DIMS);
    const double start = bench_clock();
    for (int i = 0; i < n_threads; i++) {
        adders[i] = (adder){.writer = writer, .end = start + SECONDS, .seed = (uint64_t)i, .n_added = &n_added};
        if (pthread_create(&adders[i].thread, NULL, add_singles, &adders[i]) != 0)
            bench_fail("no thread could be started");
    }
    for (int i = 0; i < n_threads; i++) {
        (void)pthread_join(adders[i].thread, NULL);
        if (adders[i].failed)
            bench_fail("an item could not be added");
    }
    const double seconds = bench_clock() - start;
    thr_index_writer_free(writer);
    thr_index *index = bench_open(b->context, b->dir);
    if (thr_index_get_info(index).n_items != n_added)
        bench_fail("%" PRIu64 " items of %llu that were added", thr_index_get_info(index).n_items,
                   (unsigned long long)n_added);
    thr_index_free(index);
    return (double)n_added / seconds;
}

static double median(double *values) {
    bench_sort(values, ROUNDS);
    return (values[ROUNDS / 2 - 1] + values[ROUNDS / 2]) / 2;
}

static void measure_singles(writer_bench *b) {
    enum { APPENDS, ONE, MANY, N_WAYS };
    static const char *const words[N_WAYS] = {"write and fdatasync of as many bytes at a file's end", "one thread",
                                              "16 threads"};
    double rates[N_WAYS][ROUNDS], over[N_WAYS][ROUNDS], medians[N_WAYS];
    for (int round = 0; round < ROUNDS; round++) {
        const double before = disk_rate();
        rates[ONE][round] = add_rate(b, 1);
        rates[MANY][round] = add_rate(b, THREADS);
        rates[APPENDS][round] = (before + disk_rate()) / 2;
        for (int i = 0; i < N_WAYS; i++)
            over[i][round] = rates[i][round] / rates[APPENDS][round];
    }
    bench_table *table =
        bench_table_begin("durable adds of one item", 1, "what | a second | over flushes at a file's end");
    for (int i = 0; i < N_WAYS; i++) {
        medians[i] = median(over[i]);
        bench_row(table, "%s | %.0f | %.2f", words[i], median(rates[i]), medians[i]);
    }
    bench_print(table);
    bench_at_least(medians[ONE], TARGET_ONE, "durable adds of one thread over flushes of the disk");
    bench_at_least(medians[MANY], TARGET_MANY, "durable adds of %d threads over flushes of the disk", THREADS);
}

/* ------------------------------------------------------------------------------------------------ batches */

/* Items per second of adds in batches to an index that began empty; and of a build of the same items. */
static double add_batches(writer_bench *b, const float *rows, uint64_t n_items) {
    double seconds;
    thr_index_writer *writer = create(b, BATCH_DIMS);
    for (BENCH_BEST(seconds, 1))
        for (uint64_t i = 0; i + BATCH <= n_items; i += BATCH) {
            const thr_matrix batch = thr_matrix_f32(rows + i * BATCH_DIMS, BATCH, BATCH_DIMS);
            bench_check(thr_index_writer_add(writer, &batch, NULL, NULL, NULL, &bench.err));
        }
    thr_index_writer_free(writer);
    return (double)n_items / seconds;
}

static double build(writer_bench *b, const float *rows, uint64_t n_items) {
    const thr_matrix all = thr_matrix_f32(rows, n_items, BATCH_DIMS);
    double seconds;
    thr_reader *reader = NULL;
    thr_index_build_options options = {0};
    options.replace = true;
    bench_check(thr_reader_from_matrix(b->context, &all, &reader, &bench.err));
    for (BENCH_BEST(seconds, 1))
        bench_check(thr_index_build(b->context, b->dir, reader, &options, &bench.err));
    thr_reader_free(reader);
    return (double)n_items / seconds;
}

static void measure_batches(writer_bench *b) {
    const uint64_t n = bench.values->items;
    bench_normal normal = {.seed = bench.program->globals.seed, .n_dims = BATCH_DIMS};
    float *rows = bench_alloc((size_t)n * BATCH_DIMS * sizeof *rows);
    for (uint64_t first = 0; first < n;)
        first += bench_normal_rows(&normal, first, n - first, rows + first * BATCH_DIMS);
    const double batches = add_batches(b, rows, n), built = build(b, rows, n);
    bench_table *table =
        bench_table_begin("items per second, 100 dimensions", 1, "what | items per second | over the build");
    bench_row(table, "build of %" PRIu64 " items | %.0f | 1", n, built);
    bench_row(table, "durable adds of %d at once | %.0f | %.2f", BATCH, batches, batches / built);
    bench_print(table);
    bench_at_least(batches, TARGET_BATCH_RATE, "items per second in batches");
    bench_at_least(batches / built, TARGET_BATCH_SHARE, "adds in batches over a build");
}

/* ------------------------------------------------------------------------------------------------ the command */

static void sections(void) {
    writer_bench b = {.dir = bench_path("writer")};
    bench_print_title("writer");
    bench_check(thr_context_create(NULL, &b.context, &bench.err));
    measure_singles(&b);
    measure_batches(&b);
    thr_context_free(b.context);
}

static const prog_option options[] = {
    {PROG_COUNT_OPTION("items", "N", offsetof(bench_values, items),
                       "items of 100 dimensions, built and added; a kilobyte of scratch space and memory each"),
     .fallback = "1000000", .least = 10000, .most = 100000000},
    BENCH_SCRATCH_OPTION,
    BENCH_CSV_OPTION,
    PROG_OPTIONS_END,
};

BENCH_COMMAND(
    writer, bench_no_arguments, options, sections, .summary = "measure changes of an index on this machine",
    .text =
        "Prints durable adds per second of one thread and of sixteen over the disk's own flushes, and adds in batches "
        "of a thousand over a build. The disk is that of the scratch directory.",
    .examples = PROG_EXAMPLES("thresher-bench writer", "thresher-bench writer --items 200000 --scratch ."));
