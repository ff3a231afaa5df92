/* SPDX-License-Identifier: Apache-2.0 */
/*
 * real.c - real vectors: how much faster than the exact scan a search with recall 0.99 is.
 *
 * The truth is our own exact scan, which the peers confirm; recall counts ids. Queries are answered one at a time.
 */
#define _GNU_SOURCE /* popen */
#include <stdlib.h>
#include <string.h>

#include "cli/program.h"
#include "scan.h"

enum { K = 10, REPEATS = 5, N_COUNTS = 7, FIRST_BITS = 2, LAST_BITS = 4 };

static const uint64_t COUNTS[N_COUNTS] = {10, 30, 50, 100, 200, 500, 1000};

typedef struct real_data {
    float *base, *queries;
    uint64_t n_base, n_queries;
    uint32_t n_dims;
    char name[64]; /* the files' */
    uint64_t *truth, *answers;
    uint64_t n_allocations, n_counted; /* of queries that are not the first of their kind, and how many these are */
} real_data;

/* Answer every query by itself; the best of some passes, seconds per query. Those after the first count allocations. */
static double time_queries(thr_index *index, real_data *data, const thr_search_options *options, uint64_t *ids) {
    double best = INFINITY;
    uint64_t before = 0;
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        for (BENCH_ALSO(best))
            for (uint64_t q = 0; q < data->n_queries; q++)
                bench_ask(index, data->queries + q * data->n_dims, data->n_dims, K, options, ids + q * K, NULL);
        before = repeat == 0 ? bench.allocations.n : before;
    }
    data->n_allocations += bench.allocations.n - before;
    data->n_counted += (REPEATS - 1) * data->n_queries;
    return best / (double)data->n_queries;
}

static const char *prefix(void) {
    static char path[2048];
    if (bench.values->data != NULL)
        return bench.values->data;
    (void)snprintf(path, sizeof path, "%s/vectors/books100d_", bench_data());
    return path;
}

/* False where there are no such files. */
static bool load(real_data *data) {
    static const char *const ENDINGS[] = {".xz", ""};
    char path[2][4096];
    for (int i = 0; i < 2; i++) {
        (void)snprintf(path[0], sizeof path[0], "%sbase.fvecs%s", prefix(), ENDINGS[i]);
        (void)snprintf(path[1], sizeof path[1], "%squery.fvecs%s", prefix(), ENDINGS[i]);
        const thr_status status = bench_load(path[0], &data->base, &data->n_base, &data->n_dims);
        if (status == THR_ENOTFOUND || status == THR_EUNSUPPORTED)
            continue;
        bench_check(status);
        bench_check(bench_load(path[1], &data->queries, &data->n_queries, &data->n_dims));
        return true;
    }
    if (bench.values->data == NULL && *bench_data() == '\0')
        bench_print_text("Left out: real vectors, which --data PREFIX or THRESHER_DATA names.\n\n");
    else
        bench_print_text("Left out: no real vectors at %s (--data PREFIX, or THRESHER_DATA).\n\n", path[0]);
    return false;
}

typedef struct real_best {
    double exact, read; /* seconds of the fastest exact scan, bytes per second of reading its file right after it */
    double share, recall, ms;
    uint32_t bits;
    uint64_t count;
} real_best;

static void bench_bits(real_data *data, uint32_t bits, bench_table *table, real_best *best) {
    const char *dir = bench_path("real%u", bits);
    const thr_matrix rows = thr_matrix_f32(data->base, data->n_base, data->n_dims);
    thr_reader *reader = NULL;
    BENCH_OPTIONS(thr_index_build, build);
    build.item_bits = bits;
    bench_check(thr_reader_from_matrix(bench.context, &rows, &reader, &bench.err));
    thr_index *index = bench_build(bench.context, reader, dir, &build);
    BENCH_OPTIONS(thr_search, options);
    options.exact = true;
    const double exact = time_queries(index, data, &options, data->truth);
    if (exact < best->exact) {
        best->exact = exact;
        size_t size = 0;
        const void *file = bench_map_segment(dir, &size);
        best->read = bench_read_bandwidth(file, size);
        bench_unmap(file, size);
    }
    options.exact = false;
    for (int i = 0; i < N_COUNTS; i++) {
        options.n_candidates = COUNTS[i];
        const double took = time_queries(index, data, &options, data->answers);
        const double recall = bench_recall(data->truth, data->answers, (size_t)data->n_queries, K);
        bench_row(table, "%s | %u | %llu | %.4f | %.3f | %.0f | %.1f", data->name, bits, (unsigned long long)COUNTS[i],
                  recall, took * 1e3, 1 / took, exact / took);
        if (recall >= 0.99 && took * 1e3 < best->ms)
            *best = (real_best){best->exact, best->read, exact / took, recall, took * 1e3, bits, COUNTS[i]};
    }
    thr_index_free(index);
    bench_scratch_remove(dir);
}

