/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cell_models.h - the models (score_model.h) of all cells for one query, one array per parameter, and the keys by which
 * the first cells are ordered.
 *
 * Most cells are so far below the scores in question that no item of them is expected there. One vectorised pass finds
 * the others.
 */
#pragma once

#include "cells/plan.h"
#include "cells/choice/score_model.h"

/* The models of one query, by cell. Initialise with zeros; owned. */
typedef struct thr_cells_models {
    double *memory;  /* of all arrays */
    const double *n; /* plan->n_allowed */
    double *mean, *slope, *end_mean, *end_slope;
    double *first_keys; /* the cell with the largest is visited first; -INFINITY: no item passes the filter */
    double *excesses;   /* memory of thr_cells_models_list_near */
    const thr_cells_columns *columns;
    size_t n_cells;
} thr_cells_models;

/* Allocate for n cells. THR_ENOMEM. */
thr_status thr_cells_models_reserve(thr_context *context, size_t n, thr_cells_models *models, thr_error *err);
void thr_cells_models_free(thr_context *context, thr_cells_models *models);

/*
 * Model all cells for a query with this length (1 for cosine). centroid_scores: the query's products with the
 * centroids; L2: its squared distances from them.
 */
void thr_cells_models_make(const thr_cells_plan *plan, double length, const float *centroid_scores,
                           thr_cells_models *models);

/* The model of one cell. */
static inline thr_cell_score_model thr_cells_models_get(const thr_cells_models *models, uint32_t cell) {
    const thr_cells_columns *columns = models->columns;
    const double n = models->n[cell], n_rows = columns->n_rows[cell];
    return (thr_cell_score_model){
        .n = n,
        .mean = models->mean[cell],
        .slope = models->slope[cell],
        .deviation = columns->deviation[cell],
        .end = {.n = n == n_rows ? 1 : n / n_rows, .mean = models->end_mean[cell], .slope = models->end_slope[cell]}};
}

/*
 * List, ascending, the cells with may_be_listed for which thr_cells_expected_above may exceed 0. Returns their number.
 * cells: room for all of them. Any NaN counts as near.
 */
size_t thr_cells_models_list_near(const thr_cells_models *models, double spread, double score,
                                  const bool *may_be_listed, uint32_t *cells);
