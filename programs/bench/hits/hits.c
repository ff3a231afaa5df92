/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hits.c - `thresher-bench hits`: posting lists of a synthetic catalogue, their bytes, builds and searches, beside
 * other ways of adding up the same weights. One thread except for builds; every answer is checked against sums in
 * double.
 */
#include <inttypes.h>
#include <string.h>

#include "hits.h"
#include "cli/program.h"
#include "cli/messages.h"

enum { K = BENCH_HITS_K, N_FEATURES = 200000, N_QUERIES = 4, ROUNDS = 4, N_SIZES = 2, MOST_PEERS = 8 };

static const uint32_t SIZES[N_SIZES] = {200, 1000}; /* features of a query */

static const struct {
    const char *name;
    bench_way *add;
    double target;
} WAYS[] = {
    {"rows of CSR", bench_way_csr, 15},
    {"touched columns of CSC", bench_way_columns, 4},
    {"published blocks of 8-bit ids", bench_way_blocks, 2},
};
enum { N_WAYS = sizeof WAYS / sizeof *WAYS };

typedef struct hits_bench {
    bench_catalogue catalogue;
    bench_ways ways;
    thr_hits *hits;
    float *sums;
    double *exact;
    bench_hits_query queries[N_SIZES][N_QUERIES];
    bench_hits_peer peers[MOST_PEERS];
    int n_peers;
    double ours[N_SIZES], others[N_SIZES][N_WAYS], touched[N_SIZES]; /* seconds and postings per query */
} hits_bench;

/* ------------------------------------------------------------------------------------------------ building */

static void build_all(hits_bench *b) {
    thr_context *two = bench.program->context; /* of all threads */
    bench_table *table = bench_table_begin(
        "posting lists", 2,
        "items | threads | build, s | bytes per posting | over CSR's 4 | postings in ids, % | postings in runs, % | "
        "postings in bitmaps, %");
    const char *path = bench_path("ads.hits");
    for (int order = 1; order >= 0; order--) {
        double seconds = INFINITY;
        for (int round = 0; round < 2; round++)
            seconds = fmin(seconds, bench_hits_build(two, &b->catalogue, path, (thr_hits_order)order));
        thr_hits_free(b->hits);
        b->hits = bench_hits_open(path);
        const thr_hits_info info = thr_hits_get_info(b->hits);
        const double bytes = (double)info.list_bytes / (double)info.n_postings;
        const double ids = 100.0 * (double)info.n_ids / (double)info.n_postings;
        const double bits = 100.0 * (double)info.bitmap_postings / (double)info.n_postings;
        bench_row(table, "%s | %" PRIu32 " | %.2f | %.3f | %.3f | %.1f | %.1f | %.1f",
                  order == THR_HITS_ORDER_ROWS ? "as given" : "by features", thr_context_threads(two), seconds, bytes,
                  bytes / 4, ids, 100 - ids - bits, bits);
        if (order == THR_HITS_ORDER_FEATURES) {
            bench_at_most(bytes / 4, 0.6, "bytes per posting over binary CSR's, items ordered by features");
            bench_at_most(seconds, 3, "build, items ordered by features, s");
        } else {
            bench_at_most(seconds, 3, "build, items as given, s");
        }
    }
    bench_print(table);
}

/* ------------------------------------------------------------------------------------------------ searching */

static void search(hits_bench *b, const bench_hits_query *query, bench_hits_answer *a) {
    bench_check(bench_hits_ask(b->hits, query, NULL, a, &bench.err));
}

/* Sums in double of the weights as they were given, from the rows themselves. */
static void add_exactly(hits_bench *b, const bench_hits_query *query) {
    const bench_catalogue *c = &b->catalogue;
    for (uint32_t i = 0; i < query->n; i++)
        b->ways.dense[query->features[i]] = query->weights[i];
    for (uint64_t i = 0; i < c->n_items; i++) {
        b->exact[i] = 0;
        for (uint64_t e = c->offsets[i]; e < c->offsets[i + 1]; e++)
            b->exact[i] += (double)b->ways.dense[c->features[e]];
    }
    for (uint32_t i = 0; i < query->n; i++)
        b->ways.dense[query->features[i]] = 0;
}

/* Every value is the exact sum of its item, and no item that was left out is better, up to the rounding of weights. */
static void check(hits_bench *b, const bench_hits_query *query) {
    bench_hits_answer a;
    add_exactly(b, query);
    search(b, query, &a);
    double total = 0;
    for (uint32_t i = 0; i < query->n; i++)
        total += fabs((double)query->weights[i]);
    const double tolerance = total * query->n * 0x1p-30 + 1e-6 * total;
    bench_hits_check(b->exact, b->catalogue.n_items, a.ids, a.values, tolerance);
    for (int w = 0; w < N_WAYS; w++) {
        WAYS[w].add(&b->ways, query, b->sums);
        for (uint64_t i = 0; i < b->catalogue.n_items; i++)
            if (fabs(b->exact[i] - (double)b->sums[i]) > tolerance)
                bench_fail("%s: item %" PRIu64 " has %g, not %g", WAYS[w].name, i, (double)b->sums[i], b->exact[i]);
    }
}

/* In turns, the best round of each query. */
static void measure(hits_bench *b, int size) {
    bench_hits_answer a;
    for (int q = 0; q < N_QUERIES; q++) {
        const bench_hits_query *query = &b->queries[size][q];
        double ours = INFINITY, others[N_WAYS] = {INFINITY, INFINITY, INFINITY};
        for (int round = 0; round < ROUNDS; round++) {
            for (BENCH_ALSO(ours))
                search(b, query, &a);
            for (int w = 0; w < N_WAYS; w++)
                for (BENCH_ALSO(others[w]))
                    WAYS[w].add(&b->ways, query, b->sums);
        }
        b->ours[size] += ours / N_QUERIES;
        for (int w = 0; w < N_WAYS; w++)
            b->others[size][w] += others[w] / N_QUERIES;
        for (uint32_t i = 0; i < SIZES[size]; i++)
            b->touched[size] += (double)thr_hits_feature_items(b->hits, query->features[i]) / N_QUERIES;
    }
}

