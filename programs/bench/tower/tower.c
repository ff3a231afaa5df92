/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tower.c - `thresher-bench tower`: texts per second in encoding, and how long a text query over a million codes takes,
 * and one over many random codes of 16 bytes. rbe* of the RBE paper, on pairs that ./run bench tower has split.
 */
#define _POSIX_C_SOURCE 200809L /* strtok_r, stat */
#include "bench.h"

#include <string.h>
#include <sys/stat.h>

#include "cli/messages.h"

enum { EPOCHS = 3, PASSES = 5, K = 1000, MILLION = 1000000, QUICK_MILLION = 100000, MOST_QUERIES = 2000 };
enum { RBE_QUERY_BITS = 3, RBE_ITEM_BITS = 2, DIMS = 64 };
enum { LONG_ROUNDS = 4 };
#define SEGMENT_CODES (UINT64_C(1) << 27) /* 2 GiB: a build keeps one segment's codes in memory */

static const double TARGET_ENCODE = 50000, TARGET_QUERY_MS = 3, TARGET_SHARE = 0.85;

typedef struct texts {
    const char **texts;
    size_t n, n_bytes;
    float *codes;
} texts;

typedef struct tower_bench {
    bench_table *table;
    const char *model, *dir; /* of the model, and of an index */
    texts queries, items;
} tower_bench;

/* ------------------------------------------------------------------------------------------------ training */

/* The model stays. */
static void train(tower_bench *b, const char *pairs) {
    thr_tower_report report;
    BENCH_OPTIONS(thr_tower_train, options);
    options.config.query_bits = RBE_QUERY_BITS;
    options.config.item_bits = RBE_ITEM_BITS;
    options.run.seed = bench.program->globals.seed;
    options.run.n_epochs = EPOCHS;
    options.format = (thr_pairs_format){.query_column = 1, .item_column = 2, .label_column = 3, .least_label = 2};
    bench_check(thr_tower_train(bench.context, pairs, b->model, &options, &report, &bench.err));
}

/* ------------------------------------------------------------------------------------------------ encoding */

/* A column of a file of pairs, and room for the codes of its texts. A line has two bytes at least. */
static texts read_texts(const char *pairs, int column) {
    char path[2048];
    const char *line = "";
    size_t length;
    struct stat st;
    thr_reader *reader = NULL;
    (void)snprintf(path, sizeof path, "%s:%d", pairs, column);
    bench_check(thr_reader_open(bench.context, path, &reader, &bench.err));
    if (stat(pairs, &st) != 0)
        bench_fail("%s: cannot be read", pairs);
    texts t = {.texts = bench_alloc((size_t)st.st_size / 2 * sizeof *t.texts)};
    for (char *bytes = bench_alloc((size_t)st.st_size); line != NULL; bytes += length + 1) {
        bench_check(thr_reader_next_line(reader, &line, &length, &bench.err));
        if (line == NULL)
            break;
        t.texts[t.n++] = memcpy(bytes, line, length);
        t.n_bytes += length;
    }
    thr_reader_free(reader);
    t.codes = bench_alloc(t.n * DIMS * sizeof *t.codes);
    return t;
}

/* Texts per second, all in one call, the best of some. */
static double encode(const thr_tower *tower, thr_side side, const texts *t) {
    double best;
    for (BENCH_BEST(best, PASSES))
        bench_check(thr_tower_encode(tower, side, t->texts, NULL, t->n, t->codes, &bench.err));
    return (double)t->n / best;
}

/* ------------------------------------------------------------------------------------------------ queries */

/* Two words of chance a row, its planes. */
static uint64_t random_rows(void *user, uint64_t first, uint64_t max_rows, float *out) {
    enum { AT_ONCE = 16384 };
    static const float values[4] = {-1.5f, 0.5f, -0.5f, 1.5f};
    const uint64_t n = max_rows < AT_ONCE ? max_rows : AT_ONCE, seed = *(const uint64_t *)user;
    for (uint64_t r = 0; r < n; r++) {
        uint64_t base = bench_mix(2 * (first + r) + seed), rest = bench_mix(2 * (first + r) + 1 + seed);
        for (uint32_t d = 0; d < DIMS; d++, base >>= 1, rest >>= 1)
            out[r * DIMS + d] = values[(base & 1) + 2 * (rest & 1)];
    }
    return n;
}

