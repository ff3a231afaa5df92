/* SPDX-License-Identifier: Apache-2.0 */
/*
 * real.c - real vectors: how much faster than the exact scan a search with recall 0.99 is.
 *
 * The truth is our own exact scan, which the peers confirm; recall counts ids. Queries are answered one at a time.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/program.h"
#include "run.h"
#include "cli/messages.h"

enum { K = 10, REPEATS = 5, N_COUNTS = 7, FIRST_BITS = 2, LAST_BITS = 4 };

static const uint64_t COUNTS[N_COUNTS] = {10, 30, 50, 100, 200, 500, 1000};

typedef struct real_data {
    float *base, *queries;
    uint64_t n_base, n_queries;
    uint32_t n_dims;
    uint64_t *truth, *answers;
} real_data;

/*
 * Answer every query by itself; the best of some passes, seconds a query. What passes after the first allocate is
 * counted.
 */
static double time_queries(bench_scan_run *run, thr_index *index, const real_data *data,
                           const thr_search_options *options, uint64_t *ids) {
    double best = INFINITY;
    uint64_t before = 0;
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        const double start = bench_clock();
        for (uint64_t q = 0; q < data->n_queries; q++) {
            const thr_matrix one = thr_matrix_f32(data->queries + q * data->n_dims, 1, data->n_dims);
            bench_must(run, thr_index_search(index, &one, K, options, ids + q * K, NULL, &run->err));
        }
        const double took = (bench_clock() - start) / (double)data->n_queries;
        best = took < best ? took : best;
        before = repeat == 0 ? run->allocations.n : before;
    }
    run->query_allocations += run->allocations.n - before;
    run->queries_counted += (REPEATS - 1) * data->n_queries;
    return best;
}

/* False where there are no such files. */
static bool load(bench_scan_run *run, real_data *data) {
    char path[2][4096];
    for (int xz = 1; xz >= 0; xz--) {
        (void)snprintf(path[0], sizeof path[0], "%sbase.fvecs%s", run->values->data, xz != 0 ? ".xz" : "");
        (void)snprintf(path[1], sizeof path[1], "%squery.fvecs%s", run->values->data, xz != 0 ? ".xz" : "");
        const thr_status status =
            bench_load(run->context, path[0], &data->base, &data->n_base, &data->n_dims, &run->err);
        if (status == THR_ENOTFOUND || status == THR_EUNSUPPORTED) {
            free(data->base);
            continue;
        }
        bench_must(run, status);
        bench_must(run, bench_load(run->context, path[1], &data->queries, &data->n_queries, &data->n_dims, &run->err));
        return true;
    }
    bench_say(run, "Left out: no real vectors at %s (see --data).\n\n", path[0]);
    return false;
}

typedef struct real_best {
    double exact, read; /* seconds of the fastest exact scan, bytes a second of reading its file right after it */
    double share, recall, ms;
    uint32_t bits;
    uint64_t count;
} real_best;

static void bench_bits(bench_scan_run *run, real_data *data, uint32_t bits, bench_table *table, real_best *best) {
    char dir[2048];
    (void)snprintf(dir, sizeof dir, "%s/real%u", run->scratch, bits);
    const thr_matrix rows = thr_matrix_f32(data->base, data->n_base, data->n_dims);
    thr_reader *reader = NULL;
    thr_index_build_options build;
    thr_index_build_options_init(&build);
    build.item_bits = bits;
    bench_must(run, thr_reader_from_matrix(run->context, &rows, &reader, &run->err));
    thr_index *index = bench_make_index(run, run->context, reader, dir, &build);
    thr_search_options options;
    thr_search_options_init(&options);
    options.exact = true;
    const double exact = time_queries(run, index, data, &options, data->truth);
    if (exact < best->exact) {
        best->exact = exact;
        size_t size = 0;
        const void *file = bench_map_segment(dir, &size);
        best->read = bench_read_bandwidth(file, size);
        bench_unmap(file, size);
    }
    options.exact = false;
    const thr_recall_rows truth = {data->truth, NULL, K}, found = {data->answers, NULL, K};
    for (int i = 0; i < N_COUNTS; i++) {
        options.n_candidates = COUNTS[i];
        const double took = time_queries(run, index, data, &options, data->answers);
        double recall = 0;
        bench_must(run, thr_recall(&truth, &found, (size_t)data->n_queries, K, &recall, &run->err));
        bench_row(table, "%u | %llu | %.4f | %.3f | %.0f | %.1f", bits, (unsigned long long)COUNTS[i], recall,
                  took * 1e3, 1 / took, exact / took);
        if (recall >= 0.99 && took * 1e3 < best->ms)
            *best = (real_best){best->exact, best->read, exact / took, recall, took * 1e3, bits, COUNTS[i]};
    }
    thr_index_free(index);
    bench_scratch_remove(dir);
}

