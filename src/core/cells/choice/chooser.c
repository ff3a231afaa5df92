/* SPDX-License-Identifier: Apache-2.0 */
/* chooser.c - chooses the cells of each pass. */
#include "cells/choice/chooser.h"

#include "base/error.h"
#include "base/minmax.h"
#include "cells/choice/order_model.h"
#include "kernel/kernel.h"

#include <math.h>
#include <string.h>

/*
 * The model by scores can end a search once the front has passed one in this many of all rows. Earlier it is fitted to
 * few cells, so it must expect fewer misses: after 1/r of these rows at most 1/r^2 of those allowed.
 */
enum { SCORES_ONE_IN = 64 };
/*
 * The heap of the order has the cells that a search is likely to take: those whose centroid is at most so many standard
 * deviations of a cell's scores behind the first, if residuals were isotropic.
 */
static const double LIKELY_DEVIATIONS = 3;
static const double LARGEST_GROWTH = 4; /* the factor by which the rows before the front may grow in a pass */
/*
 * The order alone ends a search only if the model by scores, which usually expects too many, expects at most this many
 * times the rows that may be missed. So an order that is wrong for a kind of queries costs no recall.
 */
static const double LARGEST_DOUBT = 8;
/*
 * Real tails are heavier than a normal distribution's, so the farther the model extrapolates, from the rows found down
 * to the rows that may be missed, the larger the spread must be: times 1 + this * ln(rows found / rows allowed).
 * Negated items, means of items and queries of few large components are the hardest.
 */
static const double SPREAD_GROWTH = 0.05;
/* Where more than RARE rows were found for each one that may be missed, it also grows by this * ln(rows / RARE). */
static const double RARE_GROWTH = 0.1, RARE = 31;

thr_status thr_cells_chooser_reserve(thr_context *context, uint32_t n_dims, size_t n_cells, thr_cells_chooser *chooser,
                                     thr_error *err) {
    static const char what[] = "the order of cells";
    THR_TRY(thr_alloc(context, n_dims, sizeof(float), &chooser->vector, what, err));
    THR_TRY(thr_alloc(context, n_cells, sizeof(float), &chooser->centroid_scores, what, err));
    THR_TRY(thr_cells_models_reserve(context, n_cells, &chooser->models, err));
    THR_TRY(thr_cells_likely_reserve(context, n_cells, &chooser->likely, err));
    THR_TRY(thr_alloc(context, n_cells, sizeof *chooser->counts, &chooser->counts, what, err));
    THR_TRY(thr_alloc(context, n_cells, sizeof *chooser->found_in, &chooser->found_in, what, err));
    THR_TRY(thr_alloc(context, n_cells, sizeof *chooser->positions, &chooser->positions, what, err));
    THR_TRY(thr_alloc(context, n_cells, sizeof *chooser->may_be_chosen, &chooser->may_be_chosen, what, err));
    THR_TRY(thr_alloc(context, n_cells, sizeof *chooser->order_cells, &chooser->order_cells, what, err));
    return thr_alloc(context, n_cells, sizeof *chooser->chosen, &chooser->chosen, what, err);
}

void thr_cells_chooser_free(thr_context *context, thr_cells_chooser *chooser) {
    thr_cells_models_free(context, &chooser->models);
    thr_cells_likely_free(context, &chooser->likely);
    THR_RELEASE(context, chooser->vector, chooser->centroid_scores, chooser->counts, chooser->found_in,
                chooser->positions, chooser->may_be_chosen, chooser->order_cells, chooser->chosen);
    *chooser = (thr_cells_chooser){0};
}

/* ------------------------------------------------------------------------------------------------ order */

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

