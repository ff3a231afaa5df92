/* SPDX-License-Identifier: Apache-2.0 */
/* cell_models.c - loops over the models of all cells, for vectors of doubles. */
#include "cells/choice/cell_models.h"

#include "base/error.h"
#include "base/minmax.h"

#include <math.h>

enum { ARRAYS = 6 };

static const double FIRST_DEVIATIONS = 2; /* by inner product, the order is by mean score plus so many deviations */

thr_status thr_cells_models_reserve(thr_context *context, size_t n, thr_cells_models *models, thr_error *err) {
    const size_t stride = thr_cells_column_stride(n);
    THR_TRY(thr_alloc(context, stride, ARRAYS * sizeof(double), &models->memory, "models of cells", err));
    models->mean = models->memory;
    models->slope = models->memory + stride;
    models->end_mean = models->memory + 2 * stride;
    models->end_slope = models->memory + 3 * stride;
    models->first_keys = models->memory + 4 * stride;
    models->excesses = models->memory + 5 * stride;
    return THR_OK;
}

void thr_cells_models_free(thr_context *context, thr_cells_models *models) {
    thr_release(context, models->memory);
    *models = (thr_cells_models){0};
}

/* ------------------------------------------------------------------------------------------------ one query */

/* Cosine and inner product: the means and slopes of n cells. length: of the query. */
static void model_products(const thr_cells_columns *columns, double length, const float *products, size_t n,
                           double *restrict mean, double *restrict slope) {
    for (size_t c = 0; c < n; c++) {
        mean[c] = (double)products[c];
        slope[c] = length * columns->size[c];
    }
}

/* L2: the same. */
static void model_distances(const thr_cells_columns *columns, const float *distances, size_t n, double *restrict mean,
                            double *restrict slope) {
    for (size_t c = 0; c < n; c++) {
        mean[c] = -(double)distances[c] - columns->mean_square[c];
        slope[c] = 2 * sqrt((double)distances[c]) * columns->size[c];
    }
}

/*
 * The end of each of n cells in the query's direction. With a an item's product with the centroid's direction, b its
 * distance from the centroid's line, and the query's numbers likewise, a product is `along` x a plus at most `across` x
 * b, and an L2 score is twice that less a^2 + b^2 and the query's square. length: of the query.
 */
static inline void model_ends(const thr_cells_columns *columns, bool l2, double length, const float *centroid_scores,
                              size_t n, double *restrict mean, double *restrict slope) {
    const double square = length * length;
    for (size_t c = 0; c < n; c++) {
        const double score = (double)centroid_scores[c], centroid_length = columns->length[c];
        const double product = l2 ? (square + centroid_length * centroid_length - score) / 2 : score;
        const double along = product * columns->inverse_length[c]; /* the query's parts along and across the centroid */
        const double rest = square - along * along, across = sqrt(THR_MAX(rest, 0));
        const double a_low = columns->low_along[c], a_high = columns->high_along[c], middle = l2 ? centroid_length : 0;
        const double b_low = columns->low_across[c], b_high = columns->high_across[c];
        const double a = along > middle ? a_high : a_low, b = along > middle ? b_high : b_low;
        mean[c] = l2 ? 2 * along * a - a * a - b * b - square : along * a;
        slope[c] = (l2 ? 2 : 1) * across * b;
    }
}

/*
 * The order of the first cells: by L2 and by cosine, the nearest centroids first. A cell's mean score alone would put
 * cells with large residuals too late: a row near the query may be far from its centroid.
 */
static void set_first_keys(const thr_cells_plan *plan, const thr_cells_models *models, double *restrict keys) {
    const double *mean = models->mean, *slope = models->slope, *mean_square = plan->columns->mean_square;
    const double root = sqrt((double)plan->corpus->scan->quantiser->n_dims);
    const size_t n = plan->n_cells;
    switch (plan->corpus->scan->metric) {
    case THR_METRIC_L2:
        for (size_t c = 0; c < n; c++)
            keys[c] = mean[c] + mean_square[c];
        break;
    case THR_METRIC_COSINE:
        for (size_t c = 0; c < n; c++)
            keys[c] = mean[c] + mean_square[c] / 2;
        break;
    default:
        for (size_t c = 0; c < n; c++)
            keys[c] = mean[c] + FIRST_DEVIATIONS * slope[c] / root;
    }
    for (size_t c = 0; plan->options.filter != NULL && c < n; c++)
        keys[c] = models->n[c] > 0 ? keys[c] : -INFINITY;
}

void thr_cells_models_make(const thr_cells_plan *plan, double length, const float *centroid_scores,
                           thr_cells_models *models) {
    const thr_cells_columns *columns = plan->columns;
    const size_t n = plan->n_cells;
    models->columns = columns;
    models->n_cells = n;
    models->n = plan->n_allowed;
    if (plan->corpus->scan->metric == THR_METRIC_L2) {
        model_distances(columns, centroid_scores, n, models->mean, models->slope);
        model_ends(columns, true, length, centroid_scores, n, models->end_mean, models->end_slope);
    } else {
        model_products(columns, length, centroid_scores, n, models->mean, models->slope);
        model_ends(columns, false, length, centroid_scores, n, models->end_mean, models->end_slope);
    }
    set_first_keys(plan, models, models->first_keys);
}

/* ------------------------------------------------------------------------------------------------ use */

/* How far a score is above the largest at which items are expected (thr_cells_is_far). At 0 or below, some are. */
static inline double excess(double mean, double deviation, double score) {
    return score - mean - THR_CELLS_FAR * thr_cells_rounded_deviation(mean, deviation, score);
}

/* By cell: the lesser excess of its items and of the one at its end. Above 0, none is expected to reach the score. */
static void set_excesses(const thr_cells_models *models, double spread, double score, double *restrict excesses) {
    const double *mean = models->mean, *slope = models->slope, *deviation = models->columns->deviation;
    const double *end_mean = models->end_mean, *end_slope = models->end_slope;
    const size_t n = models->n_cells;
    for (size_t c = 0; c < n; c++) {
        const double items = excess(mean[c], slope[c] * spread + deviation[c], score);
        const double end = excess(end_mean[c], end_slope[c] * spread, score);
        excesses[c] = THR_MIN(items, end);
    }
}

size_t thr_cells_models_list_near(const thr_cells_models *models, double spread, double score,
                                  const bool *may_be_listed, uint32_t *cells) {
    size_t n = 0;
    set_excesses(models, spread, score, models->excesses);
    for (uint32_t c = 0; c < models->n_cells; c++) { /* without branches: which cells are near is unpredictable */
        cells[n] = c;
        n += (size_t)(!(models->excesses[c] > 0) & may_be_listed[c]);
    }
    return n;
}
