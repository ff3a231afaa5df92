/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hits.c - `bench hits`: posting lists of a synthetic catalogue, their bytes, builds and searches, beside other ways of
 * adding up the same weights. One thread but for builds; every answer is checked against sums in double.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hits.h"
#include "program.h"
#include "talk.h"

enum {
    K = 100,
    N_FEATURES = 200000,
    PER_ITEM = 20,
    MOST_FEATURES = 1000,
    N_QUERIES = 4,
    ROUNDS = 4,
    N_SIZES = 2,
    MOST_PEERS = 8
};

static const uint32_t SIZES[N_SIZES] = {200, 1000}; /* features of a query */

typedef void way(bench_ways *ways, const uint32_t *features, const float *weights, uint32_t n, float *sums);

static const struct {
    const char *name, *figure;
    way *add;
    double target;
} WAYS[] = {
    {"rows of CSR", "hits_over_csr", bench_way_csr, 15},
    {"touched columns of CSC", "hits_over_columns", bench_way_columns, 4},
    {"windows of 16-bit ids", "hits_over_windows", bench_way_windows, 2},
};
enum { N_WAYS = sizeof WAYS / sizeof *WAYS };

typedef struct hits_bench {
    bench_scan_run *run;
    bench_catalogue catalogue;
    bench_ways ways;
    thr_hits *hits;
    float *sums;
    double *exact;
    uint32_t features[N_SIZES][N_QUERIES][MOST_FEATURES];
    float weights[N_SIZES][N_QUERIES][MOST_FEATURES];
    bench_hits_peer peers[MOST_PEERS];
    int n_peers;
    double ours[N_SIZES], others[N_SIZES][N_WAYS], touched[N_SIZES]; /* seconds and postings a query */
} hits_bench;

/* ------------------------------------------------------------------------------------------------ building */

static int build(hits_bench *b, const char *path, thr_hits_order order, thr_context *context, double *seconds) {
    const thr_item_features items = {b->catalogue.offsets, b->catalogue.features, b->catalogue.n_items};
    thr_hits_build_options options;
    thr_hits_build_options_init(&options);
    options.order = order;
    options.replace = true;
    const double start = bench_clock();
    const thr_status status = thr_hits_build(context, path, &items, &options, &b->run->err);
    *seconds = bench_clock() - start;
    return status == THR_OK ? 0 : -1;
}

static int build_all(hits_bench *b) {
    static bench_table table;
    thr_context *two = b->run->program->context; /* of all threads */
    char path[1100];
    bench_table_begin(
        &table, "Posting lists",
        "order of items | threads | build, s | bytes a posting | over CSR's 4 | in ids, % | runs, % | bitmaps, %");
    (void)snprintf(path, sizeof path, "%s/ads.hits", b->run->scratch);
    for (int order = 1; order >= 0; order--) {
        double seconds = INFINITY;
        for (int round = 0; round < 2; round++) {
            double took;
            if (build(b, path, (thr_hits_order)order, two, &took) != 0)
                return -1;
            seconds = fmin(seconds, took);
        }
        thr_hits_free(b->hits);
        b->hits = NULL;
        if (thr_hits_open(b->run->context, path, &b->hits, &b->run->err) != THR_OK)
            return -1;
        const thr_hits_info info = thr_hits_get_info(b->hits);
        const double bytes = (double)info.list_bytes / (double)info.n_postings;
        const double ids = 100.0 * (double)info.n_ids / (double)info.n_postings;
        const double bits = 100.0 * (double)info.bitmap_postings / (double)info.n_postings;
        bench_row(&table, "%s | %" PRIu32 " | %.2f | %.3f | %.3f | %.1f | %.1f | %.1f",
                  order == THR_HITS_ORDER_ROWS ? "as given" : "by features", thr_context_threads(two), seconds, bytes,
                  bytes / 4, ids, 100 - ids - bits, bits);
        if (order == THR_HITS_ORDER_FEATURES) {
            bench_figure(b->run, "hits_bytes_over_csr", bytes / 4, 0.6, false,
                         "bytes a posting over binary CSR's, items ordered by features");
            bench_figure(b->run, "hits_build_s", seconds, 3, false, "build, items ordered by features, s");
        } else {
            bench_figure(b->run, "hits_build_given_s", seconds, 3, false, "build, items as given, s");
        }
    }
    bench_print(b->run, &table);
    return 0;
}

