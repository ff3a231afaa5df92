/* SPDX-License-Identifier: Apache-2.0 */
#include "cells/cell_search.h"

#include "base/error.h"
#include "cells/score_model.h"
#include "cells/block_subset.h"
#include "kernel/kernel.h"
#include "parallel/pool.h"
#include "scan/margins/margin.h"
#include "scan/radius_plan.h"
#include "select/bitmap.h"

#include <math.h>
#include <string.h>

enum {
    LEAST_WANTED = 20, /* rows that a pass finds, at least: the spread is fitted to them */
    FIRST_ROWS = 16,   /* the cells visited first have this many rows for each wanted row, */
    FIRST_ONE_IN = 64, /* and at least one in this many of all rows */
    SURVIVORS = 4,     /* of the first pass, for each wanted row; if they are too few, margins cause a second pass */
};

static const double UNVISITED_SHARE = 0.5; /* share of the allowed misses that may be in cells not visited */
static const double FIRST_DEVIATIONS = 2;  /* cells are first ordered by mean score plus this many deviations */
/*
 * Real tails are heavier than a normal distribution's, so the farther the model extrapolates, from the rows found down
 * to the rows that may be missed, the larger the spread must be: times 1 + this * ln(rows found / rows allowed).
 * Negated items, means of items and queries of few large components are the hardest.
 */
static const double SPREAD_GROWTH = 0.05;

/* A cell, with its rows in the scan corpus. */
typedef struct cell_place {
    uint64_t first_row, end_row;
    const thr_cell *cell;
    const thr_cell_ends *ends; /* NULL: not stored */
} cell_place;

/* The memory of one thread. */
typedef struct visitor {
    float *vector;                             /* n_dims: the query */
    float *centroid_scores;                    /* as the kernel computes them */
    thr_cell_score_model *models;              /* of all cells */
    uint32_t *visited_cells;                   /* by number */
    thr_cell_visited *counts;                  /* of them; in any order */
    double *found_in;                          /* by cell: rows found */
    double *keys;                              /* by cell: the heap's order */
    uint32_t *heap;                            /* cells that were not visited; the largest key is first */
    uint64_t *pending_blocks, *visited_blocks; /* blocks, as bitmaps: to visit next; visited before */
    thr_cells_subset part;
    uint64_t *ids; /* answer of one pass, with its scores */
    float *scores;
    thr_found found; /* rows of all passes */
    uint64_t n_blocks;
    size_t n_heap, n_visited;
} visitor;

struct thr_cells_workspace {
    thr_context *context;
    uint32_t n_threads, n_dims; /* capacities, as the next three */
    size_t n_cells;
    uint64_t n_blocks, k;
    cell_place *places; /* n_cells */
    visitor *visitors;  /* one per thread */
};

typedef struct cells_job {
    thr_cells_workspace *workspace;
    thr_scan *scan;
    const thr_cells_corpus *corpus;
    const thr_matrix *queries;
    thr_search_options options; /* of the passes */
    thr_job whole;              /* of a search of all rows with them */
    const thr_answers *answers;
    size_t n_cells;
    uint64_t n_blocks, wanted; /* rows that every pass finds: k, or LEAST_WANTED if k is less */
    double allowed;            /* how many of the best k may be in cells not visited */
    double spread_times;       /* a factor of the fitted spread */
} cells_job;

/* One query. */
typedef struct visit {
    const cells_job *job;
    visitor *v;
    thr_lane *lane;
    thr_matrix query;
    double length; /* of v->vector; 1 for cosine */
    thr_margin margin;
    thr_radius radius; /* of the passes after the first */
    uint64_t n_read;
} visit;

/* ------------------------------------------------------------------------------------------------ workspace */

thr_status thr_cells_workspace_make(thr_context *context, thr_cells_workspace **workspace, thr_error *err) {
    THR_TRY(thr_alloc_zero(context, 1, sizeof **workspace, workspace, "a search", err));
    (*workspace)->context = context;
    return THR_OK;
}

static void free_visitor(thr_context *context, visitor *v) {
    thr_release(context, v->vector);
    thr_release(context, v->centroid_scores);
    thr_release(context, v->models);
    thr_release(context, v->visited_cells);
    thr_release(context, v->counts);
    thr_release(context, v->found_in);
    thr_release(context, v->keys);
    thr_release(context, v->heap);
    thr_release(context, v->pending_blocks);
    thr_release(context, v->visited_blocks);
    thr_release(context, v->ids);
    thr_release(context, v->scores);
    thr_cells_subset_free(context, &v->part);
    thr_scan_found_free(context, &v->found);
}