/* The cell with the largest key, of equal ones the lowest number. */
static uint32_t best_cell(const double *keys, size_t n) {
    enum { CHAINS = 8 }; /* of comparisons, each of which waits for the one before */
    double most[CHAINS], largest = -INFINITY;
    uint32_t best = 0;
    for (size_t i = 0; i < CHAINS; i++)
        most[i] = -INFINITY;
    for (size_t first = 0; first + CHAINS <= n; first += CHAINS)
        for (size_t i = 0; i < CHAINS; i++)
            most[i] = THR_MAX(keys[first + i], most[i]);
    for (size_t c = n - n % CHAINS; c < n; c++)
        largest = THR_MAX(keys[c], largest);
    for (size_t i = 0; i < CHAINS; i++)
        largest = THR_MAX(most[i], largest);
    while (best + 1 < n && !(keys[best] >= largest))
        best++;
    return best;
}

/* Queue all cells that have rows. The heap of the queue has those that a search is likely to take. */
static void make_order(const thr_cells_plan *plan, thr_cells_chooser *chooser) {
    const thr_cells_models *models = &chooser->models;
    const uint32_t best = best_cell(models->first_keys, plan->n_cells);
    const double deviation = models->slope[best] / sqrt((double)plan->corpus->scan->quantiser->n_dims);
    for (size_t c = 0; c < plan->n_cells; c++)
        chooser->positions[c] = INFINITY;
    if (plan->options.filter == NULL)
        memset(chooser->may_be_chosen, true, plan->n_cells * sizeof *chooser->may_be_chosen); /* cells have items */
    for (size_t c = 0; plan->options.filter != NULL && c < plan->n_cells; c++)
        chooser->may_be_chosen[c] = models->n[c] > 0;
    chooser->order = thr_cells_queue_make(chooser->order_cells, plan->n_cells, models->first_keys,
                                          models->first_keys[best] - LIKELY_DEVIATIONS * deviation);
}

bool thr_cells_chooser_begin(const thr_cells_plan *plan, const thr_matrix *query, thr_cells_chooser *chooser) {
    const thr_kernels *kernels = plan->context->kernels;
    const bool l2 = plan->corpus->scan->metric == THR_METRIC_L2;
    const uint32_t n_dims = query->n_dims;
    const thr_rows_kernel score = l2 ? kernels->l2_f32 : kernels->dot_f32;
    chooser->n_chosen = chooser->n_front = 0;
    chooser->front = 0;
    read_query(plan, query, chooser);
    if (!(chooser->length > 0) && !l2)
        return false;
    for (size_t t = 0, at = 0; t < plan->corpus->n_tables; at += plan->corpus->tables[t++].n)
        score(chooser->centroid_scores + at, chooser->vector, plan->corpus->tables[t].centroids, n_dims * sizeof(float),
              plan->corpus->tables[t].n, n_dims);
    thr_cells_models_make(plan, chooser->length, chooser->centroid_scores, &chooser->models);
    make_order(plan, chooser);
    return true;
}

/* ------------------------------------------------------------------------------------------------ choice */

static void choose(thr_cells_chooser *chooser, uint32_t cell) {
    chooser->may_be_chosen[cell] = false;
    chooser->chosen[chooser->n_chosen++] = cell;
}

/* Move the front behind the next cell of the order. */
static void advance(thr_cells_chooser *chooser) {
    const uint32_t cell = thr_cells_queue_pop(&chooser->order);
    const double n = chooser->models.n[cell];
    chooser->positions[cell] = chooser->front + n / 2;
    chooser->front += n;
    chooser->n_front++;
    if (chooser->may_be_chosen[cell])
        choose(chooser, cell);
}

void thr_cells_chooser_start(double n_rows, thr_cells_chooser *chooser) {
    const double end = chooser->front + n_rows;
    while (chooser->order.n > 0 && chooser->front < end)
        advance(chooser);
}