/* The fastest way that multiplies rows of the whole matrix, ours in C or a peer's. */
static double fastest_rows(const hits_bench *b, int size) {
    double seconds = b->others[size][0];
    for (int p = 0; p < b->n_peers; p++)
        if (b->peers[p].size == SIZES[size] && strstr(b->peers[p].name, "columns") == NULL)
            seconds = fmin(seconds, b->peers[p].seconds);
    return seconds;
}

static void run_peers(hits_bench *b) {
    bench_hits_export(&b->catalogue);
    for (int size = 0; size < N_SIZES; size++) {
        bench_way_csr(&b->ways, &b->queries[size][0], b->sums);
        bench_hits_export_queries(b->queries[size], N_QUERIES, b->sums, b->catalogue.n_items);
    }
    b->n_peers = bench_hits_peers(&b->catalogue, N_QUERIES, SIZES, b->peers, MOST_PEERS);
}

static void print_searches(hits_bench *b) {
    bench_table *table = bench_table_begin(
        "one query", 2, "system | features | postings touched, M | ms per query | over posting lists");
    for (int size = 0; size < N_SIZES; size++)
        for (int w = -1; w < N_WAYS; w++) {
            const double seconds = w < 0 ? b->ours[size] : b->others[size][w];
            bench_row(table, "%s | %" PRIu32 " | %.1f | %.2f | %.2f", w < 0 ? "Thresher" : WAYS[w].name, SIZES[size],
                      b->touched[size] * 1e-6, seconds * 1e3, seconds / b->ours[size]);
        }
    for (int p = 0; p < b->n_peers; p++) {
        const int size = b->peers[p].size == SIZES[0] ? 0 : 1;
        bench_row(table, "%s | %" PRIu32 " | %.1f | %.2f | %.2f", b->peers[p].name, b->peers[p].size,
                  b->touched[size] * 1e-6, b->peers[p].seconds * 1e3, b->peers[p].seconds / b->ours[size]);
    }
    bench_print(table);
    bench_at_most(b->ways.block_bytes / (double)b->catalogue.n_postings / 4, 1,
                  "bytes per posting of the published blocks over binary CSR's");
    for (int w = 0; w < N_WAYS; w++)
        bench_at_least((w == 0 ? fastest_rows(b, 0) : b->others[0][w]) / b->ours[0], WAYS[w].target,
                       "%s%s over posting lists, %" PRIu32 " features per query",
                       w == 0 && b->n_peers > 0 ? "the fastest product with " : "", WAYS[w].name, SIZES[0]);
}

/* ------------------------------------------------------------------------------------------------ all */

static void draw(hits_bench *b) {
    const uint64_t seed = bench.program->globals.seed;
    uint64_t rng = seed + 1;
    b->catalogue = bench_catalogue_draw(bench.values->items, N_FEATURES, seed);
    bench_ways_make(&b->ways, &b->catalogue);
    b->sums = bench_alloc((b->catalogue.n_items + 256) * sizeof *b->sums);
    b->exact = bench_alloc(b->catalogue.n_items * sizeof *b->exact);
    for (int size = 0; size < N_SIZES; size++)
        for (int q = 0; q < N_QUERIES; q++)
            bench_catalogue_query(&b->catalogue, &rng, SIZES[size], &b->queries[size][q]);
}

static void sections(void) {
    hits_bench *b = bench_alloc(sizeof *b);
    draw(b);
    bench_print_title("hits");
    bench_print_text(
        "A synthetic catalogue: %s items of %d features each, of %s by Zipf's law; a query has the features of "
        "items drawn at random, and weights about normal. Posting lists also choose the best 100; the other ways stop "
        "at sums.\n\n",
        prog_exact(b->catalogue.n_items).text, BENCH_PER_ITEM, prog_exact(N_FEATURES).text);
    build_all(b);
    for (int size = 0; size < N_SIZES; size++) {
        check(b, &b->queries[size][0]);
        measure(b, size);
    }
    if (bench.values->peers)
        run_peers(b);
    print_searches(b);
    bench_hits_fused(&b->catalogue);
    thr_hits_free(b->hits);
}

static const prog_option options[] = {
    {PROG_COUNT_OPTION(
         "items", "N", offsetof(bench_values, items),
         "items of 20 features; half a kilobyte of memory each, and a third of one in the scratch directory"),
     .fallback = "5000000", .least = 1000, .most = 16000000},
    {PROG_FLAG_OPTION("peers", offsetof(bench_values, peers),
                      "also run SciPy and SuiteSparse:GraphBLAS where Python has them (programs/bench/hits/hits.py)")},
    BENCH_SCRATCH_OPTION,
    BENCH_CSV_OPTION,
    PROG_OPTIONS_END,
};

BENCH_COMMAND(
    hits, bench_no_arguments, options, sections, .summary = "measure posting lists on this machine",
    .text =
        "Builds posting lists of a synthetic catalogue, and prints their bytes, the time of a build, and the time of a "
        "query beside three other ways of adding up the same weights: rows of CSR, the touched columns of CSC, and "
        "blocks "
        "of 256 8-bit ids in groups by size, as HitMatch published them. Then the items get vectors, "
        "and both are searched in one pass. One thread, but for builds; every answer checked.",
    .examples = PROG_EXAMPLES("thresher-bench hits", "thresher-bench hits --items 200000"));