static void empty(thr_cells_workspace *w) {
    for (uint32_t i = 0; w->visitors != NULL && i < w->n_threads; i++)
        free_visitor(w->context, &w->visitors[i]);
    thr_release(w->context, w->visitors);
    thr_release(w->context, w->places);
    *w = (thr_cells_workspace){.context = w->context};
}

void thr_cells_workspace_free(thr_cells_workspace *workspace) {
    if (workspace == NULL)
        return;
    empty(workspace);
    thr_release(workspace->context, workspace);
}

static thr_status make_visitor(const thr_cells_workspace *w, size_t n_segments, visitor *v, thr_error *err) {
    static const char what[] = "a search of cells";
    thr_context *context = w->context;
    THR_TRY(thr_alloc(context, w->n_dims, sizeof(float), &v->vector, what, err));
    THR_TRY(thr_alloc(context, w->n_cells, sizeof(float), &v->centroid_scores, what, err));
    THR_TRY(thr_alloc(context, w->n_cells, sizeof *v->models, &v->models, what, err));
    THR_TRY(thr_alloc(context, w->n_cells, sizeof *v->visited_cells, &v->visited_cells, what, err));
    THR_TRY(thr_alloc(context, w->n_cells, sizeof *v->counts, &v->counts, what, err));
    THR_TRY(thr_alloc(context, w->n_cells, sizeof *v->found_in, &v->found_in, what, err));
    THR_TRY(thr_alloc(context, w->n_cells, sizeof *v->keys, &v->keys, what, err));
    THR_TRY(thr_alloc(context, w->n_cells, sizeof *v->heap, &v->heap, what, err));
    THR_TRY(thr_alloc(context, thr_bitmap_words(w->n_blocks), sizeof(uint64_t), &v->pending_blocks, what, err));
    THR_TRY(thr_alloc(context, thr_bitmap_words(w->n_blocks), sizeof(uint64_t), &v->visited_blocks, what, err));
    THR_TRY(thr_alloc(context, (size_t)w->k, sizeof(uint64_t), &v->ids, what, err));
    THR_TRY(thr_cells_subset_reserve(context, w->n_cells + n_segments, w->n_blocks, &v->part, err));
    THR_TRY(thr_scan_found_reserve(context, &v->found, 2 * (size_t)w->k + 2 * (size_t)THR_RADIUS_ROWS, err));
    return thr_alloc(context, (size_t)w->k, sizeof(float), &v->scores, what, err);
}

/* Make room for a job, and list its cells. */
static thr_status prepare_workspace(thr_cells_workspace *w, const cells_job *job, thr_error *err) {
    const uint32_t n_dims = job->corpus->scan->quantiser->n_dims;
    if (w->visitors == NULL || w->n_dims < n_dims || w->n_cells < job->n_cells || w->n_blocks < job->n_blocks ||
        w->k < job->wanted) {
        empty(w);
        w->n_dims = n_dims;
        w->n_cells = job->n_cells;
        w->n_blocks = job->n_blocks;
        w->k = job->wanted;
        THR_TRY(thr_alloc(w->context, w->n_cells, sizeof *w->places, &w->places, "cells", err));
        THR_TRY(thr_alloc_zero(w->context, w->context->n_threads, sizeof *w->visitors, &w->visitors,
                               "a search of cells", err));
        w->n_threads = w->context->n_threads;
        for (uint32_t i = 0; i < w->n_threads; i++)
            THR_TRY(make_visitor(w, job->corpus->scan->n_segments, &w->visitors[i], err));
    }
    for (uint32_t i = 0; i < w->n_threads; i++)
        w->visitors[i].n_blocks = 0;
    for (size_t t = 0, at = 0; t < job->corpus->n_tables; t++)
        for (uint32_t c = 0; c < job->corpus->tables[t].n; c++, at++) {
            const thr_cell_table *table = &job->corpus->tables[t];
            const uint64_t first_row = job->corpus->scan->segments[t].first_row;
            w->places[at] = (cell_place){first_row + table->cells[c].first, first_row + thr_cell_end(table, c),
                                         &table->cells[c], table->ends == NULL ? NULL : &table->ends[c]};
        }
    return THR_OK;
}

