/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tower.c - `thresher-bench tower`: examples a second in training, texts a second in encoding, and how long a text
 * query over a million codes takes. rbe* of the RBE paper, on pairs that ./run bench tower has split and written.
 */
#include "tower.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"

enum {
    EPOCHS = 3,
    PASSES = 5,
    K = 1000,
    MILLION = 1000000,
    QUICK_CODES = 100000,
    MOST_QUERIES = 2000,
    MOST_PATH = 2048
};
enum { RBE_QUERY_BITS = 3, RBE_ITEM_BITS = 2 };

static const double TARGET_ENCODE = 50000, TARGET_QUERY_MS = 3;

typedef struct tower_bench {
    bench_scan_run *run;
    const bench_tower_values *values;
    bench_table table;
    char model[MOST_PATH], dir[MOST_PATH]; /* of the model, and of the index of a million codes */
    uint32_t batch;
} tower_bench;

/* ------------------------------------------------------------------------------------------------ training */

static void keep_best(void *user, const thr_tower_epoch *epoch) {
    double *best = user;
    *best = epoch->examples_per_second > *best ? epoch->examples_per_second : *best;
}

/* Examples a second in the best of some epochs. The model stays. */
static void time_training(tower_bench *b, const char *pairs, double *rate) {
    thr_tower_train_options options;
    thr_tower_report report;
    thr_tower_train_options_init(&options);
    options.n_negatives = options.batch - 1;
    options.config.query_bits = RBE_QUERY_BITS;
    options.config.item_bits = RBE_ITEM_BITS;
    options.seed = b->run->program->globals.seed;
    options.n_epochs = EPOCHS;
    options.patience = 0;
    options.float_share = 0; /* steps with signs are what is timed */
    options.format = (thr_pairs_format){.query_column = 1, .item_column = 2, .label_column = 3, .least_label = 2};
    options.on_epoch = keep_best;
    options.on_epoch_user = rate;
    *rate = 0;
    b->batch = options.batch;
    bench_must(b->run, thr_tower_train(b->run->context, pairs, b->model, &options, &report, &b->run->err));
}

/* ------------------------------------------------------------------------------------------------ encoding */

typedef struct texts {
    char **texts;
    size_t n, room, n_bytes;
    float *codes;
} texts;

static void add_text(tower_bench *b, texts *t, const char *text, size_t length) {
    if (t->n == t->room) {
        t->room = 2 * t->room + 4096;
        t->texts = realloc(t->texts, t->room * sizeof *t->texts);
        if (t->texts == NULL)
            bench_fail(b->run, "out of memory for texts");
    }
    t->texts[t->n++] = memcpy(bench_room(b->run, length + 1), text, length);
    t->n_bytes += length;
}

/* A column of a file of pairs, and room for the texts' codes. */
static void read_texts(tower_bench *b, const char *pairs, int column, uint32_t n_dims, texts *t) {
    char path[MOST_PATH + 16];
    thr_reader *reader = NULL;
    const char *line = NULL;
    size_t length;
    (void)snprintf(path, sizeof path, "%s:%d", pairs, column);
    bench_must(b->run, thr_reader_open(b->run->context, path, &reader, &b->run->err));
    for (;;) {
        bench_must(b->run, thr_reader_next_line(reader, &line, &length, &b->run->err));
        if (line == NULL)
            break;
        add_text(b, t, line, length);
    }
    thr_reader_free(reader);
    t->codes = bench_room(b->run, t->n * n_dims * sizeof *t->codes);
}

static void free_texts(texts *t) {
    for (size_t i = 0; i < t->n; i++)
        free(t->texts[i]);
    free(t->texts);
    free(t->codes);
}

/* Texts a second, all in one call, the best of some. */
static void time_encoding(tower_bench *b, const thr_tower *tower, thr_side side, const texts *t, double *rate) {
    double best = INFINITY;
    for (int pass = 0; pass < PASSES; pass++) {
        const double start = bench_clock();
        bench_must(b->run,
                   thr_tower_encode(tower, side, (const char *const *)t->texts, NULL, t->n, t->codes, &b->run->err));
        best = fmin(best, bench_clock() - start);
    }
    *rate = (double)t->n / best;
}

/* ------------------------------------------------------------------------------------------------ queries */

/* Items' codes, again and again: the first time as they are, then with one sign in eight turned, in either plane. */
typedef struct more_codes {
    const float *codes;
    uint64_t n;
    uint32_t n_dims;
} more_codes;

