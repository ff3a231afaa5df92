/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fused.c - vectors and features in one pass beside vectors alone and features alone: from the vectors themselves,
 * and from codes with an exact refine. Answers are checked against products and sums in double.
 */
#include <math.h>
#include <string.h>

#include "hits.h"
#include "cli/program.h"

enum { DIMS = 64, N_FEATURES = 200, K = BENCH_HITS_K, MOST_QUERIES = 16, ROUNDS = 3 };

static const double TARGET = 1.5; /* of the time of vectors alone */

typedef struct fused_answers {
    uint64_t ids[MOST_QUERIES * K];
    float values[MOST_QUERIES * K];
} fused_answers;

typedef struct fused_bench {
    const bench_catalogue *catalogue;
    thr_index *index;
    float vectors[MOST_QUERIES * DIMS];
    uint64_t offsets[MOST_QUERIES + 1];
    uint32_t features[MOST_QUERIES * N_FEATURES];
    float weights[MOST_QUERIES * N_FEATURES];
    fused_answers right; /* by exact scores, checked */
    double *values;
} fused_bench;

static bench_normal items_of(void) {
    return (bench_normal){.n_dims = DIMS, .seed = bench.program->globals.seed + 7};
}

static void build(fused_bench *b) {
    bench_normal items = items_of();
    const thr_item_features features = {b->catalogue->offsets, b->catalogue->features, b->catalogue->n_items};
    thr_context *context = bench.program->context;
    thr_index_build_options options = {0};
    options.metric = THR_METRIC_IP;
    options.features = &features;
    thr_reader *reader = bench_reader(context, features.n_items, DIMS, bench_normal_rows, &items);
    b->index = bench_build(context, reader, bench_path("fused"), &options);
}

/* ------------------------------------------------------------------------------------------------ one way */

typedef enum asked_for { VECTORS, FEATURES, BOTH } asked_for;

static void search(fused_bench *b, asked_for what, bool exact, uint64_t n, fused_answers *a) {
    const thr_matrix queries = thr_matrix_f32(b->vectors, n, DIMS);
    const thr_hits_queries features = {n, b->offsets, b->features, b->weights};
    thr_hits *hits = thr_index_hits(b->index);
    thr_search_options options = {0};
    options.exact = exact;
    options.features = what == BOTH ? &features : NULL;
    if (what == FEATURES)
        bench_check(thr_hits_search(hits, &features, K, NULL, a->ids, a->values, &bench.err));
    else
        bench_check(thr_index_search(b->index, &queries, K, &options, a->ids, a->values, &bench.err));
}

/* The first query's exact answer, by a loop over all items. */
static void check(fused_bench *b) {
    bench_normal items = items_of();
    const bench_catalogue *c = b->catalogue;
    float *weights = bench_alloc(c->n_features * sizeof *weights);
    float *rows = bench_alloc((size_t)4096 * DIMS * sizeof *rows);
    search(b, BOTH, true, MOST_QUERIES, &b->right);
    for (uint32_t f = 0; f < N_FEATURES; f++)
        weights[b->features[f]] += b->weights[f];
    for (uint64_t first = 0, n; first < c->n_items; first += n) {
        n = bench_normal_rows(&items, first, c->n_items - first, rows);
        for (uint64_t i = 0; i < n; i++) {
            double sum = 0;
            for (uint32_t d = 0; d < DIMS; d++)
                sum += (double)rows[i * DIMS + d] * (double)b->vectors[d];
            for (uint64_t e = c->offsets[first + i]; e < c->offsets[first + i + 1]; e++)
                sum += (double)weights[c->features[e]];
            b->values[first + i] = sum;
        }
    }
    bench_hits_check(b->values, c->n_items, b->right.ids, b->right.values, 1e-3);
}

/* ------------------------------------------------------------------------------------------------ all */

static void draw_queries(fused_bench *b) {
    bench_normal queries = {.n_dims = DIMS, .seed = bench.program->globals.seed + 8};
    uint64_t rng = bench.program->globals.seed + 9;
    (void)bench_normal_rows(&queries, 0, MOST_QUERIES, b->vectors);
    for (uint32_t q = 0; q < MOST_QUERIES; q++) {
        bench_hits_query query;
        bench_catalogue_query(b->catalogue, &rng, N_FEATURES, &query);
        memcpy(b->features + (size_t)q * N_FEATURES, query.features, N_FEATURES * sizeof(uint32_t));
        memcpy(b->weights + (size_t)q * N_FEATURES, query.weights, N_FEATURES * sizeof(float));
        b->offsets[q + 1] = b->offsets[q] + N_FEATURES;
    }
}

static void print(fused_bench *b, bench_table *table) {
    for (int exact = 1; exact >= 0; exact--)
        for (uint64_t n = 1; n <= MOST_QUERIES; n *= MOST_QUERIES) {
            double seconds[3];
            fused_answers a;
            search(b, BOTH, exact != 0, MOST_QUERIES, &a);
            const double recall = bench_recall(b->right.ids, a.ids, MOST_QUERIES, K);
            for (int w = 0; w < 3; w++)
                for (BENCH_BEST(seconds[w], ROUNDS))
                    search(b, (asked_for)w, exact != 0, n, &a);
            bench_row(table, "%s | %d", exact != 0 ? "all vectors, floats" : "codes, recall 0.99", (int)n);
            for (int w = 0; w < 3; w++)
                bench_cells(table, "%.2f", seconds[w] / (double)n * 1e3);
            bench_cells(table, "%.2f | %.4f", seconds[BOTH] / seconds[VECTORS], recall);
            if (n == 1)
                bench_at_most(seconds[BOTH] / seconds[VECTORS], TARGET,
                              "vectors and features in one pass over %s alone, one query at a time",
                              exact != 0 ? "vectors" : "codes");
        }
}

void bench_hits_fused(const bench_catalogue *c) {
    fused_bench *b = bench_alloc(sizeof *b);
    bench_table *table = bench_table_begin(
        "vectors and features in one pass", 2,
        "what | queries at once | vectors alone, ms | features alone, ms | both, ms | over vectors | recall@100");
    b->catalogue = c;
    b->values = bench_alloc(c->n_items * sizeof *b->values);
    draw_queries(b);
    build(b);
    check(b);
    print(b, table);
    bench_print(table);
    thr_index_free(b->index);
}