uint64_t thr_cells_blocks_visited(const thr_cells_workspace *workspace) {
    uint64_t n = 0;
    for (uint32_t i = 0; i < workspace->n_threads; i++)
        n += workspace->visitors[i].n_blocks;
    return n;
}

/* ------------------------------------------------------------------------------------------------ order */

static void sift_down(uint32_t *heap, size_t n, size_t at, const double *keys) {
    for (;;) {
        size_t largest = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < n; child++) {
            const double a = keys[heap[child]], b = keys[heap[largest]];
            if (a > b || (a == b && heap[child] < heap[largest]))
                largest = child;
        }
        if (largest == at)
            return;
        const uint32_t cell = heap[at];
        heap[at] = heap[largest];
        heap[largest] = cell;
        at = largest;
    }
}

static void make_heap(visitor *v) {
    for (size_t i = v->n_heap / 2; i > 0; i--)
        sift_down(v->heap, v->n_heap, i - 1, v->keys);
}

/* Take the cell with the largest key, the first of equal ones, out of the heap. */
static uint32_t pop(visitor *v) {
    const uint32_t cell = v->heap[0];
    v->heap[0] = v->heap[--v->n_heap];
    sift_down(v->heap, v->n_heap, 0, v->keys);
    return cell;
}

/* ------------------------------------------------------------------------------------------------ models */

static double items_allowed(const visit *s, const cell_place *place) {
    const uint64_t *filter = s->job->options.filter;
    return (double)(filter == NULL ? place->end_row - place->first_row
                                   : thr_select_bitmap_count_range(filter, place->first_row, place->end_row));
}

/* Set model->end to the end of the cell at which scores are higher. */
static void model_end(const visit *s, const cell_place *place, double centroid_score, thr_cell_score_model *model) {
    const bool l2 = s->job->corpus->scan->metric == THR_METRIC_L2;
    const double square = s->length * s->length, length = (double)place->ends->length;
    const double product = l2 ? (square + length * length - centroid_score) / 2 : centroid_score;
    const double along = length > 0 ? product / length : 0; /* the query's parts along and across the centroid */
    const double across = sqrt(fmax(square - along * along, 0));
    const bool high = along > (l2 ? length : 0);
    const thr_cell_end_item *item = high ? &place->ends->high : &place->ends->low;
    const double a = (double)item->along, b = (double)item->across;
    model->end.n = model->n / (double)(place->end_row - place->first_row);
    model->end.mean = l2 ? 2 * along * a - a * a - b * b - square : along * a;
    model->end.slope = (l2 ? 2 : 1) * across * b;
}

static thr_cell_score_model model_of(const visit *s, const cell_place *place, double centroid_score) {
    const double size = (sqrt((double)place->cell->mean_square) + (double)place->cell->radius) / 2;
    thr_cell_score_model model = {.n = items_allowed(s, place), .mean = centroid_score, .slope = s->length * size};
    if (s->job->corpus->scan->metric == THR_METRIC_L2) {
        model.mean = -centroid_score - (double)place->cell->mean_square;
        model.slope = 2 * sqrt(centroid_score) * size;
        model.deviation = (double)place->cell->square_deviation;
    }
    if (place->ends != NULL)
        model_end(s, place, centroid_score, &model);
    return model;
}

/* The query as scores are computed from it. */
static void read_query(visit *s) {
    const thr_kernels *kernels = s->job->workspace->context->kernels;
    const uint32_t n_dims = s->query.n_dims;
    float *vector = s->v->vector;
    (void)thr_matrix_to_f32(&s->query, 0, 1, vector);
    s->length = sqrt(kernels->sum_squares(vector, n_dims));
    if (s->job->corpus->scan->metric != THR_METRIC_COSINE || !(s->length > 0))
        return;
    for (uint32_t d = 0; d < n_dims; d++)
        vector[d] = (float)((double)vector[d] / s->length);
    s->length = 1;
}

