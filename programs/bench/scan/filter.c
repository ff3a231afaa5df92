/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.c - the time that a filter saves. The same queries run with and without filters that pass half of the rows, a
 * hundredth and a ten-thousandth, anywhere or in runs.
 *
 * Answers are checked: only rows that pass, in order, and recall against the exact scan with the same filter.
 */
#include <inttypes.h>

#include "scan.h"

enum { K = 10, N_QUERIES = 6, ROUNDS = 8, EXACT_ROUNDS = 3, RUN_ROWS = 1000 };

static const double TARGET_ONE_PERCENT = 0.3;

static const struct {
    double share;
    bool in_runs, has_target;
} FILTERS[] = {
    {1.0, false, false}, {0.5, false, false},    {0.5, true, false},    {0.01, false, true},
    {0.01, true, false}, {0.0001, false, false}, {0.0001, true, false},
};
enum { N_FILTERS = sizeof FILTERS / sizeof *FILTERS }; /* the first one is none at all */

typedef struct filter_case {
    uint64_t *words; /* NULL: none */
    uint64_t n_rows; /* that pass */
    uint64_t ids[N_QUERIES * K], truth[N_QUERIES * K];
    double seconds, exact_seconds; /* of all queries */
} filter_case;

typedef struct filter_bench {
    thr_index *index;
    uint64_t n_items;
    uint32_t n_dims;
    float *queries;
    filter_case cases[N_FILTERS];
} filter_bench;

/* Of [0, 1), the same for the same i. */
static double random_share(uint64_t i) {
    return bench_uniform(bench_mix(i + 1));
}

static void set_bit(uint64_t *words, uint64_t row) {
    words[row / 64] |= UINT64_C(1) << row % 64;
}

/* Every row by itself; or runs of up to RUN_ROWS rows, each anywhere in its part of the rows. */
static void fill(uint64_t *words, uint64_t n_items, double share, bool in_runs) {
    const uint64_t wanted = (uint64_t)((double)n_items * share);
    const uint64_t length = wanted < RUN_ROWS ? wanted : RUN_ROWS, n_runs = length > 0 ? wanted / length : 0;
    for (uint64_t row = 0; row < n_items && !in_runs; row++)
        if (random_share(row) < share)
            set_bit(words, row);
    for (uint64_t i = 0; i < n_runs && in_runs; i++) {
        const uint64_t part = n_items / n_runs;
        const uint64_t first = i * part + (uint64_t)(random_share(i) * (double)(part - length + 1));
        for (uint64_t row = first; row < first + length; row++)
            set_bit(words, row);
    }
}

/* One after the other; only rows that pass, in order, as many as there can be. */
static void search(filter_bench *b, filter_case *c, bool exact, uint64_t *ids) {
    BENCH_OPTIONS(thr_search, options);
    options.exact = exact;
    options.filter = c->words;
    options.filter_bits = c->words != NULL ? b->n_items : 0;
    float scores[N_QUERIES * K];
    for (BENCH_ALSO(*(exact ? &c->exact_seconds : &c->seconds)))
        for (uint64_t q = 0; q < N_QUERIES; q++)
            bench_ask(b->index, b->queries + q * b->n_dims, b->n_dims, K, &options, ids + q * K, scores + q * K);
    for (uint64_t i = 0; i < N_QUERIES * K; i++) {
        const bool there = i % K < c->n_rows;
        if (there != (ids[i] != THR_NO_ID) ||
            (there && c->words != NULL && (c->words[ids[i] / 64] >> ids[i] % 64 & 1) == 0))
            bench_fail("a search with a filter of %" PRIu64 " rows answers what it may not", c->n_rows);
    }
}

static void prepare(filter_bench *b) {
    bench_normal normal = {.seed = 2000, .n_dims = b->n_dims};
    b->queries = bench_alloc((size_t)N_QUERIES * b->n_dims * sizeof *b->queries);
    (void)bench_normal_rows(&normal, 0, N_QUERIES, b->queries);
    for (int i = 0; i < N_FILTERS; i++) {
        filter_case *c = &b->cases[i];
        c->seconds = c->exact_seconds = INFINITY;
        c->n_rows = b->n_items;
        if (i == 0)
            continue;
        c->words = bench_alloc((size_t)(b->n_items / 64 + 1) * sizeof *c->words);
        fill(c->words, b->n_items, FILTERS[i].share, FILTERS[i].in_runs);
        c->n_rows = thr_bitmap_count(c->words, b->n_items);
    }
}

static void print(filter_bench *b) {
    char title[128];
    (void)snprintf(title, sizeof title, "filters, %.4g M x %" PRIu32 ", k = 10", (double)b->n_items * 1e-6, b->n_dims);
    bench_table *table =
        bench_table_begin(title, 1, "filter | rows that pass | ms per query | recall@10 | ms per query, exact scan");
    for (int i = 0; i < N_FILTERS; i++) {
        const filter_case *c = &b->cases[i];
        const double over = c->seconds / b->cases[0].seconds, recall = bench_recall(c->truth, c->ids, N_QUERIES, K);
        if (i == 0)
            bench_row(table, "none");
        else
            bench_row(table, "%.4g %%, %s", 100 * FILTERS[i].share, FILTERS[i].in_runs ? "in runs" : "anywhere");
        bench_cells(table, "%" PRIu64 " | %.3f | %.3f | %.3f", c->n_rows, c->seconds / N_QUERIES * 1e3, recall,
                    c->exact_seconds / N_QUERIES * 1e3);
        if (FILTERS[i].has_target)
            bench_at_most(over, TARGET_ONE_PERCENT,
                          "a search that lets %.4g %% of the rows pass, anywhere, over one without a filter",
                          100 * FILTERS[i].share);
    }
    bench_print(table);
}

void bench_filter(const char *dir) {
    filter_bench *b = bench_alloc(sizeof *b);
    b->index = bench_open(bench.context, dir);
    const thr_index_info info = thr_index_get_info(b->index);
    b->n_items = info.n_items;
    b->n_dims = info.n_dims;
    prepare(b);
    for (int round = 0; round < ROUNDS; round++) /* in turns, because other processes share the memory bandwidth */
        for (int i = 0; i < N_FILTERS; i++) {
            search(b, &b->cases[i], false, b->cases[i].ids);
            if (round < EXACT_ROUNDS)
                search(b, &b->cases[i], true, b->cases[i].truth);
        }
    print(b);
    thr_index_free(b->index);
}