/* The peers are programs of their own: they read the same vectors, and print cells of the table, separated by tabs. */
static void bench_peers(const real_data *data, bench_table *table) {
    if (strchr(bench.scratch, '\'') != NULL) {
        bench_print_text("The peers were left out: there is a quote in the scratch directory's name.\n\n");
        return;
    }
    const char *base = bench_path("base.fbin"), *queries = bench_path("query.fbin"), *truth = bench_path("truth.u64");
    char command[8192], line[256], name[80], one[16], many[16], recall[16];
    bench_save_fbin(base, data->base, data->n_base, data->n_dims);
    bench_save_fbin(queries, data->queries, data->n_queries, data->n_dims);
    bench_save(truth, "wb", data->truth, data->n_queries * K * sizeof *data->truth);
    (void)snprintf(command, sizeof command, BENCH_PYTHON " programs/bench/search/exact.py '%s' '%s' '%s' %d", base,
                   queries, truth, K);
    (void)fflush(NULL);
    FILE *output = popen(command, "r"); // NOLINT(cert-env33-c): fixed words and names without a quote
    while (output != NULL && fgets(line, sizeof line, output) != NULL)
        if (sscanf(line, "%79[^\t]\t%15[^\t]\t%15[^\t]\t%15s", name, one, many, recall) == 4)
            bench_row(table, "%s | %s | %s | %s | %s | ", data->name, name, one, many, recall);
    if (output == NULL || pclose(output) != 0)
        bench_print_text(
            "The peers could not be run: programs/bench/search/exact.py needs Python with numpy, and the project's "
            "directory as the current one.\n\n");
}

static void measure(real_data *data) {
    bench_table *table = bench_table_begin(
        "recall and speed", 3, "data | bits | candidates | recall@10 | ms per query | queries/s | times exact");
    bench_table *peers = bench_table_begin(
        "exact", 2, "data | system | ms per query, one at a time | ms per query, batches of 64 | recall@10 | GB/s");
    real_best best = {.exact = INFINITY, .ms = INFINITY};
    for (uint32_t bits = FIRST_BITS; bits <= LAST_BITS; bits++)
        bench_bits(data, bits, table, &best);
    const size_t bytes = (size_t)data->n_base * data->n_dims * sizeof(float);
    const double rate = (double)bytes / best.exact;
    bench_print_text("Real vectors, %s: %llu x %u, %llu queries.\n\n", data->name, (unsigned long long)data->n_base,
                     data->n_dims, (unsigned long long)data->n_queries);
    bench_print(table);
    bench_print_text("Without --candidates %llu are refined for k = %d.\n\n",
                     (unsigned long long)thr_search_candidates(K), K);
    bench_row(peers, "%s | Thresher | %.3f |  |  | %.1f", data->name, best.exact * 1e3, rate * 1e-9);
    if (bench.values->peers)
        bench_peers(data, peers);
    bench_print(peers);
    bench_print_text(
        "Part of these vectors stays in the last cache between "
        "queries: a plain read of the same mapped file runs at %.1f GB/s (share %.2f), one of memory at %.1f GB/s.\n\n",
        best.read * 1e-9, rate / best.read, bench_memory_bandwidth() * 1e-9);
    bench_at_least(rate / bench_memory_bandwidth(), 0.80,
                   "exact float scan of these real vectors over plain read of memory");
    bench_at_least(best.share, 6.0, "search at recall@10 %.4f (%u bits, %llu candidates) over the exact scan",
                   best.recall, best.bits, (unsigned long long)best.count);
    bench_at_most((double)data->n_allocations, 0, "allocations in %llu queries after warm-up",
                  (unsigned long long)data->n_counted);
}

/* "books100d" of ../vectors/books100d_ */
static void name_of_files(char *name, size_t size) {
    const char *slash = strrchr(prefix(), '/');
    (void)snprintf(name, size, "%.63s", slash != NULL ? slash + 1 : prefix());
    const size_t length = strlen(name);
    if (length > 0 && name[length - 1] == '_')
        name[length - 1] = '\0';
}

void bench_real(void) {
    real_data data = {0};
    if (!load(&data))
        return;
    name_of_files(data.name, sizeof data.name);
    data.truth = bench_alloc((size_t)data.n_queries * K * sizeof *data.truth);
    data.answers = bench_alloc((size_t)data.n_queries * K * sizeof *data.answers);
    measure(&data);
}
