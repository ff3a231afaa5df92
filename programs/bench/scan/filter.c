/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.c - `thresher-bench filter`: the time that a filter saves. The same queries run with and without filters that
 * pass half of the rows, a hundredth and a ten-thousandth, anywhere or in runs.
 *
 * Answers are checked: only rows that pass, in order, and recall against the exact scan with the same filter.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/program.h"
#include "run.h"

enum { K = 10, N_QUERIES = 6, ROUNDS = 8, EXACT_ROUNDS = 3, RUN_ROWS = 1000, DIMS = 200 };

static const double TARGET_ONE_PERCENT = 0.3;

static const struct {
    double share;
    bool in_runs;
    const char *figure; /* NULL: has no target */
} FILTERS[] = {
    {1.0, false, NULL}, {0.5, false, NULL},    {0.5, true, NULL},    {0.01, false, "filter_1_percent_over_none"},
    {0.01, true, NULL}, {0.0001, false, NULL}, {0.0001, true, NULL},
};
enum { N_FILTERS = sizeof FILTERS / sizeof *FILTERS }; /* the first one is none at all */

typedef struct filter_case {
    uint64_t *words; /* NULL: none */
    uint64_t n_rows; /* that pass */
    uint64_t ids[N_QUERIES * K], truth[N_QUERIES * K];
    double seconds, exact_seconds, recall; /* of a query */
} filter_case;

typedef struct filter_bench {
    bench_scan_run *run;
    thr_index *index;
    uint64_t n_items;
    uint32_t n_dims;
    float *queries;
    filter_case cases[N_FILTERS];
} filter_bench;

/* Of [0, 1), the same for the same i. */
static double random_share(uint64_t i) {
    return bench_share(bench_mix(i + 1));
}

static void set_bit(uint64_t *words, uint64_t row) {
    words[row / 64] |= UINT64_C(1) << row % 64;
}

/* Every row by itself; or runs of up to RUN_ROWS rows, each anywhere in its part of the rows. */
static void fill(uint64_t *words, uint64_t n_items, double share, bool in_runs) {
    const uint64_t wanted = (uint64_t)((double)n_items * share);
    if (!in_runs) {
        for (uint64_t row = 0; row < n_items; row++)
            if (random_share(row) < share)
                set_bit(words, row);
        return;
    }
    const uint64_t length = wanted < RUN_ROWS ? wanted : RUN_ROWS, n_runs = length > 0 ? wanted / length : 0;
    for (uint64_t i = 0; i < n_runs; i++) {
        const uint64_t part = n_items / n_runs;
        const uint64_t first = i * part + (uint64_t)(random_share(i) * (double)(part - length + 1));
        for (uint64_t row = first; row < first + length; row++)
            set_bit(words, row);
    }
}

static bool passes(const filter_case *c, uint64_t row) {
    return c->words == NULL || (c->words[row / 64] >> row % 64 & 1) != 0;
}

/* One after the other; only rows that pass, in order, as many as there can be. */
static void search(filter_bench *b, filter_case *c, bool exact, uint64_t *ids) {
    thr_search_options options;
    thr_search_options_init(&options);
    options.exact = exact;
    options.filter = c->words;
    options.filter_bits = c->words != NULL ? b->n_items : 0;
    const double start = bench_clock();
    float scores[N_QUERIES * K];
    for (uint64_t q = 0; q < N_QUERIES; q++) {
        const thr_matrix one = thr_matrix_f32(b->queries + q * b->n_dims, 1, b->n_dims);
        bench_must(b->run, thr_index_search(b->index, &one, K, &options, ids + q * K, scores + q * K, &b->run->err));
    }
    const double took = (bench_clock() - start) / N_QUERIES;
    double *best = exact ? &c->exact_seconds : &c->seconds;
    *best = took < *best ? took : *best;
    for (uint64_t i = 0; i < N_QUERIES * K; i++) {
        const bool there = i % K < c->n_rows;
        if (there != (ids[i] != THR_NO_ID) || (there && !passes(c, ids[i])) ||
            (there && i % K > 0 && scores[i] > scores[i - 1]))
            bench_fail(b->run, "a search with a filter of %.17g answers what it may not",
                       (double)c->n_rows / (double)b->n_items);
    }
}

