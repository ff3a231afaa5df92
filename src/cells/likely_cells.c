/* SPDX-License-Identifier: Apache-2.0 */
#include "cells/likely_cells.h"

#include "base/error.h"
#include "kernel/kernel.h"
#include "select/bitmap.h"

#include <math.h>
#include <string.h>

static const double FIRST_DEVIATIONS = 2; /* cells are first ordered by mean score plus this many deviations */
/*
 * Real tails are heavier than a normal distribution's, so the farther the model extrapolates, from the rows found down
 * to the rows that may be missed, the larger the spread must be: times 1 + this * ln(rows found / rows allowed).
 * Negated items, means of items and queries of few large components are the hardest.
 */
static const double SPREAD_GROWTH = 0.05;

thr_status thr_cells_likely_reserve(thr_context *context, uint32_t n_dims, size_t n_cells, thr_cells_likely *likely,
                                    thr_error *err) {
    static const char what[] = "the order of cells";
    THR_TRY(thr_alloc(context, n_dims, sizeof(float), &likely->vector, what, err));
    THR_TRY(thr_alloc(context, n_cells, sizeof(float), &likely->centroid_scores, what, err));
    THR_TRY(thr_alloc(context, n_cells, sizeof *likely->models, &likely->models, what, err));
    THR_TRY(thr_alloc(context, n_cells, sizeof *likely->counts, &likely->counts, what, err));
    THR_TRY(thr_alloc(context, n_cells, sizeof *likely->found_in, &likely->found_in, what, err));
    THR_TRY(thr_alloc(context, n_cells, sizeof *likely->keys, &likely->keys, what, err));
    THR_TRY(thr_alloc(context, n_cells, sizeof *likely->heap, &likely->heap, what, err));
    return thr_alloc(context, n_cells, sizeof *likely->chosen, &likely->chosen, what, err);
}

void thr_cells_likely_free(thr_context *context, thr_cells_likely *likely) {
    thr_release(context, likely->vector);
    thr_release(context, likely->centroid_scores);
    thr_release(context, likely->models);
    thr_release(context, likely->counts);
    thr_release(context, likely->found_in);
    thr_release(context, likely->keys);
    thr_release(context, likely->heap);
    thr_release(context, likely->chosen);
    *likely = (thr_cells_likely){0};
}

/* ------------------------------------------------------------------------------------------------ heap */

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

static void make_heap(thr_cells_likely *likely) {
    for (size_t i = likely->n_heap / 2; i > 0; i--)
        sift_down(likely->heap, likely->n_heap, i - 1, likely->keys);
}

/* Take the cell with the largest key, the first of equal ones, out of the heap. */
static uint32_t pop(thr_cells_likely *likely) {
    const uint32_t cell = likely->heap[0];
    likely->heap[0] = likely->heap[--likely->n_heap];
    sift_down(likely->heap, likely->n_heap, 0, likely->keys);
    return cell;
}

/* ------------------------------------------------------------------------------------------------ models */

static double items_allowed(const thr_cells_plan *plan, const thr_cell_place *place) {
    const uint64_t *filter = plan->options.filter;
    return (double)(filter == NULL ? place->end_row - place->first_row
                                   : thr_select_bitmap_count_range(filter, place->first_row, place->end_row));
}

/* Set model->end to the end of the cell at which scores are higher. length: of the query. */
static void model_end(const thr_cells_plan *plan, double length, const thr_cell_place *place, double centroid_score,
                      thr_cell_score_model *model) {
    const bool l2 = plan->corpus->scan->metric == THR_METRIC_L2;
    const double square = length * length, distance = (double)place->ends->length;
    const double product = l2 ? (square + distance * distance - centroid_score) / 2 : centroid_score;
    const double along = distance > 0 ? product / distance : 0; /* the query's parts along and across the centroid */
    const double across = sqrt(fmax(square - along * along, 0));
    const bool high = along > (l2 ? distance : 0);
    const thr_cell_end_item *item = high ? &place->ends->high : &place->ends->low;
    const double a = (double)item->along, b = (double)item->across;
    model->end.n = model->n / (double)(place->end_row - place->first_row);
    model->end.mean = l2 ? 2 * along * a - a * a - b * b - square : along * a;
    model->end.slope = (l2 ? 2 : 1) * across * b;
}

static thr_cell_score_model model_of(const thr_cells_plan *plan, double length, const thr_cell_place *place,
                                     double centroid_score) {
    const double size = (sqrt((double)place->cell->mean_square) + (double)place->cell->radius) / 2;
    thr_cell_score_model model = {.n = items_allowed(plan, place), .mean = centroid_score, .slope = length * size};
    if (plan->corpus->scan->metric == THR_METRIC_L2) {
        model.mean = -centroid_score - (double)place->cell->mean_square;
        model.slope = 2 * sqrt(centroid_score) * size;
        model.deviation = (double)place->cell->square_deviation;
    }
    if (place->ends != NULL)
        model_end(plan, length, place, centroid_score, &model);
    return model;
}

