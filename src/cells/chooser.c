/* SPDX-License-Identifier: Apache-2.0 */
/* chooser.c - chooses the cells of each pass. */
#include "cells/chooser.h"

#include "base/error.h"
#include "cells/order_model.h"
#include "kernel/kernel.h"
#include "select/bitmap.h"

#include <math.h>
#include <string.h>

static const double FIRST_DEVIATIONS = 2; /* by inner product, the order is by mean score plus so many deviations */
/*
 * The order alone ends a search after at least one in this many of all rows. With one in 64, searches for negated items
 * on books100d find .83 of the ten best where .9 is promised.
 */
enum { ORDER_ONE_IN = 20 };
/*
 * The first cells have one in FIRST_ONE_IN of all rows, or fewer if the next centroid is far behind the first: by more
 * than FAR_BEHIND standard deviations of a cell's scores, if residuals were isotropic. A search that ends after fewer
 * rows needs more proof, since the model is fitted to few cells: if it read 1/r of them, 1/r^2 of the misses are
 * allowed.
 */
enum { FIRST_ONE_IN = 64 };
static const double FAR_BEHIND = 3;
static const double LARGEST_GROWTH = 4; /* the factor by which the rows before the front may grow in a pass */
/*
 * The order alone ends a search only if the model, which usually expects too many, expects at most this many times the
 * rows that may be missed. So an order that is wrong for a kind of queries costs no recall.
 */
static const double LARGEST_DOUBT = 8;
/*
 * Real tails are heavier than a normal distribution's, so the farther the model extrapolates, from the rows found down
 * to the rows that may be missed, the larger the spread must be: times 1 + this * ln(rows found / rows allowed).
 * Negated items, means of items and queries of few large components are the hardest.
 */
static const double SPREAD_GROWTH = 0.05;

thr_status thr_cells_chooser_reserve(thr_context *context, uint32_t n_dims, size_t n_cells, thr_cells_chooser *chooser,
                                     thr_error *err) {
    static const char what[] = "the order of cells";
    THR_TRY(thr_alloc(context, n_dims, sizeof(float), &chooser->vector, what, err));
    THR_TRY(thr_alloc(context, n_cells, sizeof(float), &chooser->centroid_scores, what, err));
    THR_TRY(thr_alloc(context, n_cells, sizeof *chooser->models, &chooser->models, what, err));
    THR_TRY(thr_alloc(context, n_cells, sizeof *chooser->counts, &chooser->counts, what, err));
    THR_TRY(thr_alloc(context, n_cells, sizeof *chooser->found_in, &chooser->found_in, what, err));
    THR_TRY(thr_alloc(context, n_cells, sizeof *chooser->first_keys, &chooser->first_keys, what, err));
    THR_TRY(thr_alloc(context, n_cells, sizeof *chooser->positions, &chooser->positions, what, err));
    THR_TRY(thr_alloc(context, n_cells, sizeof *chooser->keys, &chooser->keys, what, err));
    THR_TRY(thr_alloc(context, n_cells, sizeof *chooser->is_chosen, &chooser->is_chosen, what, err));
    THR_TRY(thr_alloc(context, n_cells, sizeof *chooser->rest_cells, &chooser->rest_cells, what, err));
    THR_TRY(thr_alloc(context, n_cells, sizeof *chooser->order_cells, &chooser->order_cells, what, err));
    return thr_alloc(context, n_cells, sizeof *chooser->chosen, &chooser->chosen, what, err);
}

void thr_cells_chooser_free(thr_context *context, thr_cells_chooser *chooser) {
    THR_RELEASE(context, chooser->vector, chooser->centroid_scores, chooser->models, chooser->counts, chooser->found_in,
                chooser->first_keys, chooser->positions, chooser->keys, chooser->is_chosen, chooser->rest_cells,
                chooser->order_cells, chooser->chosen);
    *chooser = (thr_cells_chooser){0};
}

/* ------------------------------------------------------------------------------------------------ models */

static double items_allowed(const thr_cells_plan *plan, const thr_cell_place *place) {
    const uint64_t *filter = plan->options.filter;
    return (double)(filter == NULL ? place->end_row - place->first_row
                                   : thr_select_bitmap_count_range(filter, place->first_row, place->end_row));
}