static void prepare(filter_bench *b) {
    b->queries = bench_room(b->run, (size_t)N_QUERIES * b->n_dims * sizeof *b->queries);
    bench_normal normal = {.seed = 2000, .n_dims = b->n_dims};
    (void)bench_normal_rows(&normal, 0, N_QUERIES, b->queries);
    for (int i = 0; i < N_FILTERS; i++) {
        filter_case *c = &b->cases[i];
        c->seconds = c->exact_seconds = INFINITY;
        c->n_rows = b->n_items;
        if (i == 0)
            continue;
        c->words = bench_room(b->run, (size_t)(b->n_items / 64 + 1) * sizeof *c->words);
        fill(c->words, b->n_items, FILTERS[i].share, FILTERS[i].in_runs);
        c->n_rows = thr_bitmap_count(c->words, b->n_items);
    }
}

/* In turns, because other processes share the memory bandwidth. */
static void measure(filter_bench *b) {
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < N_FILTERS; i++) {
            filter_case *c = &b->cases[i];
            search(b, c, false, c->ids);
            if (round < EXACT_ROUNDS)
                search(b, c, true, c->truth);
        }
    for (int i = 0; i < N_FILTERS; i++) {
        filter_case *c = &b->cases[i];
        const thr_recall_rows truth = {c->truth, NULL, K}, found = {c->ids, NULL, K};
        if (c->n_rows > 0)
            bench_must(b->run, thr_recall(&truth, &found, N_QUERIES, K, &c->recall, &b->run->err));
    }
}

static void print(filter_bench *b) {
    static bench_table table;
    char title[128];
    (void)snprintf(title, sizeof title, "One query of %.4g M x %" PRIu32 " with filters, k = 10, cosine (synthetic)",
                   (double)b->n_items * 1e-6, b->n_dims);
    bench_table_begin(&table, title, "filter | rows that pass | ms a query | over none | recall@10 | ms exact");
    for (int i = 0; i < N_FILTERS; i++) {
        const filter_case *c = &b->cases[i];
        const double over = c->seconds / b->cases[0].seconds;
        if (i == 0)
            bench_row(&table, "none");
        else
            bench_row(&table, "%.4g %%, %s", 100 * FILTERS[i].share, FILTERS[i].in_runs ? "in runs" : "anywhere");
        bench_cells(&table, "%" PRIu64 " | %.3f | %.3f", c->n_rows, c->seconds * 1e3, over);
        bench_cells(&table, c->n_rows > 0 ? "%.3f" : "-", c->recall);
        bench_cells(&table, "%.3f", c->exact_seconds * 1e3);
        if (FILTERS[i].figure != NULL)
            bench_figure(b->run, FILTERS[i].figure, over, TARGET_ONE_PERCENT, false,
                         "a search that lets %.4g %% of the rows pass, anywhere, over one without a filter",
                         100 * FILTERS[i].share);
    }
    bench_print(b->run, &table);
}

void bench_filter(bench_scan_run *run, const char *dir) {
    filter_bench b = {.run = run};
    bench_must(run, thr_index_open(run->context, dir, &b.index, &run->err));
    const thr_index_info info = thr_index_get_info(b.index);
    b.n_items = info.n_items;
    b.n_dims = info.n_dims;
    prepare(&b);
    measure(&b);
    print(&b);
    for (int i = 0; i < N_FILTERS; i++)
        free(b.cases[i].words);
    free(b.queries);
    thr_index_free(b.index);
}

/* ------------------------------------------------------------------------------------------------ the command */

static void build_and_measure(bench_scan_run *run) {
    bench_normal normal = {.seed = run->program->globals.seed, .n_dims = DIMS};
    char dir[2048];
    (void)snprintf(dir, sizeof dir, "%s/filter", run->scratch);
    bench_say_machine(run, "filter");
    thr_reader *reader = bench_reader(run, run->context, run->values->items, DIMS, bench_normal_rows, &normal);
    thr_index_free(bench_make_index(run, run->context, reader, dir, NULL));
    bench_filter(run, dir);
}

static int run_filter(program *run, const void *values) {
    return bench_run(run, values, build_and_measure);
}

static const prog_option options[] = {
    {PROG_COUNT_OPTION("items", "N", offsetof(bench_scan_values, items),
                       "items of 200 dimensions; a kilobyte of scratch space and memory each"),
     .fallback = "1000000", .least = 1000, .most = 100000000},
    {BENCH_SCRATCH_OPTION(offsetof(bench_scan_values, scratch))},
    PROG_OPTIONS_END,
};

const prog_command bench_filter_command = {
    PROG_COMMAND("filter", NULL, bench_scan_values, bench_no_arguments, options, run_filter),
    .summary = "measure searches with filters on this machine",
    .text =
        "Prints the part of thresher-bench scan that is about filters: the time of a query when half of the rows, a "
        "hundredth or a ten-thousandth of them pass, over the time without a filter, with one thread and every "
        "answer checked.",
    .examples = PROG_EXAMPLES("thresher-bench filter", "thresher-bench filter --items 200000"),
};
