/* SPDX-License-Identifier: Apache-2.0 */
#include "cells/likely_cells.h"

#include "base/error.h"
#include "cells/order_model.h"
#include "kernel/kernel.h"
#include "select/bitmap.h"

#include <math.h>
#include <string.h>

static const double FIRST_DEVIATIONS = 2; /* of the order by inner product: mean scores plus so many deviations */
/*
 * The order alone ends a search after at least one in this many of all rows. With one in 64, searches for negated items
 * on books100d find .83 of the ten best where .9 is promised.
 */
enum { ORDER_ONE_IN = 20 };
/*
 * The first cells have one in this many of all rows, or fewer if the next centroid is far behind the first: by so many
 * standard deviations of a cell's scores, as if residuals were isotropic. Then the model must expect fewer rows
 * elsewhere, since it is fitted to few cells: by the square of the share of rows that were not read.
 */
enum { FIRST_ONE_IN = 64 };
static const double FAR_BEHIND = 3;
static const double LARGEST_STEP = 4; /* the most by which the order's front grows in a pass */
/*
 * The order alone ends a search only if the model, which usually expects too many, expects at most this many times the
 * rows that may be missed. So an order that is wrong for a kind of queries costs no recall.
 */
static const double LARGEST_DOUBT = 4;
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
    THR_TRY(thr_alloc(context, n_cells, sizeof *likely->first_keys, &likely->first_keys, what, err));
    THR_TRY(thr_alloc(context, n_cells, sizeof *likely->places, &likely->places, what, err));
    THR_TRY(thr_alloc(context, n_cells, sizeof *likely->keys, &likely->keys, what, err));
    THR_TRY(thr_alloc(context, n_cells, sizeof *likely->is_chosen, &likely->is_chosen, what, err));
    THR_TRY(thr_alloc(context, n_cells, sizeof *likely->rest_cells, &likely->rest_cells, what, err));
    THR_TRY(thr_alloc(context, n_cells, sizeof *likely->order_cells, &likely->order_cells, what, err));
    return thr_alloc(context, n_cells, sizeof *likely->chosen, &likely->chosen, what, err);
}

void thr_cells_likely_free(thr_context *context, thr_cells_likely *likely) {
    thr_release(context, likely->vector);
    thr_release(context, likely->centroid_scores);
    thr_release(context, likely->models);
    thr_release(context, likely->counts);
    thr_release(context, likely->found_in);
    thr_release(context, likely->first_keys);
    thr_release(context, likely->places);
    thr_release(context, likely->keys);
    thr_release(context, likely->is_chosen);
    thr_release(context, likely->rest_cells);
    thr_release(context, likely->order_cells);
    thr_release(context, likely->chosen);
    *likely = (thr_cells_likely){0};
}

/* ------------------------------------------------------------------------------------------------ models */

static double items_allowed(const thr_cells_plan *plan, const thr_cell_place *place) {
    const uint64_t *filter = plan->options.filter;
    return (double)(filter == NULL ? place->end_row - place->first_row
                                   : thr_select_bitmap_count_range(filter, place->first_row, place->end_row));
}

