/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tower_speed.c - `bench tower --speed`: examples a second in training, texts a second in encoding, and how long a text
 * query over a million codes takes. rbe*, on the data sets that are there.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "talk.h"
#include "tower.h"

enum { EPOCHS = 3, PASSES = 5, K = 1000, MILLION = 1000000, QUICK_CODES = 100000, MOST_QUERIES = 2000 };

static const double TARGET_ENCODE = 50000, TARGET_QUERY_MS = 3;

/* ------------------------------------------------------------------------------------------------ training */

static void keep_best(void *user, const thr_tower_epoch *epoch) {
    double *best = user;
    *best = epoch->examples_per_second > *best ? epoch->examples_per_second : *best;
}

/* Examples a second in the best of some epochs. The model stays at path. */
static int time_training(bench_tower *bench, const bench_set *set, const char *path, double *rate) {
    thr_tower_train_options options = bench->train;
    thr_tower_report report;
    char pairs[BENCH_PATH];
    options.config.query_bits = bench_models[BENCH_RBE].query_bits;
    options.config.item_bits = bench_models[BENCH_RBE].item_bits;
    options.seed = bench->run.program->globals.seed;
    options.n_epochs = EPOCHS;
    options.patience = 0;
    options.float_share = 0; /* steps with signs are what is timed */
    options.format =
        (thr_pairs_format){.query_column = 1, .item_column = 2, .label_column = 3, .least_label = BENCH_LEAST_LABEL};
    options.on_epoch = keep_best;
    options.on_epoch_user = rate;
    *rate = 0;
    bench_tower_file(bench, set->name, "train", pairs);
    return thr_tower_train(bench->run.context, pairs, path, &options, &report, &bench->run.err) == THR_OK ? 0 : -1;
}

/* ------------------------------------------------------------------------------------------------ encoding */

typedef struct texts {
    const char **texts;
    size_t n, n_bytes;
    float *codes;
} texts;

static int take_texts(bench_tower *bench, const bench_set *set, thr_side side, uint32_t n_dims, texts *t) {
    *t = (texts){.texts = malloc(set->pairs.n * sizeof *t->texts), .n = set->pairs.n};
    t->codes = malloc(set->pairs.n * n_dims * sizeof *t->codes);
    if (t->texts == NULL || t->codes == NULL)
        return bench_fail(&bench->run, "no memory for texts");
    for (size_t i = 0; i < t->n; i++) {
        t->texts[i] = side == THR_SIDE_QUERY ? bench_query(&set->pairs, i) : bench_item(&set->pairs, i);
        t->n_bytes += strlen(t->texts[i]);
    }
    return 0;
}

static void free_texts(texts *t) {
    free(t->texts);
    free(t->codes);
    *t = (texts){0};
}

/* Texts a second, all in one call, the best of some. */
static int time_encoding(bench_tower *bench, const thr_tower *tower, thr_side side, const texts *t, double *rate) {
    double best = INFINITY;
    for (int pass = 0; pass < PASSES; pass++) {
        const double start = bench_clock();
        if (thr_tower_encode(tower, side, t->texts, NULL, t->n, t->codes, &bench->run.err) != THR_OK)
            return -1;
        best = fmin(best, bench_clock() - start);
    }
    *rate = (double)t->n / best;
    return 0;
}

/* ------------------------------------------------------------------------------------------------ queries */

/* Items' codes, again and again: the first time as they are, then with one sign in eight turned, in either plane. */
typedef struct more_codes {
    const float *codes;
    uint64_t n;
    uint32_t n_dims;
} more_codes;

