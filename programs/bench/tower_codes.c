/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Codes against codes: those that a model learned to make, and those made of a float model's item vectors afterwards:
 * XFBQ, our own index, of 2 bits, and of 1 bit, which has about as many bytes with its factors as two planes have. All
 * distinct items of a data set are searched, with the queries of its test part.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "program.h"
#include "tower.h"

enum { K = 100, BATCH = 64, MOST_BITS = 2, NEGATIVES = 10 };

typedef struct codes_bench {
    bench_tower *bench;
    const bench_set *set;
    uint32_t n_dims;
    const char **texts; /* of the items, then of the queries */
    size_t n_items, n_rows;
    uint32_t *item_of; /* of every test row, which is a query */
    float *labels;
    float *items, *queries; /* embeddings */
} codes_bench;

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The distinct items in the order of their bytes, and which of them each row of the test part has. */
static int find_items(codes_bench *c) {
    const bench_pairs *pairs = &c->set->pairs;
    c->texts = malloc(2 * pairs->n * sizeof *c->texts);
    c->item_of = malloc(pairs->n * sizeof *c->item_of);
    c->labels = malloc(pairs->n * sizeof *c->labels);
    if (c->texts == NULL || c->item_of == NULL || c->labels == NULL)
        return bench_fail(&c->bench->run, "no memory for items");
    for (size_t i = 0; i < pairs->n; i++)
        c->texts[i] = bench_item(pairs, i);
    qsort(c->texts, pairs->n, sizeof *c->texts, by_text);
    for (size_t i = 0; i < pairs->n; i++)
        if (c->n_items == 0 || strcmp(c->texts[c->n_items - 1], c->texts[i]) != 0)
            c->texts[c->n_items++] = c->texts[i];
    for (size_t i = 0; i < pairs->n; i++) {
        if (!pairs->rows[i].test)
            continue;
        const char *item = bench_item(pairs, i);
        const char **found = bsearch(&item, c->texts, c->n_items, sizeof *c->texts, by_text);
        c->item_of[c->n_rows] = (uint32_t)(found - c->texts);
        c->labels[c->n_rows] = pairs->rows[i].label;
        c->texts[c->n_items + c->n_rows++] = bench_query(pairs, i);
    }
    return 0;
}

static int encode(codes_bench *c, const thr_tower *tower) {
    c->n_dims = thr_tower_get_info(tower).config.n_dims;
    if (c->n_rows == 0)
        return bench_fail(&c->bench->run, "%s: no pairs to test with", c->set->name);
    c->items = malloc(c->n_items * c->n_dims * sizeof *c->items);
    c->queries = malloc(c->n_rows * c->n_dims * sizeof *c->queries);
    if (c->items == NULL || c->queries == NULL)
        return bench_fail(&c->bench->run, "no memory for embeddings");
    thr_error *err = &c->bench->run.err;
    return thr_tower_encode(tower, THR_SIDE_ITEM, c->texts, NULL, c->n_items, c->items, err) == THR_OK &&
                   thr_tower_encode(tower, THR_SIDE_QUERY, c->texts + c->n_items, NULL, c->n_rows, c->queries, err) ==
                       THR_OK
               ? 0
               : -1;
}

static int build(codes_bench *c, const thr_index_build_options *options, thr_index **index) {
    const thr_matrix items = thr_matrix_f32(c->items, c->n_items, c->n_dims);
    bench_scan_run *run = &c->bench->run;
    thr_reader *reader = NULL;
    char dir[BENCH_PATH];
    (void)snprintf(dir, sizeof dir, "%s/codes", run->scratch);
    thr_status status = thr_reader_from_matrix(run->context, &items, &reader, &run->err);
    if (status == THR_OK)
        status = thr_index_build(run->context, dir, reader, options, &run->err);
    if (status == THR_OK)
        status = thr_index_open(run->context, dir, index, &run->err);
    thr_reader_free(reader);
    return status == THR_OK ? 0 : -1;
}

/* What is made of the answers of a batch of queries, from row `first` on; k ids and scores each. */
typedef int (*take_fn)(codes_bench *c, size_t first, size_t n, size_t k, const uint64_t *ids, const float *scores,
                       void *user);

static int search(codes_bench *c, thr_index *index, const thr_search_options *options, size_t k, take_fn take,
                  void *user) {
    uint64_t *ids = malloc(BATCH * k * sizeof *ids);
    float *scores = malloc(BATCH * k * sizeof *scores);
    int rc = ids == NULL || scores == NULL ? bench_fail(&c->bench->run, "no memory for answers") : 0;
    for (size_t first = 0; rc == 0 && first < c->n_rows; first += BATCH) {
        const size_t n = c->n_rows - first < BATCH ? c->n_rows - first : BATCH;
        const thr_matrix queries = thr_matrix_f32(c->queries + first * c->n_dims, n, c->n_dims);
        rc = thr_index_search(index, &queries, k, options, ids, scores, &c->bench->run.err) == THR_OK ? 0 : -1;
        if (rc == 0)
            rc = take(c, first, n, k, ids, scores, user);
    }
    free(ids);
    free(scores);
    return rc;
}

