/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cell_models.h - the models (score_model.h) of all cells for one query, an array of each of their numbers, and the
 * order in which the first cells are visited.
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
    const double *n; /* items that may be found: those of the columns, or `allowed` */
    double *allowed; /* items that pass the filter */
    double *mean, *slope, *end_mean, *end_slope;
    double *first_keys; /* the first cells have the largest; -INFINITY: no item may be found */
    double *excesses;   /* memory of thr_cells_models_list_near */
    const thr_cells_columns *columns;
    double n_rows; /* of all cells, that pass the filter */
    size_t n_cells;
} thr_cells_models;

/* Allocate for n cells. THR_ENOMEM. */
thr_status thr_cells_models_reserve(thr_context *context, size_t n, thr_cells_models *models, thr_error *err);
void thr_cells_models_free(thr_context *context, thr_cells_models *models);

/*
 * Model all cells for a query of a length, 1 for cosine. centroid_scores: its products with their centroids; L2:
 * squared distances.
 */
void thr_cells_models_make(const thr_cells_plan *plan, double length, const float *centroid_scores,
                           thr_cells_models *models);

/* The model of one cell. */
thr_cell_score_model thr_cells_models_get(const thr_cells_models *models, uint32_t cell);

/*
 * List the cells with may_be_listed in which thr_cells_expected_above may exceed 0, ascending, and return their number.
 */
size_t thr_cells_models_list_near(const thr_cells_models *models, double spread, double score,
                                  const bool *may_be_listed, uint32_t *cells);
