/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choose_cells.c - a model of the time of a search, with cells and without.
 *
 * The model counts what a search reads: blocks that it screens, rows that it scores by all planes, and cells. Their
 * costs (scan/cost.h) were fitted to searches of 20,000 to 1,000,000 vectors of 64 to 784 dimensions, which take 60 to
 * 1,400 microseconds.
 */
#include "index/build/choose_cells.h"

#include "base/error.h"
#include "code/encode.h"
#include "index/impl.h"
#include "index/journal/snapshot.h"
#include "scan/cost.h"
#include "select/bitmap.h"

#include <math.h>

enum {
    HELD_OUT = 128, /* items whose neighbours are searched */
    K = 10,
    MANY = 100,
    LEAST_CELLS = 16,
};

static const float RECALL = 0.95f;
static const float TRUTH = 0.9995f, PROMISED[] = {0.9f, 0.95f, 0.99f}; /* recalls of searches without cells and with */
/*
 * Cells must be this many times as fast with RECALL, because they gain less with .99: on half a million sentences 2.7
 * times the speed with .95 become .9 to 1 with .99.
 */
static const double LEAST_SPEED = 1.4;
static const double CELLS_SHARE = 1.0 / 4; /* of the time of a scan, for the centroids of all cells */

static double code_bytes(const thr_manifest *m, double n_blocks) {
    return n_blocks * (double)thr_block_size(m->quantiser.n_dims, m->lead);
}

static double vector_bytes(const thr_manifest *m, double n_vectors) {
    return n_vectors * m->quantiser.n_dims * (double)sizeof(float);
}

/* The time of a search of all rows that scores n_read of them. */
static double scan_ns(const thr_manifest *m, double n_read) {
    const double n_blocks = (double)m->n_rows / THR_BLOCK_ITEMS;
    return THR_COST_SEARCH_NS + thr_cost_ns(THR_COST_BLOCK, n_blocks, code_bytes(m, n_blocks)) +
           n_read * THR_COST_SURVIVOR_NS;
}

static double centroids_ns(const thr_manifest *m, double n_cells) {
    return thr_cost_ns(THR_COST_CENTROID, n_cells, vector_bytes(m, n_cells));
}

/* The time of a search of cells that screens n_blocks and scores n_read rows. */
static double cells_ns(const thr_manifest *m, double n_cells, double n_blocks, double n_read) {
    return THR_COST_CELLS_SEARCH_NS + centroids_ns(m, n_cells) +
           thr_cost_ns(THR_COST_CELL_BLOCK, n_blocks, code_bytes(m, n_blocks)) + n_read * THR_COST_SURVIVOR_NS;
}

uint32_t thr_index_cells_to_try(const thr_manifest *m) {
    const double scan = scan_ns(m, 0);
    double n = exp2(rint(log2(sqrt((double)m->n_rows))));
    while (n > LEAST_CELLS && centroids_ns(m, n) > CELLS_SHARE * scan)
        n /= 2;
    const bool few = scan < LEAST_SPEED * cells_ns(m, n, 0, 0);
    return few || m->keep == THR_DTYPE_NONE || m->hits.there || m->model.n_inputs != 0 ? 0 : (uint32_t)n;
}

bool thr_index_cells_are_worth(const thr_cells_choice *measured) {
    return (double)measured->speed >= LEAST_SPEED && !(measured->short_by > THR_CELLS_SHORT);
}

/* ------------------------------------------------------------------------------------------------ measure */

/* Evenly spaced items. A filter excludes them, so as queries they are like the items but not among them. */
typedef struct sample {
    float *vectors;
    uint64_t *filter; /* of all rows */
    uint64_t *ids, *n_read;
    float *truth, *scores; /* of the best MANY without cells, and with */
    thr_matrix queries;
} sample;