/* Score all centroids, and put the cells with rows that pass the filter into the heap. */
static void score_cells(const visit *s) {
    const cells_job *job = s->job;
    const thr_kernels *kernels = job->workspace->context->kernels;
    const uint32_t n_dims = s->query.n_dims;
    const double spread = FIRST_DEVIATIONS / sqrt((double)n_dims);
    visitor *v = s->v;
    const thr_rows_kernel score = job->corpus->scan->metric == THR_METRIC_L2 ? kernels->l2_f32 : kernels->dot_f32;
    v->n_heap = v->n_visited = 0;
    for (size_t t = 0, at = 0; t < job->corpus->n_tables; at += job->corpus->tables[t++].n)
        score(v->centroid_scores + at, v->vector, job->corpus->tables[t].centroids, n_dims * sizeof(float),
              job->corpus->tables[t].n, n_dims);
    for (uint32_t c = 0; c < job->n_cells; c++) {
        v->models[c] = model_of(s, &job->workspace->places[c], (double)v->centroid_scores[c]);
        v->keys[c] = v->models[c].mean + hypot(v->models[c].slope * spread, v->models[c].deviation);
        if (v->models[c].n > 0)
            v->heap[v->n_heap++] = c;
    }
    make_heap(v);
}

/* ------------------------------------------------------------------------------------------------ visits */

static void add_blocks(visitor *v, uint64_t first, uint64_t end) {
    for (uint64_t b = first; b < end; b++)
        if ((v->visited_blocks[b / THR_WORD_BITS] >> b % THR_WORD_BITS & 1) == 0)
            thr_bitmap_set(v->pending_blocks, b);
}

/* Add a cell to the pending blocks, which the next pass visits. */
static void add_cell(const visit *s, uint32_t cell) {
    const cell_place *place = &s->job->workspace->places[cell];
    s->v->visited_cells[s->v->n_visited++] = cell;
    add_blocks(s->v, place->first_row / THR_BLOCK_ITEMS, (place->end_row + THR_BLOCK_ITEMS - 1) / THR_BLOCK_ITEMS);
}

/* Add the segments without cells, which every query visits. */
static void add_segments_without_cells(const visit *s) {
    const thr_scan_corpus *scan = s->job->corpus->scan;
    for (size_t i = 0; i < scan->n_segments; i++)
        if (i >= s->job->corpus->n_tables || s->job->corpus->tables[i].n == 0)
            add_blocks(s->v, scan->segments[i].first_row / THR_BLOCK_ITEMS,
                       scan->segments[i].first_row / THR_BLOCK_ITEMS + thr_bitmap_words(scan->segments[i].n_items));
}

/* Convert found rows, from number `first` on, from rows of the part to rows of the index. */
static void map_rows(visitor *v, size_t first) {
    for (size_t i = first; i < v->found.n; i++)
        v->found.items[i].row = thr_cells_subset_row(&v->part, v->found.items[i].row);
}

/* Search for the best rows of the part. */
static thr_status search_part(visit *s, const thr_search_options *options, thr_error *err) {
    visitor *v = s->v;
    const cells_job *job = s->job;
    const thr_answers answers = {.k = job->wanted, .ids = v->ids, .scores = v->scores};
    const thr_job pass = thr_scan_job_of_part(&job->whole, &v->part.corpus, options, &answers);
    const size_t before = v->found.n;
    THR_TRY(thr_scan_search_one(&pass, &s->query, s->lane, &s->margin, err));
    for (uint64_t i = 0; i < job->wanted && v->ids[i] != THR_NO_ID; i++) {
        const thr_candidate item = {.row = v->ids[i], .score = v->scores[i]};
        THR_TRY(thr_scan_found_append(job->workspace->context, &v->found, &item, 1, err));
    }
    s->radius = (thr_radius){.most = job->wanted, .screen_z = pass.screen_z, .rescore_z = pass.rescore_z};
    if (s->margin.noise.known) {
        s->radius.margin = &s->margin;
        if (v->found.n - before == job->wanted) {
            const thr_reach reach = {.least = v->found.items[v->found.n - 1].score, .n = (size_t)job->wanted};
            thr_scan_margin_reduce(&pass, &s->margin, v->found.items + before, &reach, &s->radius);
        }
    }
    map_rows(v, before);
    return THR_OK;
}

/* Search the part for rows that reach a score. */
static thr_status complete_part(visit *s, const thr_search_options *options, float least, thr_error *err) {
    visitor *v = s->v;
    const cells_job *job = s->job;
    const thr_answers answers = {.k = job->wanted};
    const thr_job pass = thr_scan_job_of_part(&job->whole, &v->part.corpus, options, &answers);
    const size_t before = v->found.n;
    thr_found *found = &s->lane->found;
    found->n = 0;
    s->radius.least_score = least;
    THR_TRY(thr_scan_radius_one(&pass, &s->query, &s->radius, s->lane, 1, found, err));
    THR_TRY(thr_scan_found_append(job->workspace->context, &v->found, found->items, found->n, err));
    map_rows(v, before);
    return THR_OK;
}