/*
 * Set model->end to the cell's end in the query's direction. With a an item's product with the centroid's direction, b
 * its distance from the centroid's line, and the query's numbers likewise, a product is `along` x a plus at most
 * `across` x b, and an L2 score is twice that less a^2 + b^2 and the query's square. length: of the query.
 */
static void model_end(const thr_cell_place *place, bool l2, double length, double centroid_score,
                      thr_cell_score_model *model) {
    const double square = length * length, centroid_length = (double)place->ends->length;
    const double product = l2 ? (square + centroid_length * centroid_length - centroid_score) / 2 : centroid_score;
    const double along = product * place->inverse_length; /* the query's parts along and across the centroid */
    const double across = square > along * along ? sqrt(square - along * along) : 0;
    const bool high = along > (l2 ? centroid_length : 0);
    const thr_cell_end_item *item = high ? &place->ends->high : &place->ends->low;
    const double a = (double)item->along, b = (double)item->across;
    model->end.mean = l2 ? 2 * along * a - a * a - b * b - square : along * a;
    model->end.slope = (l2 ? 2 : 1) * across * b;
}

static thr_cell_score_model model_of(const thr_cells_plan *plan, double length, const thr_cell_place *place,
                                     double centroid_score) {
    const bool l2 = plan->corpus->scan->metric == THR_METRIC_L2;
    thr_cell_score_model model = {
        .n = items_allowed(plan, place), .mean = centroid_score, .slope = length * place->size};
    if (l2) {
        model.mean = -centroid_score - (double)place->cell->mean_square;
        model.slope = 2 * sqrt(centroid_score) * place->size;
        model.deviation = (double)place->cell->square_deviation;
    }
    if (place->ends != NULL) {
        model.end.n = plan->options.filter == NULL ? 1 : model.n / (double)(place->end_row - place->first_row);
        model_end(place, l2, length, centroid_score, &model);
    }
    return model;
}

/* Read the query as scores are computed from it. */
static void read_query(const thr_cells_plan *plan, const thr_matrix *query, thr_cells_chooser *chooser) {
    const uint32_t n_dims = query->n_dims;
    (void)thr_matrix_to_f32(query, 0, 1, chooser->vector);
    chooser->length = sqrt(plan->context->kernels->sum_squares(chooser->vector, n_dims));
    if (plan->corpus->scan->metric != THR_METRIC_COSINE || !(chooser->length > 0))
        return;
    for (uint32_t d = 0; d < n_dims; d++)
        chooser->vector[d] = (float)((double)chooser->vector[d] / chooser->length);
    chooser->length = 1;
}

/*
 * The order of the first cells: by L2 and by cosine, the nearest centroids first. A cell's mean score alone would put
 * cells with large residuals too late: a row near the query may be far from its centroid.
 */
static double first_key(const thr_cells_plan *plan, const thr_cell *cell, const thr_cell_score_model *model) {
    switch (plan->corpus->scan->metric) {
    case THR_METRIC_L2:
        return model->mean + (double)cell->mean_square;
    case THR_METRIC_COSINE:
        return model->mean + (double)cell->mean_square / 2;
    default:
        return model->mean + FIRST_DEVIATIONS * model->slope / sqrt((double)plan->corpus->scan->quantiser->n_dims);
    }
}

/* Model all cells, and queue those that have rows. The heap of the queue has those that a search is likely to take. */
static void make_order(const thr_cells_plan *plan, thr_cells_chooser *chooser) {
    size_t n = 0, best = 0;
    for (uint32_t c = 0; c < plan->n_cells; c++) {
        thr_cell_score_model *model = &chooser->models[c];
        *model = model_of(plan, chooser->length, &plan->places[c], (double)chooser->centroid_scores[c]);
        chooser->first_keys[c] = first_key(plan, plan->places[c].cell, model);
        chooser->positions[c] = INFINITY;
        chooser->is_chosen[c] = false;
        chooser->n_rows += model->n;
        if (model->n > 0)
            chooser->order_cells[n++] = c;
    }
    for (size_t i = 1; i < n; i++)
        best =
            chooser->first_keys[chooser->order_cells[i]] > chooser->first_keys[chooser->order_cells[best]] ? i : best;
    chooser->far_key = INFINITY;
    if (n > 0) {
        const uint32_t cell = chooser->order_cells[best];
        const double deviation = chooser->models[cell].slope / sqrt((double)plan->corpus->scan->quantiser->n_dims);
        chooser->far_key = chooser->first_keys[cell] - FAR_BEHIND * deviation;
    }
    chooser->order = thr_cells_queue_make(chooser->order_cells, n, chooser->first_keys, chooser->far_key);
}