static thr_status take_sample(const thr_index *index, sample *s, thr_error *err) {
    static const char what[] = "a sample of the items";
    const uint64_t n_rows = index->manifest.n_rows, n_words = thr_bitmap_words(n_rows);
    const uint32_t n_dims = index->manifest.quantiser.n_dims;
    uint32_t n = 0;
    THR_TRY(thr_alloc(index->context, (size_t)HELD_OUT * n_dims, sizeof(float), &s->vectors, what, err));
    THR_TRY(thr_alloc(index->context, (size_t)n_words, sizeof(uint64_t), &s->filter, what, err));
    THR_TRY(thr_alloc(index->context, (size_t)HELD_OUT * MANY, sizeof(uint64_t), &s->ids, what, err));
    THR_TRY(thr_alloc(index->context, (size_t)HELD_OUT * MANY, sizeof(float), &s->truth, what, err));
    THR_TRY(thr_alloc(index->context, (size_t)HELD_OUT * MANY, sizeof(float), &s->scores, what, err));
    THR_TRY(thr_alloc(index->context, HELD_OUT, sizeof(uint64_t), &s->n_read, what, err));
    for (uint64_t i = 0; i < n_words; i++)
        s->filter[i] = index->live.words == NULL ? ~UINT64_C(0) : index->live.words[i];
    for (uint64_t i = 0; i < HELD_OUT; i++) {
        const uint64_t row = (uint64_t)((double)i * (double)n_rows / HELD_OUT);
        const thr_segment *segment = &index->segments[thr_index_segment_of(index, row)];
        const uint64_t bit = UINT64_C(1) << row % THR_WORD_BITS;
        if (row - segment->first_row >= segment->n_items || (s->filter[row / THR_WORD_BITS] & bit) == 0)
            continue;
        thr_index_row_vector(index, row, s->vectors + (size_t)n++ * n_dims);
        s->filter[row / THR_WORD_BITS] &= ~bit;
    }
    s->queries = thr_matrix_f32(s->vectors, n, n_dims);
    return THR_OK;
}

static double sum(const uint64_t *numbers, uint64_t n) {
    double all = 0;
    for (uint64_t i = 0; i < n; i++)
        all += (double)numbers[i];
    return all;
}

static thr_search_options options_of(const thr_index *index, const sample *s, uint64_t k, float recall) {
    thr_search_options options = {0};
    options.recall = recall;
    options.filter = s->filter;
    options.filter_bits = index->manifest.n_rows;
    thr_index_resolve_recall(index, k, &options);
    return options;
}

/* The share of the best k without cells that are found with cells. Ties count, whatever their rows. */
static double share_found(const sample *s, uint64_t k) {
    double found = 0;
    for (uint64_t q = 0; q < s->queries.n_rows; q++)
        for (uint64_t i = 0; i < k; i++)
            found += s->scores[q * k + i] >= s->truth[q * MANY + k - 1];
    return found / ((double)s->queries.n_rows * (double)k);
}

/* Raise choice->short_by to what searches for k items with cells find less than promised. */
static thr_status measure_recall(thr_index *index, const sample *s, uint64_t k, thr_scan *scan,
                                 thr_cells_workspace *workspace, thr_cells_choice *choice, thr_error *err) {
    const thr_cells_corpus corpus = {&index->corpus, index->cells, index->n_segments};
    const thr_answers answers = {.k = k, .ids = s->ids, .scores = s->scores};
    for (size_t i = 0; i < sizeof PROMISED / sizeof *PROMISED; i++) {
        const thr_search_options options = options_of(index, s, k, PROMISED[i]);
        if (!thr_cells_may_be_skipped(&corpus, &options, &answers))
            continue;
        THR_TRY(thr_cells_search(scan, workspace, &corpus, &s->queries, &options, &answers, err));
        choice->short_by = fmaxf(choice->short_by, PROMISED[i] - (float)share_found(s, k));
    }
    return THR_OK;
}