/* Set model->end to the cell's end in the query's direction. length: of the query. */
static void model_end(const thr_cell_place *place, bool l2, double length, double centroid_score,
                      thr_cell_score_model *model) {
    const double square = length * length, from_origin = (double)place->ends->length;
    const double product = l2 ? (square + from_origin * from_origin - centroid_score) / 2 : centroid_score;
    const double along = product * place->inverse_length; /* the query's parts along and across the centroid */
    const double across = square > along * along ? sqrt(square - along * along) : 0;
    const bool high = along > (l2 ? from_origin : 0);
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
static void make_order(const thr_cells_plan *plan, thr_cells_likely *likely) {
    size_t n = 0, best = 0;
    for (uint32_t c = 0; c < plan->n_cells; c++) {
        thr_cell_score_model *model = &likely->models[c];
        *model = model_of(plan, likely->length, &plan->places[c], (double)likely->centroid_scores[c]);
        likely->first_keys[c] = first_key(plan, plan->places[c].cell, model);
        likely->places[c] = INFINITY;
        likely->is_chosen[c] = false;
        likely->n_rows += model->n;
        if (model->n > 0)
            likely->order_cells[n++] = c;
    }
    for (size_t i = 1; i < n; i++)
        best = likely->first_keys[likely->order_cells[i]] > likely->first_keys[likely->order_cells[best]] ? i : best;
    likely->far_key = INFINITY;
    if (n > 0) {
        const uint32_t cell = likely->order_cells[best];
        const double deviation = likely->models[cell].slope / sqrt((double)plan->corpus->scan->quantiser->n_dims);
        likely->far_key = likely->first_keys[cell] - FAR_BEHIND * deviation;
    }
    likely->order = thr_cells_queue_make(likely->order_cells, n, likely->first_keys, likely->far_key);
}

bool thr_cells_likely_begin(const thr_cells_plan *plan, const thr_matrix *query, thr_cells_likely *likely) {
    const thr_kernels *kernels = plan->context->kernels;
    const bool l2 = plan->corpus->scan->metric == THR_METRIC_L2;
    const uint32_t n_dims = query->n_dims;
    const thr_rows_kernel score = l2 ? kernels->l2_f32 : kernels->dot_f32;
    likely->n_chosen = likely->n_front = 0;
    likely->front = likely->n_rows = 0;
    read_query(plan, query, likely);
    if (!(likely->length > 0) && !l2)
        return false;
    for (size_t t = 0, at = 0; t < plan->corpus->n_tables; at += plan->corpus->tables[t++].n)
        score(likely->centroid_scores + at, likely->vector, plan->corpus->tables[t].centroids, n_dims * sizeof(float),
              plan->corpus->tables[t].n, n_dims);
    make_order(plan, likely);
    return true;
}

/* ------------------------------------------------------------------------------------------------ choice */

static void choose(thr_cells_likely *likely, uint32_t cell) {
    likely->is_chosen[cell] = true;
    likely->chosen[likely->n_chosen++] = cell;
}

/* Move the front behind the next cell of the order. */
static void advance(thr_cells_likely *likely) {
    const uint32_t cell = thr_cells_queue_pop(&likely->order);
    likely->places[cell] = likely->front + likely->models[cell].n / 2;
    likely->front += likely->models[cell].n;
    likely->n_front++;
    if (!likely->is_chosen[cell])
        choose(likely, cell);
}

/* Whether the next cell of the order is near the first one. */
static bool next_is_near(const thr_cells_likely *likely) {
    const thr_cells_queue *order = &likely->order;
    return order->n_heap > 0 && likely->first_keys[order->cells[0]] >= likely->far_key;
}

/* The rows of the order after which the models may end a search without further proof. */
static double usual_front(const thr_cells_likely *likely) {
    return likely->n_rows / FIRST_ONE_IN;
}

void thr_cells_likely_choose_first(double n_rows, thr_cells_likely *likely) {
    const double end = likely->front + n_rows;
    while (likely->order.n > 0 &&
           (likely->front < end || (likely->front < usual_front(likely) && next_is_near(likely))))
        advance(likely);
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
static void count_found(const thr_cells_plan *plan, const thr_found *found, thr_cells_likely *likely) {
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
}

/* The number of found rows in cells behind a place of the order. */
static double found_behind(const thr_cells_likely *likely, double place) {
    double n = 0;
    for (size_t i = 0; i < likely->n_chosen; i++)
        if (likely->places[likely->chosen[i]] > place)
            n += likely->found_in[likely->chosen[i]];
    return n;
}

/* How many of the best k are behind the order's front, by the places of the rows found before it. */
static double expected_by_order(const thr_cells_plan *plan, const thr_cells_likely *likely) {
    double least = INFINITY;
    if (plan->corpus->scan->metric == THR_METRIC_IP) /* long items are far behind their place in the order */
        return INFINITY;
    for (size_t i = 0; i < THR_CELLS_WINDOWS; i++) {
        const double window = thr_cells_windows[i], found = found_behind(likely, likely->front / window);
        if (i == 0 || found <= THR_CELLS_FEW)
            least = fmin(least, thr_cells_expected_behind(found, window));
    }
    return least * (double)plan->k / (double)plan->wanted;
}

/* Queue the cells that are not chosen by the share of their rows that the model expects to be among the best. */
static double expect_rest(const thr_cells_plan *plan, double spread, double kth, thr_cells_likely *likely) {
    double sum = 0;
    size_t n = 0;
    for (uint32_t c = 0; c < plan->n_cells; c++)
        if (!likely->is_chosen[c] && likely->models[c].n > 0) {
            const double expected = thr_cells_expected_above(&likely->models[c], spread, kth);
            likely->keys[c] = expected / likely->models[c].n;
            likely->rest_cells[n++] = c;
            sum += expected;
        }
    likely->rest = thr_cells_queue_make(likely->rest_cells, n, likely->keys, INFINITY);
    return sum;
}

/* Choose the likeliest cells, until at most plan->allowed of `left` are expected in the others, but at most n_rows. */
static bool choose_likeliest(const thr_cells_plan *plan, double left, double n_rows, thr_cells_likely *likely) {
    const size_t before = likely->n_chosen;
    for (double n = 0; likely->rest.n > 0 && left > plan->allowed;) {
        const uint32_t cell = thr_cells_queue_pop(&likely->rest);
        n += likely->models[cell].n;
        left -= likely->keys[cell] * likely->models[cell].n;
        likely->chosen[likely->n_chosen++] = cell;
        if (n > n_rows) {
            likely->n_chosen = before;
            return false;
        }
    }
    for (size_t i = before; i < likely->n_chosen; i++)
        likely->is_chosen[likely->chosen[i]] = true;
    return true;
}

/* Advance the front to a place, and by one cell that is not yet chosen at least. */
static void choose_next(double place, thr_cells_likely *likely) {
    const size_t before = likely->n_chosen;
    while (likely->order.n > 0 && (likely->front < place || likely->n_chosen == before))
        advance(likely);
}

bool thr_cells_likely_choose(const thr_cells_plan *plan, const thr_found *found, double kth, thr_cells_likely *likely) {
    const size_t before = likely->n_chosen;
    const double worst = (double)found->items[found->n - 1].score;
    const double n_dims = (double)plan->corpus->scan->quantiser->n_dims;
    const double least_front = likely->n_rows / ORDER_ONE_IN;
    const double growth = 1 + SPREAD_GROWTH * log((double)plan->wanted / plan->allowed);
    count_found(plan, found, likely);
    while (likely->n_chosen > likely->n_front && likely->is_chosen[thr_cells_queue_first(&likely->order)])
        advance(likely);
    double behind = fmax(expected_by_order(plan, likely), plan->allowed * least_front / likely->front);
    if (behind <= plan->allowed) {
        const double spread = thr_cells_fit_mean_spread(likely->counts, likely->n_chosen, worst, n_dims);
        behind = fmax(behind, expect_rest(plan, spread, kth, likely) / LARGEST_DOUBT);
    }
    if (behind <= plan->allowed) 
        return false;
    const double spread = growth * thr_cells_fit_spread(likely->counts, likely->n_chosen, worst, n_dims);
    const double left = expect_rest(plan, spread, kth, likely);
    const double proof = fmin(likely->front / usual_front(likely), 1);
    if (left <= plan->allowed * proof * proof) 
        return false;
    const double step = fmin(behind / plan->allowed, LARGEST_STEP);
    if (!choose_likeliest(plan, left, likely->front * (step - 1), likely) || likely->n_chosen == before)
        choose_next(likely->front * step, likely);
    return likely->n_chosen > before;
}