/* ------------------------------------------------------------------------------------------------ recall */

typedef struct found {
    size_t n_good, n_found;
} found;

static int count_found(codes_bench *c, size_t first, size_t n, size_t k, const uint64_t *ids, const float *scores,
                       void *user) {
    found *f = user;
    (void)scores;
    for (size_t q = 0; q < n; q++) {
        if (c->labels[first + q] < BENCH_LEAST_LABEL)
            continue;
        f->n_good++;
        for (size_t i = 0; i < k; i++)
            f->n_found += ids[q * k + i] == c->item_of[first + q];
    }
    return 0;
}

/* The share of the good test pairs whose item is among the K best of its query. query_bits 0: as the index has it. */
static int measure_recall(codes_bench *c, thr_index *index, bool exact, uint32_t query_bits, double *recall) {
    thr_search_options options;
    found f = {0};
    thr_search_options_init(&options);
    options.exact = exact;
    options.query_bits = query_bits;
    if (search(c, index, &options, K, count_found, &f) != 0)
        return -1;
    *recall = (double)f.n_found / (double)f.n_good;
    return 0;
}

/* ------------------------------------------------------------------------------------------------ AUC */

typedef struct pair_scores {
    float *by_item; /* of the query at hand */
    float *scores;
    uint8_t *labels;
    size_t n;
} pair_scores;

/* The pairs of thr_tower_eval: labelled ones; or each good one, and its query with items evenly spread over others. */
static int take_scores(codes_bench *c, size_t first, size_t n, size_t k, const uint64_t *ids, const float *scores,
                       void *user) {
    pair_scores *p = user;
    const size_t most = c->set->labelled ? 0 : c->n_rows - 1, n_negatives = most < NEGATIVES ? most : NEGATIVES;
    for (size_t q = 0; q < n; q++) {
        for (size_t i = 0; i < k; i++) {
            if (ids[q * k + i] == THR_NO_ID)
                return bench_fail(&c->bench->run, "a search by codes leaves out items that its filter lets pass");
            p->by_item[ids[q * k + i]] = scores[q * k + i];
        }
        for (size_t j = 0; j <= n_negatives; j++) {
            const size_t row = (first + q + j * (c->n_rows / (n_negatives + 1))) % c->n_rows;
            p->scores[p->n] = p->by_item[c->item_of[row]];
            p->labels[p->n++] = c->set->labelled ? c->labels[first + q] >= BENCH_LEAST_LABEL : j == 0;
        }
    }
    return 0;
}

static int measure_auc(codes_bench *c, thr_index *index, uint32_t query_bits, double *auc) {
    thr_search_options options;
    uint64_t *filter = calloc(c->n_items / 64 + 1, sizeof *filter);
    pair_scores p = {.by_item = malloc((c->n_items + 1) * sizeof(float)),
                     .scores = malloc((c->n_rows + 1) * (NEGATIVES + 1) * sizeof(float)),
                     .labels = malloc((c->n_rows + 1) * (NEGATIVES + 1))};
    int rc = filter == NULL || p.by_item == NULL || p.scores == NULL || p.labels == NULL
                 ? bench_fail(&c->bench->run, "no memory for scores")
                 : 0;
    for (size_t i = 0; filter != NULL && i < c->n_rows; i++)
        filter[c->item_of[i] / 64] |= UINT64_C(1) << c->item_of[i] % 64;
    thr_search_options_init(&options);
    options.filter = filter;
    options.query_bits = query_bits;
    options.filter_bits = c->n_items;
    options.n_candidates = options.n_survivors = c->n_items;
    if (rc == 0)
        rc = search(c, index, &options, thr_bitmap_count(filter, c->n_items), take_scores, &p);
    if (rc == 0)
        rc = thr_auc(p.scores, p.labels, p.n, auc, &c->bench->run.err) == THR_OK ? 0 : -1;
    free(filter);
    free(p.by_item);
    free(p.scores);
    free(p.labels);
    return rc;
}

/* ------------------------------------------------------------------------------------------------ the two kinds */

static int learned_codes(codes_bench *c, const char *model_path, bench_record *record) {
    thr_index *index = NULL;
    thr_index_build_options options;
    thr_index_build_options_init(&options);
    options.model = model_path;
    options.replace = true;
    double recall = NAN;
    int rc = build(c, &options, &index);
    if (rc == 0)
        rc = measure_recall(c, index, false, 0, &recall);
    bench_record_set(record, "recall", recall);
    if (rc == 0)
        bench_record_set(record, "bytes", (double)thr_index_get_info(index).code_bytes / (double)c->n_items);
    thr_index_free(index);
    return rc;
}