/* Search for the sample with cells and without, and compare the times that the model expects. */
static thr_status compare(thr_index *index, const sample *s, thr_scan *scan, thr_cells_workspace *workspace,
                          thr_cells_choice *choice, thr_error *err) {
    const thr_manifest *m = &index->manifest;
    const thr_cells_corpus corpus = {&index->corpus, index->cells, index->n_segments};
    const thr_answers answers = {.k = K, .ids = s->ids, .n_read = s->n_read};
    const double n = (double)s->queries.n_rows, n_blocks = (double)m->n_rows / THR_BLOCK_ITEMS;
    const thr_search_options options = options_of(index, s, K, RECALL);
    if (s->queries.n_rows == 0 || !thr_cells_may_be_skipped(&corpus, &options, &answers))
        return THR_OK;
    THR_TRY(thr_scan_search(scan, &index->corpus, &s->queries, &options, &answers, err));
    const double all = scan_ns(m, sum(s->n_read, s->queries.n_rows) / n);
    THR_TRY(thr_cells_search(scan, workspace, &corpus, &s->queries, &options, &answers, err));
    const double visited = (double)thr_cells_blocks_visited(workspace) / n;
    const double some = cells_ns(m, choice->n_cells, visited, sum(s->n_read, s->queries.n_rows) / n);
    choice->read = (float)fmin(visited / n_blocks, 1); /* a part may have more incomplete blocks than the index */
    choice->speed = (float)(all / some);
    return THR_OK;
}

/* Search for the sample without cells as completely as possible, and compare what searches with cells find. */
static thr_status compare_recall(thr_index *index, const sample *s, thr_scan *scan, thr_cells_workspace *workspace,
                                 thr_cells_choice *choice, thr_error *err) {
    const thr_search_options complete = options_of(index, s, MANY, TRUTH);
    const thr_answers truth = {.k = MANY, .ids = s->ids, .scores = s->truth};
    THR_TRY(thr_scan_search(scan, &index->corpus, &s->queries, &complete, &truth, err));
    THR_TRY(measure_recall(index, s, K, scan, workspace, choice, err));
    return measure_recall(index, s, MANY, scan, workspace, choice, err);
}

static thr_status measure(thr_index *index, bool recall, thr_cells_choice *choice, thr_error *err) {
    sample s = {.vectors = NULL};
    thr_scan *scan = NULL;
    thr_cells_workspace *workspace = NULL;
    thr_status status = THR_OK;
    *choice = (thr_cells_choice){.n_cells = thr_index_get_cells(index).n_cells};
    choice->kept = choice->n_cells > 0;
    if (!choice->kept || thr_index_snapshot_has_changes(index))
        return THR_OK;
    THR_TRY_OUT(take_sample(index, &s, err));
    THR_TRY_OUT(thr_scan_create(index->context, &scan, err));
    THR_TRY_OUT(thr_cells_workspace_make(index->context, &workspace, err));
    THR_TRY_OUT(compare(index, &s, scan, workspace, choice, err));
    if (recall && choice->speed > 0)
        THR_TRY_OUT(compare_recall(index, &s, scan, workspace, choice, err));
out:
    thr_cells_workspace_free(workspace);
    thr_scan_free(scan);
    THR_RELEASE(index->context, s.vectors, s.filter, s.ids, s.n_read, s.truth, s.scores);
    return thr_index_check_after(index, status, err);
}

thr_status thr_index_measure_new_cells(thr_index *index, thr_cells_choice *choice, thr_error *err) {
    return measure(index, true, choice, err);
}

thr_status thr_index_measure_cells(thr_index *index, thr_cells_choice *choice, thr_error *err) {
    if (index == NULL || choice == NULL)
        return thr_fail(err, THR_EINVAL, "to measure cells, an index and memory for the result are needed");
    THR_TRY(measure(index, false, choice, err));
    choice->short_by = choice->kept ? index->manifest.cells_short : 0;
    return THR_OK;
}