bool thr_cells_chooser_begin(const thr_cells_plan *plan, const thr_matrix *query, thr_cells_chooser *chooser) {
    const thr_kernels *kernels = plan->context->kernels;
    const bool l2 = plan->corpus->scan->metric == THR_METRIC_L2;
    const uint32_t n_dims = query->n_dims;
    const thr_rows_kernel score = l2 ? kernels->l2_f32 : kernels->dot_f32;
    chooser->n_chosen = chooser->n_front = 0;
    chooser->front = chooser->n_rows = 0;
    read_query(plan, query, chooser);
    if (!(chooser->length > 0) && !l2)
        return false;
    for (size_t t = 0, at = 0; t < plan->corpus->n_tables; at += plan->corpus->tables[t++].n)
        score(chooser->centroid_scores + at, chooser->vector, plan->corpus->tables[t].centroids, n_dims * sizeof(float),
              plan->corpus->tables[t].n, n_dims);
    make_order(plan, chooser);
    return true;
}

/* ------------------------------------------------------------------------------------------------ choice */

static void choose(thr_cells_chooser *chooser, uint32_t cell) {
    chooser->is_chosen[cell] = true;
    chooser->chosen[chooser->n_chosen++] = cell;
}

/* Move the front behind the next cell of the order. */
static void advance(thr_cells_chooser *chooser) {
    const uint32_t cell = thr_cells_queue_pop(&chooser->order);
    chooser->positions[cell] = chooser->front + chooser->models[cell].n / 2;
    chooser->front += chooser->models[cell].n;
    chooser->n_front++;
    if (!chooser->is_chosen[cell])
        choose(chooser, cell);
}

/* Whether the next cell of the order is near the first one. */
static bool next_is_near(const thr_cells_chooser *chooser) {
    const thr_cells_queue *order = &chooser->order;
    return order->n_heap > 0 && chooser->first_keys[order->cells[0]] >= chooser->far_key;
}

/* The rows of the order after which the models may end a search without further proof. */
static double usual_front(const thr_cells_chooser *chooser) {
    return chooser->n_rows / FIRST_ONE_IN;
}