/* Recall and AUC of an index, as fields PREFIX_recall and PREFIX_auc. */
static int judge_codes(codes_bench *c, thr_index *index, uint32_t query_bits, const char *prefix,
                       bench_record *record) {
    double recall = NAN, auc = NAN;
    char name[BENCH_FIELD_NAME];
    if (measure_recall(c, index, false, query_bits, &recall) != 0 || measure_auc(c, index, query_bits, &auc) != 0)
        return -1;
    (void)snprintf(name, sizeof name, "%s_recall", prefix);
    bench_record_set(record, name, recall);
    (void)snprintf(name, sizeof name, "%s_auc", prefix);
    bench_record_set(record, name, auc);
    return 0;
}

/* All planes are read, so that nothing is lost but by the codes. Queries of 3 bits are what rbe* has. */
static int xfbq_codes(codes_bench *c, uint32_t bits, bench_record *record) {
    enum { RBE_QUERY_BITS = 3 };
    thr_index *index = NULL;
    thr_index_build_options options;
    char prefix[BENCH_FIELD_NAME / 2], name[BENCH_FIELD_NAME];
    thr_index_build_options_init(&options);
    options.replace = true;
    options.item_bits = options.lead_bits = bits;
    options.keep = THR_DTYPE_NONE;
    options.calibration_queries = 0;
    (void)snprintf(prefix, sizeof prefix, "xfbq%u", bits);
    int rc = build(c, &options, &index);
    if (rc == 0)
        rc = judge_codes(c, index, 0, prefix, record);
    if (rc == 0) {
        (void)snprintf(name, sizeof name, "%s_bytes", prefix);
        bench_record_set(record, name, (double)thr_index_get_info(index).code_bytes / (double)c->n_items);
        (void)snprintf(prefix, sizeof prefix, "xfbq%u_coarse", bits);
        rc = judge_codes(c, index, RBE_QUERY_BITS, prefix, record);
    }
    thr_index_free(index);
    return rc;
}

static int codes_of_vectors(codes_bench *c, bench_record *record) {
    thr_index *exact = NULL;
    thr_index_build_options options;
    double recall = NAN;
    thr_index_build_options_init(&options);
    options.replace = true;
    options.calibration_queries = 0;
    int rc = build(c, &options, &exact);
    if (rc == 0)
        rc = measure_recall(c, exact, true, 0, &recall);
    thr_index_free(exact);
    bench_record_set(record, "recall", recall);
    for (uint32_t bits = 1; rc == 0 && bits <= MOST_BITS; bits++)
        rc = xfbq_codes(c, bits, record);
    return rc;
}

/* Item and query vectors, and of every query its item's row and the pair's label, for peers/tower_codes.py. */
static int export_vectors(codes_bench *c, const char *model, uint64_t seed) {
    bench_tower *bench = c->bench;
    char base[BENCH_PATH], path[BENCH_PATH + 32];
    (void)snprintf(base, sizeof base, "%s/vectors", bench->values->keep);
    (void)mkdir(base, 0777);
    (void)snprintf(base, sizeof base, "%s/vectors/%s%s.%s.%s.%" PRIu64, bench->values->keep,
                   bench->values->quick ? "quick-" : "", bench_tower_together(bench) ? "together" : "own", c->set->name,
                   model, seed);
    (void)snprintf(path, sizeof path, "%s.items.fbin", base);
    int bad = bench_save_fbin(path, c->items, c->n_items, c->n_dims);
    (void)snprintf(path, sizeof path, "%s.queries.fbin", base);
    bad |= bench_save_fbin(path, c->queries, c->n_rows, c->n_dims);
    (void)snprintf(path, sizeof path, "%s.rows.tsv", base);
    FILE *file = fopen(path, "w");
    for (size_t i = 0; file != NULL && i < c->n_rows; i++)
        (void)fprintf(file, "%" PRIu32 "\t%g\n", c->item_of[i], (double)c->labels[i]);
    bad |= file == NULL || ferror(file) != 0;
    if (file != NULL)
        bad |= fclose(file) != 0;
    return bad == 0 ? 0 : bench_fail(&bench->run, "%s: not written", path);
}

int bench_tower_codes(bench_tower *bench, const thr_tower *tower, const char *model_path, const bench_set *set,
                      const char *model, uint64_t seed, bench_record *record) {
    codes_bench c = {.bench = bench, .set = set};
    int rc = find_items(&c);
    if (rc == 0)
        rc = encode(&c, tower);
    if (rc == 0 && thr_tower_packed_size(tower, THR_SIDE_ITEM) != 0)
        rc = learned_codes(&c, model_path, record);
    else if (rc == 0)
        rc = codes_of_vectors(&c, record) != 0 ? -1 : export_vectors(&c, model, seed);
    bench_record_set(record, "n_items", (double)c.n_items);
    free(c.texts);
    free(c.item_of);
    free(c.labels);
    free(c.items);
    free(c.queries);
    return rc;
}