/* The cell of a row; n_cells if it has none. */
static size_t cell_of(const thr_cells_plan *plan, uint64_t row) {
    size_t first = 0, end = plan->n_cells;
    while (first < end) {
        const size_t middle = (first + end) / 2;
        if (plan->cell_rows[middle].end_row <= row)
            first = middle + 1;
        else
            end = middle;
    }
    return first < plan->n_cells && plan->cell_rows[first].first_row <= row ? first : plan->n_cells;
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
        chooser->counts[i] = (thr_cell_visited){thr_cells_models_get(&chooser->models, cell), chooser->found_in[cell]};
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
 * Choose the likeliest listed cells, until at most plan->allowed_misses of the best rows are expected in the other
 * listed ones. Chooses none if the likeliest have more than n_rows rows.
 */
static void choose_likeliest(const thr_cells_plan *plan, double n_rows, thr_cells_chooser *chooser) {
    uint32_t *chosen = chooser->chosen + chooser->n_chosen;
    if (thr_cells_likely_are_too_large(&chooser->models, plan->allowed_misses, n_rows, &chooser->likely))
        return;
    const size_t n = thr_cells_likely_choose(&chooser->models, plan->allowed_misses, n_rows, &chooser->likely, chosen);
    for (size_t i = 0; i < n; i++)
        chooser->may_be_chosen[chosen[i]] = false;
    chooser->n_chosen += n;
}

/* Advance the front to a position or farther, and past at least one cell that was not chosen. */
static void choose_next(double position, thr_cells_chooser *chooser) {
    const size_t before = chooser->n_chosen;
    while (chooser->order.n > 0 && (chooser->front < position || chooser->n_chosen == before))
        advance(chooser);
}

/*
 * How many of the best k the order expects behind the front; or the number that the scores expect, divided by
 * LARGEST_DOUBT, if that is larger. While the front has passed too few rows, the result exceeds plan->allowed_misses,
 * so that no search ends.
 */
static double expected_behind(const thr_cells_plan *plan, double worst, double kth, thr_cells_chooser *chooser) {
    const double n_dims = (double)plan->corpus->scan->quantiser->n_dims;
    const double by_order = fmax(expected_by_order(plan, chooser),
                                 plan->allowed_misses * plan->n_rows * plan->order_share / chooser->front);
    if (by_order > plan->allowed_misses)
        return by_order;
    const double spread = thr_cells_fit_mean_spread(chooser->counts, chooser->n_chosen, worst, n_dims);
    thr_cells_likely_list(&chooser->models, spread, kth, chooser->may_be_chosen, &chooser->likely);
    return fmax(by_order, chooser->likely.sum / LARGEST_DOUBT);
}

/* rows: those found for each one that may be missed. */
static double spread_growth(double rows) {
    return 1 + SPREAD_GROWTH * log(rows) + RARE_GROWTH * fmax(log(rows / RARE), 0);
}

bool thr_cells_chooser_next(const thr_cells_plan *plan, const thr_found *found, double kth,
                            thr_cells_chooser *chooser) {
    const size_t before = chooser->n_chosen;
    const double worst = (double)found->items[found->n - 1].score;
    const double n_dims = (double)plan->corpus->scan->quantiser->n_dims;
    const double growth = spread_growth((double)plan->wanted / plan->allowed_misses);
    count_found(plan, found, chooser);
    while (chooser->n_chosen > chooser->n_front && !chooser->may_be_chosen[thr_cells_queue_first(&chooser->order)])
        advance(chooser);
    const double behind = expected_behind(plan, worst, kth, chooser);
    if (behind <= plan->allowed_misses)
        return false;
    const double spread = growth * thr_cells_fit_spread(chooser->counts, chooser->n_chosen, worst, n_dims);
    const double proof = fmin(chooser->front * SCORES_ONE_IN / plan->n_rows, 1);
    const double step = fmin(behind / plan->allowed_misses, LARGEST_GROWTH), n_rows = chooser->front * (step - 1);
    thr_cells_likely_list(&chooser->models, spread, kth, chooser->may_be_chosen, &chooser->likely);
    if (chooser->likely.sum <= plan->allowed_misses * proof * proof)
        return false;
    choose_likeliest(plan, n_rows, chooser);
    if (chooser->n_chosen == before)
        choose_next(chooser->front * step, chooser);
    return chooser->n_chosen > before;
}