/* ------------------------------------------------------------------------------------------------ searching */

static int search(hits_bench *b, int size, int q, uint64_t *ids, float *values) {
    const uint64_t ends[] = {0, SIZES[size]};
    const thr_hits_queries queries = {1, ends, b->features[size][q], b->weights[size][q]};
    return thr_hits_search(b->hits, &queries, K, NULL, ids, values, &b->run->err) == THR_OK ? 0 : -1;
}

/* Sums in double of the weights as they were given, from the rows themselves. */
static void add_exactly(hits_bench *b, int size, int q) {
    const bench_catalogue *c = &b->catalogue;
    for (uint32_t i = 0; i < SIZES[size]; i++)
        b->ways.dense[b->features[size][q][i]] = b->weights[size][q][i];
    for (uint64_t i = 0; i < c->n_items; i++) {
        b->exact[i] = 0;
        for (uint64_t e = c->offsets[i]; e < c->offsets[i + 1]; e++)
            b->exact[i] += (double)b->ways.dense[c->features[e]];
    }
    for (uint32_t i = 0; i < SIZES[size]; i++)
        b->ways.dense[b->features[size][q][i]] = 0;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* Every value is the exact sum of its item, and no item that was left out is better, up to the rounding of weights. */
static int check(hits_bench *b, int size, int q) {
    uint64_t ids[K];
    float values[K];
    add_exactly(b, size, q);
    if (search(b, size, q, ids, values) != 0)
        return -1;
    double total = 0;
    for (uint32_t i = 0; i < SIZES[size]; i++)
        total += fabs((double)b->weights[size][q][i]);
    const double tolerance = total * SIZES[size] * 0x1p-30 + 1e-6 * total;
    for (int i = 0; i < K; i++)
        if (fabs(b->exact[ids[i]] - (double)values[i]) > tolerance)
            return bench_fail(b->run, "item %" PRIu64 " is said to have %g, but has %g", ids[i], (double)values[i],
                              b->exact[ids[i]]);
    for (int w = 0; w < N_WAYS; w++) {
        WAYS[w].add(&b->ways, b->features[size][q], b->weights[size][q], SIZES[size], b->sums);
        for (uint64_t i = 0; i < b->catalogue.n_items; i++)
            if (fabs(b->exact[i] - (double)b->sums[i]) > tolerance)
                return bench_fail(b->run, "%s: item %" PRIu64 " has %g, not %g", WAYS[w].name, i, (double)b->sums[i],
                                  b->exact[i]);
    }
    qsort(b->exact, b->catalogue.n_items, sizeof *b->exact, compare);
    return b->exact[K - 1] <= (double)values[K - 1] + tolerance
               ? 0
               : bench_fail(b->run, "the %d-th best item has %g, not %g", K, b->exact[K - 1], (double)values[K - 1]);
}

/* In turns, the best round of each query. */
static int measure(hits_bench *b, int size) {
    uint64_t ids[K];
    float values[K];
    for (int q = 0; q < N_QUERIES; q++) {
        double ours = INFINITY, others[N_WAYS];
        for (int w = 0; w < N_WAYS; w++)
            others[w] = INFINITY;
        for (int round = 0; round < ROUNDS; round++) {
            double start = bench_clock();
            if (search(b, size, q, ids, values) != 0)
                return -1;
            ours = fmin(ours, bench_clock() - start);
            for (int w = 0; w < N_WAYS; w++) {
                start = bench_clock();
                WAYS[w].add(&b->ways, b->features[size][q], b->weights[size][q], SIZES[size], b->sums);
                others[w] = fmin(others[w], bench_clock() - start);
            }
        }
        b->ours[size] += ours / N_QUERIES;
        for (int w = 0; w < N_WAYS; w++)
            b->others[size][w] += others[w] / N_QUERIES;
        for (uint32_t i = 0; i < SIZES[size]; i++)
            b->touched[size] += (double)thr_hits_feature_items(b->hits, b->features[size][q][i]) / N_QUERIES;
    }
    return 0;
}

/* The fastest way that multiplies rows of the whole matrix, ours in C or a peer's. */
static double fastest_rows(const hits_bench *b, int size) {
    double seconds = b->others[size][0];
    for (int p = 0; p < b->n_peers; p++)
        if (b->peers[p].size == SIZES[size] && strstr(b->peers[p].name, "columns") == NULL)
            seconds = fmin(seconds, b->peers[p].seconds);
    return seconds;
}

static int run_peers(hits_bench *b) {
    static uint32_t features[N_QUERIES * MOST_FEATURES];
    static float weights[N_QUERIES * MOST_FEATURES];
    int rc = bench_hits_export(b->run->scratch, &b->catalogue);
    for (int size = 0; size < N_SIZES && rc == 0; size++) {
        for (int q = 0; q < N_QUERIES; q++) {
            memcpy(features + (size_t)q * SIZES[size], b->features[size][q], SIZES[size] * sizeof *features);
            memcpy(weights + (size_t)q * SIZES[size], b->weights[size][q], SIZES[size] * sizeof *weights);
        }
        bench_way_csr(&b->ways, b->features[size][0], b->weights[size][0], SIZES[size], b->sums);
        rc = bench_hits_export_queries(b->run->scratch, SIZES[size], N_QUERIES, features, weights, b->sums,
                                       b->catalogue.n_items);
    }
    if (rc != 0)
        return bench_fail(b->run, "%s: the matrix could not be written for the peers", b->run->scratch);
    b->n_peers = bench_hits_peers(b->run->scratch, &b->catalogue, N_QUERIES, SIZES, N_SIZES, b->peers, MOST_PEERS);
    if (b->n_peers < 0)
        return bench_fail(b->run,
                          "programs/bench/peers/hits.py failed: it is run at the top of the source tree, with numpy");
    return 0;
}

static void print_searches(hits_bench *b) {
    static bench_table table;
    bench_table_begin(&table,
                      "One query, one thread; posting lists also choose the best 100, the others leave it at sums",
                      "way | features | postings touched | ms a query | over posting lists");
    for (int size = 0; size < N_SIZES; size++)
        for (int w = -1; w < N_WAYS; w++) {
            const double seconds = w < 0 ? b->ours[size] : b->others[size][w];
            bench_row(&table, "%s | %" PRIu32 " | %s | %.2f | %.2f", w < 0 ? "posting lists, best 100" : WAYS[w].name,
                      SIZES[size], prog_short(b->touched[size]).text, seconds * 1e3, seconds / b->ours[size]);
        }
    for (int p = 0; p < b->n_peers; p++) {
        const int size = b->peers[p].size == SIZES[0] ? 0 : 1;
        bench_row(&table, "%s | %" PRIu32 " | %s | %.2f | %.2f", b->peers[p].name, b->peers[p].size,
                  prog_short(b->touched[size]).text, b->peers[p].seconds * 1e3, b->peers[p].seconds / b->ours[size]);
    }
    bench_print(b->run, &table);
    for (int w = 0; w < N_WAYS; w++)
        bench_figure(b->run, WAYS[w].figure, (w == 0 ? fastest_rows(b, 0) : b->others[0][w]) / b->ours[0],
                     WAYS[w].target, true, "%s%s over posting lists, %" PRIu32 " features a query",
                     w == 0 && b->n_peers > 0 ? "the fastest product with " : "", WAYS[w].name, SIZES[0]);
}

/* ------------------------------------------------------------------------------------------------ all */

static int draw(hits_bench *b) {
    const uint64_t seed = b->run->program->globals.seed;
    uint64_t rng = seed + 1;
    if (bench_catalogue_draw(&b->catalogue, b->run->values->items, N_FEATURES, PER_ITEM, seed) != 0 ||
        bench_ways_make(&b->ways, &b->catalogue) != 0)
        return bench_fail(b->run, "no memory for %" PRIu64 " items", b->run->values->items);
    b->sums = malloc((b->catalogue.n_items + 65536) * sizeof *b->sums);
    b->exact = malloc(b->catalogue.n_items * sizeof *b->exact);
    if (b->sums == NULL || b->exact == NULL)
        return bench_fail(b->run, "no memory for sums");
    for (int size = 0; size < N_SIZES; size++)
        for (int q = 0; q < N_QUERIES; q++)
            (void)bench_catalogue_query(&b->catalogue, &rng, b->features[size][q], b->weights[size][q], SIZES[size]);
    return 0;
}

static int run_all(hits_bench *b) {
    if (draw(b) != 0)
        return -1;
    bench_say_machine(b->run, "hits");
    bench_say(b->run,
              "A synthetic catalogue: %s items of %d features each, of %s by Zipf's law; a query has the features of "
              "items drawn at random, and weights about normal.\n\n",
              prog_exact(b->catalogue.n_items).text, PER_ITEM, prog_exact(N_FEATURES).text);
    if (build_all(b) != 0)
        return -1;
    for (int size = 0; size < N_SIZES; size++)
        if (check(b, size, 0) != 0 || measure(b, size) != 0)
            return -1;
    if (b->run->values->peers && run_peers(b) != 0)
        return -1;
    print_searches(b);
    if (bench_hits_fused(b->run, &b->catalogue) != 0)
        return -1;
    bench_hits_query queries[N_SIZES];
    for (int size = 0; size < N_SIZES; size++)
        queries[size] = (bench_hits_query){b->features[size][0], b->weights[size][0], SIZES[size]};
    if (bench_hits_updates(b->run, b->hits, &b->catalogue, queries, N_SIZES) != 0)
        return -1;
    return bench_hits_swap(b->run, b->catalogue.n_items / 10);
}

static int sections(bench_scan_run *run) {
    hits_bench *b = calloc(1, sizeof *b);
    if (b == NULL)
        return bench_fail(run, "no memory");
    b->run = run;
    const int rc = run_all(b);
    thr_hits_free(b->hits);
    bench_ways_free(&b->ways);
    bench_catalogue_free(&b->catalogue);
    free(b->sums);
    free(b->exact);
    free(b);
    return rc;
}

static int run_hits(program *run, const void *values) {
    return bench_run(run, values, sections);
}

static const prog_option options[] = {
    {PROG_COUNT_OPTION(
         "items", "N", offsetof(bench_scan_values, items),
         "items of 20 features; half a kilobyte of memory each, and a third of one in the scratch directory"),
     .fallback = "5000000", .least = 1000, .most = 16000000},
    {PROG_FLAG_OPTION("peers", offsetof(bench_scan_values, peers),
                      "also run SciPy and SuiteSparse:GraphBLAS where Python has them (programs/bench/peers)")},
    {BENCH_SCRATCH_OPTION(offsetof(bench_scan_values, scratch))},
    PROG_OPTIONS_END,
};

static const char *const examples[] = {"thresher-bench hits", "thresher-bench hits --items 200000", NULL};

const prog_command bench_hits_command = {
    .noun = "hits",
    .summary = "measure posting lists on this machine",
    .text =
        "Builds posting lists of a synthetic catalogue, and prints their bytes, the time of a build, and the time of a "
        "query beside three other ways of adding up the same weights: rows of CSR, the touched columns of CSC, and "
        "windows of 16-bit ids. One thread, but for builds; every answer checked. Then the items get vectors, and both "
        "are searched in one pass; items are added and removed, a thousand at a time; and 64 threads search while "
        "lists "
        "are built again and swapped.",
    .arguments = bench_no_arguments,
    .options = PROG_OPTIONS(options),
    .values_size = sizeof(bench_scan_values),
    .examples = examples,
    .run = run_hits,
};