/* An index of n random codes of the model. The build is not measured, so it uses all CPUs. */
static thr_index *build(tower_bench *b, uint64_t n) {
    uint64_t seed = bench.program->globals.seed;
    thr_context *context = bench.program->context;
    thr_index_build_options options = {0};
    options.model = b->model;
    options.segment_rows = SEGMENT_CODES;
    return bench_build(context, bench_reader(context, n, DIMS, random_rows, &seed), b->dir, &options);
}

static uint64_t n_million(void) {
    return bench.values->quick ? QUICK_MILLION : MILLION;
}

static void ask_code(thr_index *index, const float *code) {
    static uint64_t ids[K];
    static float scores[K];
    bench_ask(index, code, DIMS, K, NULL, ids, scores);
}

/* p50 and p99 of a query from a text to the best K, one after the other, in the better of two passes. */
static void time_queries(tower_bench *b, double *p50, double *p99) {
    static double seconds[MOST_QUERIES];
    const size_t n = b->queries.n < MOST_QUERIES ? b->queries.n : MOST_QUERIES;
    thr_index *index = build(b, n_million());
    *p50 = *p99 = INFINITY;
    for (int pass = 0; pass < 2; pass++) { /* the first one also warms up */
        for (size_t q = 0; q < n; q++) {
            float code[DIMS];
            for (BENCH_BEST(seconds[q], 1)) {
                bench_check(thr_tower_encode(thr_tower_of_index(index), THR_SIDE_QUERY, b->queries.texts + q, NULL, 1,
                                             code, &bench.err));
                ask_code(index, code);
            }
        }
        bench_sort(seconds, n);
        *p50 = fmin(*p50, seconds[n / 2]);
        *p99 = fmin(*p99, seconds[n - 1 - n / 100]);
    }
    thr_index_free(index);
    bench_scratch_remove(b->dir);
}

static void measure_set(tower_bench *b, const char *name) {
    char path[2048];
    thr_tower *tower = NULL;
    double p50, p99;
    (void)snprintf(path, sizeof path, "%s/%s.train.tsv", bench.values->data, name);
    train(b, path);
    const size_t mark = bench_mark();
    (void)snprintf(path, sizeof path, "%s/%s.pairs.tsv", bench.values->data, name);
    bench_check(thr_tower_open(bench.context, b->model, &tower, &bench.err));
    b->queries = read_texts(path, 1);
    b->items = read_texts(path, 2);
    const double queries = encode(tower, THR_SIDE_QUERY, &b->queries), items = encode(tower, THR_SIDE_ITEM, &b->items);
    const double length = (double)b->queries.n_bytes / (double)b->queries.n;
    thr_tower_free(tower);
    time_queries(b, &p50, &p99);
    bench_row(b->table, "%s | %.0f | %.0f | %.0f | %.0f | %.3f | %.3f", name, length, queries,
              (double)b->items.n_bytes / (double)b->items.n, items, p50 * 1e3, p99 * 1e3);
    bench_at_least(queries, TARGET_ENCODE, "queries of %s encoded per second, %.0f bytes each", name, length);
    bench_at_most(p50 * 1e3, TARGET_QUERY_MS, "p50 of a text query to the best 1,000 of %s codes, %s, ms",
                  prog_exact(n_million()).text, name);
    bench_release(mark);
}

/* ------------------------------------------------------------------------------------------------ the long search */

