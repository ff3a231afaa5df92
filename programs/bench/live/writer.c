/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer.c - `thresher-bench writer`: durable changes over the disk's own flushes, adds in batches over a build, and a
 * refresh after 1,000 added items, and look-ups by name. Vectors are synthetic.
 *
 * Checked: every acknowledged item is there when the index is opened again, and an added item is found after a refresh.
 */
#define _DEFAULT_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/program.h"
#include "run.h"

enum {
    SINGLE_DIMS = 384,
    BATCH_DIMS = 100,
    BATCH = 1000,
    THREADS = 16,
    REFRESHES = 20,
    NAMED = 400000,
    NAMED_DIMS = 8,
    LOOKUPS = 200000
};

static const double SECONDS = 3; /* of each measurement of single adds */
static const double TARGET_ONE = 0.9, TARGET_MANY = 4, TARGET_BATCH_RATE = 200e3, TARGET_BATCH_SHARE = 0.5,
                    TARGET_REFRESH_MS = 2, TARGET_NAMES_RATE = 100e3;

typedef struct writer_bench {
    bench_scan_run *run;
    thr_context *context; /* of any number of threads, unlike the run's */
    char dir[2048];
} writer_bench;

/* ------------------------------------------------------------------------------------------------ single adds */

/* Appends of a vector and its id to a file, flushed one by one, a second. */
static double disk_rate(writer_bench *b) {
    char path[2048];
    static char bytes[SINGLE_DIMS * sizeof(float) + 80];
    (void)snprintf(path, sizeof path, "%s/flushed", b->run->scratch);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        bench_fail(b->run, "%s: cannot be created", path);
    uint64_t n = 0;
    const double start = bench_clock();
    double end = start;
    while (end - start < SECONDS) {
        if (pwrite(fd, bytes, sizeof bytes, (off_t)(n * sizeof bytes)) != (ssize_t)sizeof bytes || fdatasync(fd) != 0)
            bench_fail(b->run, "%s: cannot be written", path);
        n++;
        end = bench_clock();
    }
    (void)close(fd);
    (void)unlink(path);
    return (double)n / (end - start);
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

/* Durable adds a second of some threads to an empty index; all of them must be there afterwards. */
static double add_rate(writer_bench *b, int n_threads) {
    static adder adders[THREADS];
    thr_index_create_options options;
    thr_index_writer *writer = NULL;
    thr_index *index = NULL;
    atomic_ullong n_added = 0;
    thr_index_create_options_init(&options);
    options.n_dims = SINGLE_DIMS;
    options.replace = true;
    bench_must(b->run, thr_index_create(b->context, b->dir, &options, &b->run->err));
    bench_must(b->run, thr_index_writer_open(b->context, b->dir, NULL, &writer, &b->run->err));
    const double start = bench_clock();
    for (int i = 0; i < n_threads; i++) {
        adders[i] = (adder){.writer = writer, .end = start + SECONDS, .seed = (uint64_t)i, .n_added = &n_added};
        if (pthread_create(&adders[i].thread, NULL, add_singles, &adders[i]) != 0)
            bench_fail(b->run, "no thread could be started");
    }
    for (int i = 0; i < n_threads; i++) {
        (void)pthread_join(adders[i].thread, NULL);
        if (adders[i].failed)
            bench_fail(b->run, "an item could not be added");
    }
    const double seconds = bench_clock() - start;
    thr_index_writer_free(writer);
    bench_must(b->run, thr_index_open(b->context, b->dir, &index, &b->run->err));
    if (thr_index_get_info(index).n_items != n_added)
        bench_fail(b->run, "%" PRIu64 " items of %llu that were added", thr_index_get_info(index).n_items,
                   (unsigned long long)n_added);
    thr_index_free(index);
    return (double)n_added / seconds;
}

static void measure_singles(writer_bench *b) {
    bench_table table;
    const double before = disk_rate(b), one = add_rate(b, 1), between = disk_rate(b), many = add_rate(b, THREADS);
    const double disk = (before + between + disk_rate(b)) / 3;
    bench_table_begin(&table, "Durable adds of one item, 384 dimensions, to an index that began empty",
                      "What | a second | over the disk's flushes");
    bench_row(&table, "write and fdatasync of as many bytes | %.0f | 1", disk);
    bench_row(&table, "one thread | %.0f | %.2f", one, one / disk);
    bench_row(&table, "%d threads | %.0f | %.2f", THREADS, many, many / disk);
    bench_print(b->run, &table);
    bench_figure(b->run, "writer_single_adds_over_flushes", one / disk, TARGET_ONE, true,
                 "durable adds of one thread over flushes of the disk");
    bench_figure(b->run, "writer_group_adds_over_flushes", many / disk, TARGET_MANY, true,
                 "durable adds of %d threads over flushes of the disk", THREADS);
}

/* ------------------------------------------------------------------------------------------------ batches */

static void fill(writer_bench *b, uint64_t n, float *rows) {
    bench_normal normal = {.seed = b->run->program->globals.seed, .n_dims = BATCH_DIMS};
    for (uint64_t i = 0; i < n;)
        i += bench_normal_rows(&normal, i, n - i, rows + i * BATCH_DIMS);
}

/* The seconds to add all items in batches to an index that began empty. */
static double add_batches(writer_bench *b, uint64_t n_items) {
    thr_index_create_options options;
    thr_index_writer *writer = NULL;
    float *rows = bench_room(b->run, (size_t)n_items * BATCH_DIMS * sizeof *rows);
    thr_index_create_options_init(&options);
    options.n_dims = BATCH_DIMS;
    options.replace = true;
    fill(b, n_items, rows);
    bench_must(b->run, thr_index_create(b->context, b->dir, &options, &b->run->err));
    bench_must(b->run, thr_index_writer_open(b->context, b->dir, NULL, &writer, &b->run->err));
    const double start = bench_clock();
    for (uint64_t i = 0; i + BATCH <= n_items; i += BATCH) {
        const thr_matrix batch = thr_matrix_f32(rows + i * BATCH_DIMS, BATCH, BATCH_DIMS);
        bench_must(b->run, thr_index_writer_add(writer, &batch, NULL, NULL, NULL, &b->run->err));
    }
    const double seconds = bench_clock() - start;
    thr_index_writer_free(writer);
    free(rows);
    return seconds;
}

static double build(writer_bench *b, uint64_t n_items) {
    float *rows = bench_room(b->run, (size_t)n_items * BATCH_DIMS * sizeof *rows);
    thr_index_build_options options;
    thr_reader *reader = NULL;
    thr_index_build_options_init(&options);
    options.replace = true;
    fill(b, n_items, rows);
    const thr_matrix all = thr_matrix_f32(rows, n_items, BATCH_DIMS);
    const double start = bench_clock();
    bench_must(b->run, thr_reader_from_matrix(b->context, &all, &reader, &b->run->err));
    bench_must(b->run, thr_index_build(b->context, b->dir, reader, &options, &b->run->err));
    const double seconds = bench_clock() - start;
    thr_reader_free(reader);
    free(rows);
    return seconds;
}

static void measure_batches(writer_bench *b) {
    bench_table table;
    const uint64_t n = b->run->values->items;
    const double batches = (double)n / add_batches(b, n), built = (double)n / build(b, n);
    bench_table_begin(&table, "Items a second, 100 dimensions", "What | items a second | over the build");
    bench_row(&table, "build of %" PRIu64 " items | %.0f | 1", n, built);
    bench_row(&table, "durable adds of %d at once | %.0f | %.2f", BATCH, batches, batches / built);
    bench_print(b->run, &table);
    bench_figure(b->run, "writer_batch_items_a_second", batches, TARGET_BATCH_RATE, true, "items a second in batches");
    bench_figure(b->run, "writer_batch_over_build", batches / built, TARGET_BATCH_SHARE, true,
                 "adds in batches over a build");
}

/* ------------------------------------------------------------------------------------------------ refresh */

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The index that was built last gets 1,000 items before every refresh. */
static void measure_refresh(writer_bench *b) {
    static float rows[BATCH * BATCH_DIMS];
    double ms[REFRESHES];
    bench_normal normal = {.seed = b->run->program->globals.seed + 1, .n_dims = BATCH_DIMS};
    thr_index *index = NULL, *newer = NULL;
    thr_index_writer *writer = NULL;
    thr_index_change change;
    size_t n = 0;
    bench_must(b->run, thr_index_writer_open(b->context, b->dir, NULL, &writer, &b->run->err));
    bench_must(b->run, thr_index_open(b->context, b->dir, &index, &b->run->err));
    for (int i = 0; n < REFRESHES; i++) {
        uint64_t found;
        (void)bench_normal_rows(&normal, (uint64_t)i * BATCH, BATCH, rows);
        const thr_matrix batch = thr_matrix_f32(rows, BATCH, BATCH_DIMS), query = thr_matrix_f32(rows, 1, BATCH_DIMS);
        bench_must(b->run, thr_index_writer_add(writer, &batch, NULL, NULL, &change, &b->run->err));
        const bool same = thr_index_get_info(index).format_version == 4;
        const uint32_t n_segments = thr_index_get_info(index).n_segments;
        const double start = bench_clock();
        bench_must(b->run, thr_index_refresh(index, &newer, &b->run->err));
        const double end = bench_clock();
        if (newer == NULL)
            bench_fail(b->run, "a refresh found nothing new");
        thr_index_free(index);
        index = newer;
        if (same && thr_index_get_info(index).n_segments == n_segments) /* else the journal became a segment */
            ms[n++] = (end - start) * 1e3;
        bench_must(b->run, thr_index_search(index, &query, 1, NULL, &found, NULL, &b->run->err));
        if (found != change.first_id)
            bench_fail(b->run, "an added item was not found");
    }
    thr_index_free(index);
    thr_index_writer_free(writer);
    qsort(ms, REFRESHES, sizeof *ms, ascending);
    bench_say(b->run,
              "Refresh of %" PRIu64 " items after %d were added to the journal: median %.2f ms, worst %.2f ms\n\n",
              b->run->values->items, BATCH, ms[REFRESHES / 2], ms[REFRESHES - 1]);
    bench_figure(b->run, "writer_refresh_ms", ms[REFRESHES / 2], TARGET_REFRESH_MS, false,
                 "ms of a refresh after %d added items", BATCH);
}

/* ------------------------------------------------------------------------------------------------ names */

static void build_named(writer_bench *b) {
    char path[2048 + 16];
    bench_normal normal = {.seed = 3, .n_dims = NAMED_DIMS};
    thr_index_build_options options;
    thr_reader *reader = NULL;
    (void)snprintf(path, sizeof path, "%s.txt", b->dir);
    FILE *names = fopen(path, "w");
    if (names == NULL)
        bench_fail(b->run, "%s: cannot be created", path);
    for (int i = 0; i < NAMED; i++)
        (void)fprintf(names, "item %d\n", i);
    if (fclose(names) != 0)
        bench_fail(b->run, "%s: cannot be written", path);
    thr_index_build_options_init(&options);
    options.replace = true;
    options.ids_path = path;
    bench_must(b->run, thr_reader_from_function(b->context, NAMED, NAMED_DIMS, bench_normal_rows, &normal, &reader,
                                                &b->run->err));
    bench_must(b->run, thr_index_build(b->context, b->dir, reader, &options, &b->run->err));
    thr_reader_free(reader);
    (void)unlink(path);
}

static void measure_names(writer_bench *b) {
    thr_index *index = NULL;
    uint64_t state = 4, id;
    char name[32];
    build_named(b);
    bench_must(b->run, thr_index_open(b->context, b->dir, &index, &b->run->err));
    const double start = bench_clock();
    for (int i = 0; i < LOOKUPS; i++) {
        const uint64_t wanted = bench_random(&state) % NAMED;
        (void)snprintf(name, sizeof name, "item %" PRIu64, wanted);
        bench_must(b->run, thr_index_find(index, name, &id, &b->run->err));
        if (id != wanted)
            bench_fail(b->run, "the name '%s' was found at the wrong item", name);
    }
    const double rate = LOOKUPS / (bench_clock() - start);
    thr_index_free(index);
    bench_say(b->run, "Items found by name among %d, one by one: %.0f a second, %.2f us each\n\n", NAMED, rate,
              1e6 / rate);
    bench_figure(b->run, "writer_names_a_second", rate, TARGET_NAMES_RATE, true,
                 "items found by name a second, one by one");
}

/* ------------------------------------------------------------------------------------------------ the command */

static void measure(bench_scan_run *run) {
    writer_bench b = {.run = run};
    (void)snprintf(b.dir, sizeof b.dir, "%s/writer", run->scratch);
    bench_say_machine(run, "writer");
    bench_must(run, thr_context_create(NULL, &b.context, &run->err));
    measure_singles(&b);
    measure_batches(&b);
    measure_refresh(&b);
    measure_names(&b);
    thr_context_free(b.context);
}

static int run_writer(program *run, const void *values) {
    return bench_run(run, values, measure);
}

static const prog_option options[] = {
    {PROG_COUNT_OPTION("items", "N", offsetof(bench_scan_values, items),
                       "items of 100 dimensions, built and added; a kilobyte of scratch space and memory each"),
     .fallback = "1000000", .least = 10000, .most = 100000000},
    {BENCH_SCRATCH_OPTION(offsetof(bench_scan_values, scratch))},
    PROG_OPTIONS_END,
};

const prog_command bench_writer_command = {
    PROG_COMMAND("writer", NULL, bench_scan_values, bench_no_arguments, options, run_writer),
    .summary = "measure changes of an index on this machine",
    .text =
        "Prints durable adds a second of one thread and of sixteen over the disk's own flushes, adds in batches of a "
        "thousand over a build, the time of a refresh, and how many items are found by name a second. The disk is that "
        "of the scratch directory.",
    .examples = PROG_EXAMPLES("thresher-bench writer", "thresher-bench writer --items 200000 --scratch ."),
};