/*
 * Visit the pending blocks, and keep the best rows found so far, sorted. least: the score that rows must reach, or
 * -INFINITY to find the best `wanted` ones.
 */
static thr_status visit_pending(visit *s, float least, thr_error *err) {
    visitor *v = s->v;
    const cells_job *job = s->job;
    const size_t n_words = thr_bitmap_words(job->n_blocks);
    thr_search_options options = job->options;
    THR_TRY(thr_cells_subset_make(job->workspace->context, job->corpus->scan, v->pending_blocks, job->n_blocks,
                                  options.filter, &v->part, err));
    for (size_t i = 0; i < n_words; i++) {
        v->visited_blocks[i] |= v->pending_blocks[i];
        v->pending_blocks[i] = 0;
    }
    v->n_blocks += thr_bitmap_words(v->part.corpus.n_rows);
    if (v->part.n_segments == 0)
        return THR_OK;
    if (options.filter != NULL) {
        options.filter = v->part.words;
        options.filter_bits = v->part.corpus.n_rows;
    }
    s->lane->n_read = 0;
    THR_TRY(least == -INFINITY ? search_part(s, &options, err) : complete_part(s, &options, least, err));
    s->n_read += s->lane->n_read;
    v->found.n = thr_select_candidates_keep(v->found.items, v->found.n,
                                            v->found.n < job->wanted ? v->found.n : (size_t)job->wanted);
    thr_select_candidates_sort(v->found.items, v->found.n);
    return THR_OK;
}

/* Add the best cells of the heap, until they have n_rows rows. */
static void add_best_cells(const visit *s, double n_rows) {
    for (double n = 0; n < n_rows && s->v->n_heap > 0;) {
        const uint32_t cell = pop(s->v);
        add_cell(s, cell);
        n += s->v->models[cell].n;
    }
}

/* The cell of a row; n_cells if it has none. */
static size_t cell_of(const cells_job *job, uint64_t row) {
    const cell_place *places = job->workspace->places;
    size_t first = 0, end = job->n_cells;
    while (first < end) {
        const size_t middle = (first + end) / 2;
        if (places[middle].end_row <= row)
            first = middle + 1;
        else
            end = middle;
    }
    return first < job->n_cells && places[first].first_row <= row ? first : job->n_cells;
}

/* The spread that explains how many rows were found in each visited cell. */
static double fit_spread(const visit *s) {
    visitor *v = s->v;
    const double worst = (double)v->found.items[v->found.n - 1].score;
    memset(v->found_in, 0, s->job->n_cells * sizeof *v->found_in);
    for (size_t i = 0; i < v->found.n; i++) {
        const size_t cell = cell_of(s->job, v->found.items[i].row);
        if (cell < s->job->n_cells)
            v->found_in[cell]++;
    }
    for (size_t i = 0; i < v->n_visited; i++)
        v->counts[i] = (thr_cell_visited){v->models[v->visited_cells[i]], v->found_in[v->visited_cells[i]]};
    return thr_cells_fit_spread(v->counts, v->n_visited, worst, (double)s->query.n_dims);
}

/*
 * Given the scores found so far, add the cells that are expected to have most of the best k, until the others are
 * expected to have at most job->allowed. Return whether any cell was added.
 */
static bool add_likely_cells(const visit *s) {
    visitor *v = s->v;
    const cells_job *job = s->job;
    const double kth = (double)v->found.items[(size_t)job->answers->k - 1].score;
    const double spread = job->spread_times * fit_spread(s);
    double left = 0;
    for (size_t i = 0; i < v->n_heap; i++) {
        const uint32_t cell = v->heap[i];
        const double expected = thr_cells_expected_above(&v->models[cell], spread, kth);
        v->keys[cell] = expected / v->models[cell].n;
        left += expected;
    }
    if (left <= job->allowed)
        return false;
    make_heap(v);
    while (v->n_heap > 0 && left > job->allowed) {
        const uint32_t cell = pop(v);
        left -= v->keys[cell] * v->models[cell].n;
        add_cell(s, cell);
    }
    return true;
}