/* Search and plain read in turns, because other processes share the memory bandwidth. */
static void measure_long_search(tower_bench *b) {
    static const char *const QUERIES[LONG_ROUNDS] = {"wireless doorbell", "convert a video", "list files",
                                                     "kitchen faucet"};
    float code[DIMS];
    double read = 0, took = INFINITY, warm = INFINITY;
    size_t size = 0;
    const uint64_t n = bench.values->codes;
    prog_note("building an index of %s random codes", prog_exact(n).text);
    thr_index *index = build(b, n);
    const void *file = bench_map_segment(b->dir, &size);
    for (int round = -1; round < LONG_ROUNDS; round++) { /* the first one brings all codes into memory */
        bench_check(thr_tower_encode(thr_tower_of_index(index), THR_SIDE_QUERY, &QUERIES[round < 0 ? 0 : round], NULL,
                                     1, code, &bench.err));
        for (BENCH_ALSO(*(round < 0 ? &warm : &took)))
            ask_code(index, code);
        if (round >= 0)
            read = fmax(read, bench_read_bandwidth(file, size));
    }
    bench_unmap(file, size);
    const thr_index_info info = thr_index_get_info(index);
    const double bytes = (double)info.code_bytes / (double)info.n_items, rate = (double)info.n_items / took;
    bench_table *table = bench_table_begin("random codes, k = 1,000", 2,
                                           "codes | bytes | ms per query | M items/s | GB/s | GB/s plain read");
    bench_row(table, "%s | %.2f | %.1f | %.0f | %.1f | %.1f", prog_exact(info.n_items).text, bytes, took * 1e3,
              rate * 1e-6, rate * bytes * 1e-9, read * 1e-9);
    bench_print(table);
    bench_at_least(rate * bytes / read, TARGET_SHARE, "search of %s codes of 16 bytes, k = 1,000, over plain read",
                   prog_exact(info.n_items).text);
    thr_index_free(index);
}

/* ------------------------------------------------------------------------------------------------ all */

static void sections(void) {
    tower_bench *b = bench_alloc(sizeof *b);
    char names[256], *next = NULL;
    b->table = bench_table_begin("speed", 1,
                                 "data | bytes per query | queries/s encoded | bytes per item | "
                                 "items/s encoded | query p50, ms | query p99, ms");
    b->model = bench_path("speed.safetensors");
    b->dir = bench_path("codes");
    (void)snprintf(names, sizeof names, "%s", bench.values->sets);
    bench_print_title("tower");
    for (const char *name = strtok_r(names, ",", &next); name != NULL; name = strtok_r(NULL, ",", &next))
        measure_set(b, name);
    bench_print(b->table);
    bench_print_text("Encoding: all texts of a side in one call, the best of %d. Queries: one after the other, encoded "
                     "and searched; the "
                     "best 1,000 of a million random codes.\n\n",
                     PASSES);
    measure_long_search(b);
}

static const prog_option options[] = {
    {PROG_TEXT_OPTION("sets", "NAME,...", offsetof(bench_values, sets),
                      "data sets: DIR has NAME.train.tsv, to learn from, and NAME.pairs.tsv, whose texts are encoded"),
     .required = true},
    {PROG_COUNT_OPTION("codes", "N", offsetof(bench_values, codes),
                       "random codes of the long search; 17 bytes of memory and of scratch space each"),
     .fallback = "100000000", .least = 1000, .most = UINT32_MAX},
    {PROG_FLAG_OPTION("quick", offsetof(bench_values, quick), "fewer codes: to see that it works")},
    BENCH_SCRATCH_OPTION,
    BENCH_CSV_OPTION,
    PROG_OPTIONS_END,
};

static const prog_argument arguments[] = {
    {PROG_REQUIRED("DIR", PROG_NAMES_DIR, offsetof(bench_values, data),
                   "files of pairs: query, item and label in three columns")},
    {.name = NULL},
};

BENCH_COMMAND(
    tower, arguments, options, sections, .summary = "measure how fast codes of text are learned, made and searched",
    .text = "Learns rbe* of the RBE paper from pairs of texts, encodes all of them, and searches a million codes, and "
            "then many random ones. ./run bench tower writes the pairs, and has the paper's "
            "tables, Faiss and PyTorch beside it.",
    .examples = PROG_EXAMPLES("thresher-bench tower pairs --sets debian,tldr"));