static uint64_t more_rows(void *user, uint64_t first, uint64_t max_rows, float *out) {
    enum { AT_ONCE = 4096 };
    const more_codes *more = user;
    const uint64_t n = max_rows < AT_ONCE ? max_rows : AT_ONCE;
    for (uint64_t r = 0; r < n; r++) {
        const float *code = more->codes + (first + r) % more->n * more->n_dims;
        const bool again = first + r >= more->n;
        for (uint32_t d = 0; d < more->n_dims; d++) {
            const uint64_t chance = bench_mix((first + r) * more->n_dims + d + 1);
            const float base = code[d] > 0 ? 1.0f : -1.0f, rest = code[d] - base;
            out[r * more->n_dims + d] =
                (again && chance % 8 == 0 ? -base : base) + (again && chance / 8 % 8 == 0 ? -rest : rest);
        }
    }
    return n;
}

static thr_index *build_codes(tower_bench *b, const texts *items, uint32_t n_dims) {
    more_codes more = {.codes = items->codes, .n = items->n, .n_dims = n_dims};
    thr_index_build_options options;
    thr_context *context = b->run->context;
    thr_index_build_options_init(&options);
    options.model = b->model;
    thr_reader *reader =
        bench_reader(b->run, context, b->values->quick ? QUICK_CODES : MILLION, n_dims, more_rows, &more);
    return bench_make_index(b->run, context, reader, b->dir, &options);
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Text to the best K, one query after the other; seconds of each call, ascending. The answers must be in order. */
static void time_queries(tower_bench *b, thr_index *index, const texts *queries, double *seconds, size_t n) {
    const thr_tower *tower = thr_index_tower(index);
    const uint32_t n_dims = thr_tower_get_info(tower).config.n_dims;
    static uint64_t ids[K];
    static float scores[K];
    for (size_t q = 0; q < n; q++) {
        float code[1024];
        const double start = bench_clock();
        bench_must(b->run, thr_tower_encode(tower, THR_SIDE_QUERY, (const char *const *)queries->texts + q, NULL, 1,
                                            code, &b->run->err));
        const thr_matrix one = thr_matrix_f32(code, 1, n_dims);
        bench_must(b->run, thr_index_search(index, &one, K, NULL, ids, scores, &b->run->err));
        seconds[q] = bench_clock() - start;
        for (size_t i = 1; i < K; i++)
            if (!(scores[i] <= scores[i - 1]) || ids[i] == ids[i - 1])
                bench_fail(b->run, "an answer is not in order or holds an item twice");
    }
    qsort(seconds, n, sizeof *seconds, by_value);
}

/* ------------------------------------------------------------------------------------------------ a data set */

typedef struct speeds {
    double examples, queries, items; /* a second */
    double query_length, item_length;
    double p50_ms, p99_ms;
} speeds;

static void measure_queries(tower_bench *b, const texts *queries, const texts *items, uint32_t n_dims, speeds *s) {
    const size_t n = queries->n < MOST_QUERIES ? queries->n : MOST_QUERIES;
    static double seconds[MOST_QUERIES];
    thr_index *index = build_codes(b, items, n_dims);
    s->p50_ms = s->p99_ms = INFINITY;
    for (int pass = 0; pass < 2; pass++) { /* the first one also warms up */
        time_queries(b, index, queries, seconds, n);
        s->p50_ms = fmin(s->p50_ms, seconds[n / 2] * 1e3);
        s->p99_ms = fmin(s->p99_ms, seconds[n - 1 - n / 100] * 1e3);
    }
    thr_index_free(index);
    bench_scratch_remove(b->dir);
}

static void measure_texts(tower_bench *b, const char *pairs, texts *queries, texts *items, speeds *s) {
    thr_tower *tower = NULL;
    bench_must(b->run, thr_tower_open(b->run->context, b->model, &tower, &b->run->err));
    const uint32_t n_dims = thr_tower_get_info(tower).config.n_dims;
    read_texts(b, pairs, 1, n_dims, queries);
    read_texts(b, pairs, 2, n_dims, items);
    time_encoding(b, tower, THR_SIDE_QUERY, queries, &s->queries);
    time_encoding(b, tower, THR_SIDE_ITEM, items, &s->items);
    measure_queries(b, queries, items, n_dims, s);
    thr_tower_free(tower);
}

static void measure_set(tower_bench *b, const char *name) {
    char path[MOST_PATH];
    texts queries = {0}, items = {0};
    speeds s = {0};
    (void)snprintf(path, sizeof path, "%s/%s.train.tsv", b->values->common.data, name);
    time_training(b, path, &s.examples);
    (void)snprintf(path, sizeof path, "%s/%s.pairs.tsv", b->values->common.data, name);
    measure_texts(b, path, &queries, &items, &s);
    const double query_length = (double)queries.n_bytes / (double)queries.n;
    free_texts(&queries);
    free_texts(&items);
    bench_row(&b->table, "%s | %.0f | %.0f | %.0f | %.0f | %.0f | %.3f | %.3f", name, s.examples, query_length,
              s.queries, (double)items.n_bytes / (double)items.n, s.items, s.p50_ms, s.p99_ms);
    bench_figure(b->run, "encode_texts_per_s", s.queries, TARGET_ENCODE, true,
                 "queries of %s encoded a second, %.0f bytes each", name, query_length);
    bench_figure(b->run, "query_p50_ms", s.p50_ms, TARGET_QUERY_MS, false,
                 "p50 of a text query to the best 1,000 of %s codes, %s, ms",
                 prog_exact(b->values->quick ? QUICK_CODES : MILLION).text, name);
}

static void sections(bench_scan_run *run) {
    static tower_bench bench;
    tower_bench *b = &bench;
    char names[256], *next = NULL;
    bench = (tower_bench){.run = run, .values = (const bench_tower_values *)(const void *)run->values};
    bench_table_begin(&b->table, "rbe*: training, encoding, and a text query to the best 1,000 of a million codes",
                      "data | examples/s learned from | bytes a query | queries/s encoded | bytes an item | "
                      "items/s encoded | query p50, ms | p99, ms");
    (void)snprintf(b->model, sizeof b->model, "%s/speed.safetensors", run->scratch);
    (void)snprintf(b->dir, sizeof b->dir, "%s/million", run->scratch);
    (void)snprintf(names, sizeof names, "%s", b->values->sets);
    bench_say_machine(run, "tower");
    for (const char *name = strtok_r(names, ",", &next); name != NULL; name = strtok_r(NULL, ",", &next))
        measure_set(b, name);
    bench_print(run, &b->table);
    bench_say(run,
              "Training: batches of %u, the best of %d epochs. Encoding: all texts of a side in one call, the best of "
              "%d. Queries: one after the other, encoded and searched; the codes are those of the items and, to fill "
              "up, the same with one sign in eight turned.\n\n",
              b->batch, EPOCHS, PASSES);
    bench_tower_scan(run, b->values, b->model);
}

static int run_tower(program *run, const void *values) {
    return bench_run(run, &((const bench_tower_values *)values)->common, sections);
}

static const prog_option options[] = {
    {PROG_TEXT_OPTION("sets", "NAME,...", offsetof(bench_tower_values, sets),
                      "data sets: DIR has NAME.train.tsv, to learn from, and NAME.pairs.tsv, whose texts are encoded"),
     .required = true},
    {PROG_COUNT_OPTION("codes", "N", offsetof(bench_tower_values, codes),
                       "codes of the long search (default: 1,000,000,000, or as many as there is room for)"),
     .least = 1000, .most = UINT32_MAX},
    {PROG_FLAG_OPTION("quick", offsetof(bench_tower_values, quick), "fewer codes: to see that it works")},
    {BENCH_SCRATCH_OPTION(offsetof(bench_tower_values, common.scratch))},
    PROG_OPTIONS_END,
};

static const prog_argument arguments[] = {
    {PROG_REQUIRED("DIR", PROG_NAMES_DIR, offsetof(bench_tower_values, common.data),
                   "files of pairs: query, item and label in three columns")},
    {.name = NULL},
};
const prog_command bench_tower_command = {
    PROG_COMMAND("tower", NULL, bench_tower_values, arguments, options, run_tower),
    .summary = "measure how fast codes of text are learned, made and searched",
    .text = "Learns rbe* of the RBE paper from pairs of texts, encodes all of them, and searches a million codes, and "
            "then as many random ones as there is room for. ./run bench tower writes the pairs, and has the paper's "
            "tables, Faiss and PyTorch beside it.",
    .examples = PROG_EXAMPLES("thresher-bench tower pairs --sets debian,tldr"),
};