/* Visit cells until few enough of the best k are expected in the others. */
static thr_status visit_cells(visit *s, thr_error *err) {
    visitor *v = s->v;
    const cells_job *job = s->job;
    const double one_in = (double)job->n_blocks * THR_BLOCK_ITEMS / FIRST_ONE_IN;
    double n_rows = fmax((double)job->wanted * FIRST_ROWS, one_in);
    score_cells(s);
    add_segments_without_cells(s);
    while (v->found.n < job->wanted) {
        add_best_cells(s, n_rows);
        n_rows *= 2;
        THR_TRY(visit_pending(s, -INFINITY, err));
        if (v->n_heap == 0)
            return THR_OK;
    }
    while (add_likely_cells(s))
        THR_TRY(visit_pending(s, v->found.items[v->found.n - 1].score, err));
    return THR_OK;
}

static thr_status search_query(void *arg, size_t row, uint32_t worker, thr_error *err) {
    const cells_job *job = arg;
    visitor *v = &job->workspace->visitors[worker];
    const size_t n_words = thr_bitmap_words(job->n_blocks);
    visit s = {.job = job, .v = v, .lane = &job->scan->lanes[worker], .query = *job->queries};
    s.query.data = (const char *)job->queries->data + row * job->queries->stride;
    s.query.n_rows = 1;
    v->found.n = 0;
    memset(v->pending_blocks, 0, n_words * sizeof *v->pending_blocks);
    memset(v->visited_blocks, 0, n_words * sizeof *v->visited_blocks);
    read_query(&s);
    if (s.length > 0 || job->corpus->scan->metric == THR_METRIC_L2) {
        THR_TRY(visit_cells(&s, err));
    } else {
        add_blocks(v, 0, job->n_blocks);
        THR_TRY(visit_pending(&s, -INFINITY, err));
    }
    const size_t k = (size_t)job->answers->k;
    if (job->answers->n_read != NULL)
        job->answers->n_read[row] = s.n_read;
    thr_select_answers_put(job->answers, row, v->found.items, v->found.n < k ? v->found.n : k);
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ search */

bool thr_cells_may_be_skipped(const thr_cells_corpus *corpus, const thr_search_options *options,
                              const thr_answers *answers) {
    bool cells = false;
    for (size_t i = 0; i < corpus->n_tables; i++)
        cells = cells || corpus->tables[i].n > 0;
    return cells && !options->exact && answers->certified == NULL && options->recall > 0 && options->recall < 1 &&
           thr_scan_has_margins(corpus->scan, options);
}

thr_status thr_cells_search(thr_scan *scan, thr_cells_workspace *workspace, const thr_cells_corpus *corpus,
                            const thr_matrix *queries, const thr_search_options *options, const thr_answers *answers,
                            thr_error *err) {
    thr_context *context = workspace->context;
    const double misses = 1 - (double)options->recall;
    cells_job job = {.workspace = workspace,
                     .scan = scan,
                     .corpus = corpus,
                     .queries = queries,
                     .options = *options,
                     .answers = answers,
                     .n_blocks = (corpus->scan->n_rows + THR_BLOCK_ITEMS - 1) / THR_BLOCK_ITEMS,
                     .wanted = answers->k > LEAST_WANTED ? answers->k : LEAST_WANTED,
                     .allowed = misses * UNVISITED_SHARE * (double)answers->k};
    job.spread_times = 1 + SPREAD_GROWTH * log((double)job.wanted / job.allowed);
    const uint64_t survivors = SURVIVORS * job.wanted;
    if (job.options.n_survivors > survivors)
        job.options.n_survivors = survivors;
    job.options.recall = (float)(1 - misses * (1 - UNVISITED_SHARE));
    for (size_t i = 0; i < corpus->n_tables; i++)
        job.n_cells += corpus->tables[i].n;
    const thr_answers wanted = {.k = job.wanted};
    job.whole = thr_scan_job_make(context, corpus->scan, &job.options, &wanted);
    THR_TRY(thr_scan_make_room(scan, context->n_threads, 1, corpus->scan->quantiser->n_dims,
                               thr_scan_most_survivors(&job.whole), err));
    THR_TRY(thr_scan_check_queries(scan, corpus->scan, queries, err));
    THR_TRY(prepare_workspace(workspace, &job, err));
    return thr_parallel_try(context, (size_t)queries->n_rows, search_query, &job, err);
}