static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t more_rows(void *user, uint64_t first, uint64_t max_rows, float *out) {
    enum { AT_ONCE = 4096 };
    const more_codes *more = user;
    const uint64_t n = max_rows < AT_ONCE ? max_rows : AT_ONCE;
    for (uint64_t r = 0; r < n; r++) {
        const float *code = more->codes + (first + r) % more->n * more->n_dims;
        const bool again = first + r >= more->n;
        for (uint32_t d = 0; d < more->n_dims; d++) {
            const uint64_t chance = mix(((first + r) * more->n_dims + d + 1) * 0x9e3779b97f4a7c15u);
            const float base = code[d] > 0 ? 1.0f : -1.0f, rest = code[d] - base;
            out[r * more->n_dims + d] =
                (again && chance % 8 == 0 ? -base : base) + (again && chance / 8 % 8 == 0 ? -rest : rest);
        }
    }
    return n;
}

static int build_codes(bench_tower *bench, const char *model_path, const texts *items, uint32_t n_dims, uint64_t n,
                       thr_index **index) {
    bench_scan_run *run = &bench->run;
    more_codes more = {.codes = items->codes, .n = items->n, .n_dims = n_dims};
    thr_index_build_options options;
    thr_reader *reader = NULL;
    char dir[BENCH_PATH];
    (void)snprintf(dir, sizeof dir, "%s/million", run->scratch);
    thr_index_build_options_init(&options);
    options.model = model_path;
    thr_status status = thr_reader_from_function(run->context, n, n_dims, more_rows, &more, &reader, &run->err);
    if (status == THR_OK)
        status = thr_index_build(run->context, dir, reader, &options, &run->err);
    if (status == THR_OK)
        status = thr_index_open(run->context, dir, index, &run->err);
    thr_reader_free(reader);
    return status == THR_OK ? 0 : -1;
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Text to the best K, one query after the other; seconds of each call, ascending. The answers must be in order. */
static int time_queries(bench_tower *bench, thr_index *index, const texts *queries, double *seconds, size_t n) {
    const thr_tower *tower = thr_index_tower(index);
    const uint32_t n_dims = thr_tower_get_info(tower).config.n_dims;
    static uint64_t ids[K];
    static float scores[K];
    for (size_t q = 0; q < n; q++) {
        float code[1024];
        const double start = bench_clock();
        if (thr_tower_encode(tower, THR_SIDE_QUERY, queries->texts + q, NULL, 1, code, &bench->run.err) != THR_OK)
            return -1;
        const thr_matrix one = thr_matrix_f32(code, 1, n_dims);
        if (thr_index_search(index, &one, K, NULL, ids, scores, &bench->run.err) != THR_OK)
            return -1;
        seconds[q] = bench_clock() - start;
        for (size_t i = 1; i < K; i++)
            if (!(scores[i] <= scores[i - 1]) || ids[i] == ids[i - 1])
                return bench_fail(&bench->run, "an answer is not in order or holds an item twice");
    }
    qsort(seconds, n, sizeof *seconds, by_value);
    return 0;
}

/* ------------------------------------------------------------------------------------------------ a data set */

typedef struct speeds {
    double examples, queries, items; /* a second */
    double query_length, item_length;
    double p50_ms, p99_ms;
} speeds;

static int measure_queries(bench_tower *bench, const char *model_path, const texts *queries, const texts *items,
                           uint32_t n_dims, speeds *s) {
    thr_index *index = NULL;
    const size_t n = queries->n < MOST_QUERIES ? queries->n : MOST_QUERIES;
    static double seconds[MOST_QUERIES];
    int rc = build_codes(bench, model_path, items, n_dims, bench->values->quick ? QUICK_CODES : MILLION, &index);
    s->p50_ms = s->p99_ms = INFINITY;
    for (int pass = 0; rc == 0 && pass < 2; pass++) { /* the first one also warms up */
        rc = time_queries(bench, index, queries, seconds, n);
        s->p50_ms = fmin(s->p50_ms, seconds[n / 2] * 1e3);
        s->p99_ms = fmin(s->p99_ms, seconds[n - 1 - n / 100] * 1e3);
    }
    char dir[BENCH_PATH];
    (void)snprintf(dir, sizeof dir, "%s/million", bench->run.scratch);
    thr_index_free(index);
    bench_scratch_remove(dir);
    return rc;
}

static int measure_set(bench_tower *bench, const bench_set *set, const char *model_path, speeds *s) {
    thr_tower *tower = NULL;
    texts queries = {0}, items = {0};
    if (time_training(bench, set, model_path, &s->examples) != 0 ||
        thr_tower_open(bench->run.context, model_path, &tower, &bench->run.err) != THR_OK)
        return -1;
    const uint32_t n_dims = thr_tower_get_info(tower).config.n_dims;
    int rc = take_texts(bench, set, THR_SIDE_QUERY, n_dims, &queries);
    if (rc == 0)
        rc = take_texts(bench, set, THR_SIDE_ITEM, n_dims, &items);
    if (rc == 0)
        rc = time_encoding(bench, tower, THR_SIDE_QUERY, &queries, &s->queries);
    if (rc == 0)
        rc = time_encoding(bench, tower, THR_SIDE_ITEM, &items, &s->items);
    if (rc == 0)
        rc = measure_queries(bench, model_path, &queries, &items, n_dims, s);
    s->query_length = (double)queries.n_bytes / (double)set->pairs.n;
    s->item_length = (double)items.n_bytes / (double)set->pairs.n;
    free_texts(&queries);
    free_texts(&items);
    thr_tower_free(tower);
    return rc;
}

static void add_figures(bench_tower *bench, const bench_set *set, const speeds *s) {
    bench_figure(&bench->run, "encode_texts_per_s", s->queries, TARGET_ENCODE, true,
                 "queries of %s encoded a second, %.0f bytes each", set->name, s->query_length);
    bench_figure(&bench->run, "query_p50_ms", s->p50_ms, TARGET_QUERY_MS, false,
                 "p50 of a text query to the best 1,000 of %s codes, %s, ms",
                 prog_exact(bench->values->quick ? QUICK_CODES : MILLION).text, set->name);
}

int bench_tower_speed(bench_tower *bench) {
    static const char *const columns[] = {"data",
                                          "examples/s learned from",
                                          "bytes a query",
                                          "queries/s encoded",
                                          "bytes an item",
                                          "items/s encoded",
                                          "query p50, ms",
                                          "p99, ms",
                                          NULL};
    static bench_table table;
    char path[BENCH_PATH];
    table = (bench_table){.title = "rbe*: training, encoding, and a text query to the best 1,000 of a million codes",
                          .columns = columns};
    (void)snprintf(path, sizeof path, "%s/speed.safetensors", bench->run.scratch);
    for (int i = 0; i < BENCH_N_SETS; i++) {
        const bench_set *set = &bench->sets[i];
        speeds s = {0};
        if (!set->there)
            continue;
        if (measure_set(bench, set, path, &s) != 0)
            return -1;
        bench_table_row(&table);
        bench_table_cell(&table, "%s", set->name);
        bench_table_cell(&table, "%.0f", s.examples);
        bench_table_cell(&table, "%.0f", s.query_length);
        bench_table_cell(&table, "%.0f", s.queries);
        bench_table_cell(&table, "%.0f", s.item_length);
        bench_table_cell(&table, "%.0f", s.items);
        bench_table_cell(&table, "%.3f", s.p50_ms);
        bench_table_cell(&table, "%.3f", s.p99_ms);
        add_figures(bench, set, &s);
    }
    bench_print(&bench->run, &table);
    bench_say(
        &bench->run,
        "Training: batches of %u, the best of %d epochs. Encoding: all texts of a side in one call, the best of %d. "
        "Queries: one after the other, encoded and searched; the codes are those of the items and, to fill up, the "
        "same with one sign in eight turned.\n\n",
        bench->train.batch, EPOCHS, PASSES);
    return bench_tower_scan(bench, path);
}