/* Read the query as scores are computed from it. */
static void read_query(const thr_cells_plan *plan, const thr_matrix *query, thr_cells_likely *likely) {
    const uint32_t n_dims = query->n_dims;
    (void)thr_matrix_to_f32(query, 0, 1, likely->vector);
    likely->length = sqrt(plan->context->kernels->sum_squares(likely->vector, n_dims));
    if (plan->corpus->scan->metric != THR_METRIC_COSINE || !(likely->length > 0))
        return;
    for (uint32_t d = 0; d < n_dims; d++)
        likely->vector[d] = (float)((double)likely->vector[d] / likely->length);
    likely->length = 1;
}

bool thr_cells_likely_begin(const thr_cells_plan *plan, const thr_matrix *query, thr_cells_likely *likely) {
    const thr_kernels *kernels = plan->context->kernels;
    const bool l2 = plan->corpus->scan->metric == THR_METRIC_L2;
    const uint32_t n_dims = query->n_dims;
    const double spread = FIRST_DEVIATIONS / sqrt((double)n_dims);
    const thr_rows_kernel score = l2 ? kernels->l2_f32 : kernels->dot_f32;
    likely->n_heap = likely->n_chosen = 0;
    read_query(plan, query, likely);
    if (!(likely->length > 0) && !l2)
        return false;
    for (size_t t = 0, at = 0; t < plan->corpus->n_tables; at += plan->corpus->tables[t++].n)
        score(likely->centroid_scores + at, likely->vector, plan->corpus->tables[t].centroids, n_dims * sizeof(float),
              plan->corpus->tables[t].n, n_dims);
    for (uint32_t c = 0; c < plan->n_cells; c++) {
        thr_cell_score_model *model = &likely->models[c];
        *model = model_of(plan, likely->length, &plan->places[c], (double)likely->centroid_scores[c]);
        likely->keys[c] = model->mean + hypot(model->slope * spread, model->deviation);
        if (model->n > 0)
            likely->heap[likely->n_heap++] = c;
    }
    make_heap(likely);
    return true;
}

/* ------------------------------------------------------------------------------------------------ choice */

void thr_cells_likely_choose_first(thr_cells_likely *likely, double n_rows) {
    for (double n = 0; n < n_rows && likely->n_heap > 0;) {
        const uint32_t cell = pop(likely);
        likely->chosen[likely->n_chosen++] = cell;
        n += likely->models[cell].n;
    }
}

/* The cell of a row; n_cells if it has none. */
static size_t cell_of(const thr_cells_plan *plan, uint64_t row) {
    size_t first = 0, end = plan->n_cells;
    while (first < end) {
        const size_t middle = (first + end) / 2;
        if (plan->places[middle].end_row <= row)
            first = middle + 1;
        else
            end = middle;
    }
    return first < plan->n_cells && plan->places[first].first_row <= row ? first : plan->n_cells;
}

/* The spread that explains how many rows were found in each chosen cell. */
static double fit_spread(const thr_cells_plan *plan, const thr_found *found, thr_cells_likely *likely) {
    const double worst = (double)found->items[found->n - 1].score;
    memset(likely->found_in, 0, plan->n_cells * sizeof *likely->found_in);
    for (size_t i = 0; i < found->n; i++) {
        const size_t cell = cell_of(plan, found->items[i].row);
        if (cell < plan->n_cells)
            likely->found_in[cell]++;
    }
    for (size_t i = 0; i < likely->n_chosen; i++) {
        const uint32_t cell = likely->chosen[i];
        likely->counts[i] = (thr_cell_visited){likely->models[cell], likely->found_in[cell]};
    }
    const uint32_t n_dims = plan->corpus->scan->quantiser->n_dims;
    return thr_cells_fit_spread(likely->counts, likely->n_chosen, worst, (double)n_dims);
}

bool thr_cells_likely_choose(const thr_cells_plan *plan, const thr_found *found, thr_cells_likely *likely) {
    const double kth = (double)found->items[(size_t)plan->k - 1].score;
    const double growth = 1 + SPREAD_GROWTH * log((double)plan->wanted / plan->allowed);
    const double spread = growth * fit_spread(plan, found, likely);
    double left = 0;
    for (size_t i = 0; i < likely->n_heap; i++) {
        const uint32_t cell = likely->heap[i];
        const double expected = thr_cells_expected_above(&likely->models[cell], spread, kth);
        likely->keys[cell] = expected / likely->models[cell].n;
        left += expected;
    }
    if (left <= plan->allowed)
        return false;
    make_heap(likely);
    while (likely->n_heap > 0 && left > plan->allowed) {
        const uint32_t cell = pop(likely);
        left -= likely->keys[cell] * likely->models[cell].n;
        likely->chosen[likely->n_chosen++] = cell;
    }
    return true;
}