void thr_cells_chooser_start(double n_rows, thr_cells_chooser *chooser) {
    const double end = chooser->front + n_rows;
    while (chooser->order.n > 0 &&
           (chooser->front < end || (chooser->front < usual_front(chooser) && next_is_near(chooser))))
        advance(chooser);
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

/* Count the found rows of each cell, and list the chosen cells with their counts. */
static void count_found(const thr_cells_plan *plan, const thr_found *found, thr_cells_chooser *chooser) {
    memset(chooser->found_in, 0, plan->n_cells * sizeof *chooser->found_in);
    for (size_t i = 0; i < found->n; i++) {
        const size_t cell = cell_of(plan, found->items[i].row);
        if (cell < plan->n_cells)
            chooser->found_in[cell]++;
    }
    for (size_t i = 0; i < chooser->n_chosen; i++) {
        const uint32_t cell = chooser->chosen[i];
        chooser->counts[i] = (thr_cell_visited){chooser->models[cell], chooser->found_in[cell]};
    }
}

/* The number of found rows in cells after a position of the order. */
static double found_behind(const thr_cells_chooser *chooser, double position) {
    double n = 0;
    for (size_t i = 0; i < chooser->n_chosen; i++)
        if (chooser->positions[chooser->chosen[i]] > position)
            n += chooser->found_in[chooser->chosen[i]];
    return n;
}

/* How many of the best k are expected after the front, by the positions of the rows found before it. */
static double expected_by_order(const thr_cells_plan *plan, const thr_cells_chooser *chooser) {
    double least = INFINITY;
    if (plan->corpus->scan->metric == THR_METRIC_IP) /* long items are far behind their place in the order */
        return INFINITY;
    for (size_t i = 0; i < THR_CELLS_INTERVALS; i++) {
        const double width = thr_cells_widths[i], found = found_behind(chooser, chooser->front / width);
        if (i == 0 || found <= THR_CELLS_MOST_IN_WIDE)
            least = fmin(least, thr_cells_expected_behind(found, width));
    }
    return least * (double)plan->k / (double)plan->wanted;
}

/*
 * Queue the cells that are not chosen, by the share of their rows that the model expects to be among the best. Returns
 * the number of the best rows that it expects in them.
 */
static double expect_rest(const thr_cells_plan *plan, double spread, double kth, thr_cells_chooser *chooser) {
    double sum = 0;
    size_t n = 0;
    for (uint32_t c = 0; c < plan->n_cells; c++)
        if (!chooser->is_chosen[c] && chooser->models[c].n > 0) {
            const double expected = thr_cells_expected_above(&chooser->models[c], spread, kth);
            chooser->keys[c] = expected / chooser->models[c].n;
            chooser->rest_cells[n++] = c;
            sum += expected;
        }
    chooser->rest = thr_cells_queue_make(chooser->rest_cells, n, chooser->keys, INFINITY);
    return sum;
}

/*
 * Choose the likeliest cells, until at most plan->allowed of `left` are expected in the others. If that takes more than
 * n_rows rows, choose none and return false.
 */
static bool choose_likeliest(const thr_cells_plan *plan, double left, double n_rows, thr_cells_chooser *chooser) {
    const size_t before = chooser->n_chosen;
    for (double n = 0; chooser->rest.n > 0 && left > plan->allowed;) {
        const uint32_t cell = thr_cells_queue_pop(&chooser->rest);
        n += chooser->models[cell].n;
        left -= chooser->keys[cell] * chooser->models[cell].n;
        chooser->chosen[chooser->n_chosen++] = cell;
        if (n > n_rows) {
            chooser->n_chosen = before;
            return false;
        }
    }
    for (size_t i = before; i < chooser->n_chosen; i++)
        chooser->is_chosen[chooser->chosen[i]] = true;
    return true;
}

/* Advance the front to a position or farther, and past at least one cell that was not chosen. */
static void choose_next(double position, thr_cells_chooser *chooser) {
    const size_t before = chooser->n_chosen;
    while (chooser->order.n > 0 && (chooser->front < position || chooser->n_chosen == before))
        advance(chooser);
}

bool thr_cells_chooser_next(const thr_cells_plan *plan, const thr_found *found, double kth,
                            thr_cells_chooser *chooser) {
    const size_t before = chooser->n_chosen;
    const double worst = (double)found->items[found->n - 1].score;
    const double n_dims = (double)plan->corpus->scan->quantiser->n_dims;
    const double least_front = chooser->n_rows / ORDER_ONE_IN;
    const double growth = 1 + SPREAD_GROWTH * log((double)plan->wanted / plan->allowed);
    count_found(plan, found, chooser);
    while (chooser->n_chosen > chooser->n_front && chooser->is_chosen[thr_cells_queue_first(&chooser->order)])
        advance(chooser);
    /* The order ends no search before least_front rows: until then `behind` exceeds plan->allowed. */
    double behind = fmax(expected_by_order(plan, chooser), plan->allowed * least_front / chooser->front);
    if (behind <= plan->allowed) {
        const double spread = thr_cells_fit_mean_spread(chooser->counts, chooser->n_chosen, worst, n_dims);
        behind = fmax(behind, expect_rest(plan, spread, kth, chooser) / LARGEST_DOUBT);
    }
    if (behind <= plan->allowed)
        return false;
    const double spread = growth * thr_cells_fit_spread(chooser->counts, chooser->n_chosen, worst, n_dims);
    const double left = expect_rest(plan, spread, kth, chooser);
    const double proof = fmin(chooser->front / usual_front(chooser), 1);
    if (left <= plan->allowed * proof * proof)
        return false;
    const double step = fmin(behind / plan->allowed, LARGEST_GROWTH);
    if (!choose_likeliest(plan, left, chooser->front * (step - 1), chooser) || chooser->n_chosen == before)
        choose_next(chooser->front * step, chooser);
    return chooser->n_chosen > before;
}