/* The peers are programs of their own: they read the same vectors, and print rows of the table. */
static void bench_peers(bench_scan_run *run, const real_data *data) {
    if (run->program->globals.json)
        return;
    if (strchr(run->scratch, '\'') != NULL) {
        bench_say(run, "The peers were left out: there is a quote in the scratch directory's name.\n\n");
        return;
    }
    char base[2048], queries[2048], command[8192];
    (void)snprintf(base, sizeof base, "%s/base.fbin", run->scratch);
    (void)snprintf(queries, sizeof queries, "%s/query.fbin", run->scratch);
    char truth[2048];
    (void)snprintf(truth, sizeof truth, "%s/truth.u64", run->scratch);
    bench_save_fbin(run, base, data->base, data->n_base, data->n_dims);
    bench_save_fbin(run, queries, data->queries, data->n_queries, data->n_dims);
    bench_save(run, truth, "wb", data->truth, data->n_queries * K * sizeof *data->truth);
    bench_say(run, "### Peers, exact search of the same vectors, one thread, k = 10\n\n");
    (void)snprintf(
        command, sizeof command,
        "OMP_NUM_THREADS=1 PYTHONPATH=programs${PYTHONPATH:+:$PYTHONPATH} python3 programs/bench/search/exact.py "
        "'%s' '%s' '%s' %d",
        base, queries, truth, K);
    /* Fixed words and names without a quote. */
    if (system(command) != 0) // NOLINT(cert-env33-c)
        bench_say(run, "The peers could not be run: programs/bench/search/exact.py needs Python with numpy, faiss-cpu "
                       "and usearch, "
                       "and the project's directory as the current one.\n");
    bench_say(run, "\n");
}

static void measure(bench_scan_run *run, real_data *data) {
    static bench_table table;
    bench_table_begin(&table, "Search over the exact scan, one query at a time, k = 10, float32 kept",
                      "bits | candidates | recall@10 | ms a query | queries/s | times exact");
    real_best best = {.exact = INFINITY, .ms = INFINITY};
    for (uint32_t bits = FIRST_BITS; bits <= LAST_BITS; bits++)
        bench_bits(run, data, bits, &table, &best);
    const size_t bytes = (size_t)data->n_base * data->n_dims * sizeof(float);
    const double rate = (double)bytes / best.exact;
    const char *slash = strrchr(run->values->data, '/');
    bench_say(run, "Real vectors, %s*: %llu x %u, %llu queries.\n\n", slash != NULL ? slash + 1 : run->values->data,
              (unsigned long long)data->n_base, data->n_dims, (unsigned long long)data->n_queries);
    bench_print(run, &table);
    bench_say(run, "Without --candidates %llu are refined for k = %d.\n\n",
              (unsigned long long)thr_search_candidates(K), K);
    bench_say(
        run,
        "Exact scan: %.3f ms a query, %.1f GB/s of float32. Part of these vectors stays in the last cache between "
        "queries: a plain read of the same mapped file runs at %.1f GB/s (share %.2f), one of memory at %.1f GB/s.\n\n",
        best.exact * 1e3, rate * 1e-9, best.read * 1e-9, rate / best.read, run->anonymous_bandwidth * 1e-9);
    bench_figure(run, "exact_share_of_memory_bandwidth", rate / run->anonymous_bandwidth, 0.80, true,
                 "exact float scan of these real vectors over plain read of memory");
    bench_figure(run, "search_over_exact", best.share, 6.0, true,
                 "search at recall@10 %.4f (%u bits, %llu candidates) over the exact scan", best.recall, best.bits,
                 (unsigned long long)best.count);
    bench_figure(run, "query_path_allocations", (double)run->query_allocations, 0, false,
                 "allocations in %llu queries after warm-up", (unsigned long long)run->queries_counted);
    if (run->values->peers)
        bench_peers(run, data);
}

void bench_real(bench_scan_run *run) {
    real_data data = {0};
    if (!load(run, &data))
        return;
    data.truth = bench_room(run, (size_t)data.n_queries * K * sizeof *data.truth);
    data.answers = bench_room(run, (size_t)data.n_queries * K * sizeof *data.answers);
    measure(run, &data);
    free(data.base);
    free(data.queries);
    free(data.truth);
    free(data.answers);
}
