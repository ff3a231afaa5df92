/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chooser.h - chooses the cells that a query visits, pass by pass, and decides when the others may be left out.
 *
 * The first cells are those with the best centroids. Two models then estimate how many of the best rows are elsewhere:
 * order_model.h estimates it from where in the order of cells the rows so far were found, score_model.h from their
 * scores. The search ends when one of them expects few enough misses. Until then, each pass reads the cells that the
 * scores make likely, or, if those have too many rows, the next ones of the order. The *front* is a position in the
 * order: all cells before it are chosen.
 *
 * The order ends a search only if the scores do not expect far more misses. It never does with inner products, where it
 * is wrong for negated items: their best rows are in most cells.
 */
#pragma once

#include "cells/choice/likely_cells.h"

/* The memory of a slot, and the state of its query. Initialise with zeros; owned. */
typedef struct thr_cells_chooser {
    float *vector;            /* n_dims: the query */
    double length;            /* of it; 1 for cosine */
    float *centroid_scores;   /* products; L2: squared distances */
    thr_cells_models models;  /* of all cells */
    thr_likely_cells likely;  /* of the cells that may be chosen */
    thr_cell_visited *counts; /* of the chosen cells; in any order */
    double *found_in;         /* by cell: rows found */
    double *positions;        /* by cell: rows of the order before its middle; INFINITY after the front */
    bool *may_be_chosen;      /* by cell: it has rows, and was not chosen */
    uint32_t *order_cells;    /* memory of the order */
    uint32_t *chosen;         /* cells, by number, in the order in which they were chosen */
    thr_cells_queue order;    /* cells after the front, by models.first_keys */
    size_t n_chosen;
    size_t n_front; /* cells before the front; all of them are chosen */
    double front;   /* rows of these cells that pass the filter */
} thr_cells_chooser;

/* Allocate for queries of n_dims dimensions and n_cells cells. THR_ENOMEM; free the chooser then, too. */
thr_status thr_cells_chooser_reserve(thr_context *context, uint32_t n_dims, size_t n_cells, thr_cells_chooser *chooser,
                                     thr_error *err);
void thr_cells_chooser_free(thr_context *context, thr_cells_chooser *chooser);

/*
 * Begin a query, a matrix of one row: score all centroids; no cell is chosen yet. Cells without rows that pass the
 * filter are never chosen. Returns false for a query of length 0, unless the metric is L2: then there is no order, and
 * the caller visits all blocks.
 */
bool thr_cells_chooser_begin(const thr_cells_plan *plan, const thr_matrix *query, thr_cells_chooser *chooser);

/* Choose the next cells of the order, until they have n_rows rows or more that pass the filter, or no cell is left. */
void thr_cells_chooser_start(double n_rows, thr_cells_chooser *chooser);

/*
 * Choose the cells of the next pass. Return false, with no cell chosen, if none is left, or if at most
 * plan->allowed_misses of the best k are expected in the cells not chosen. The chosen cells are expected to have most
 * of the best k, or are the next of the order; they have at most about three times the rows before the front.
 *
 * found: the best plan->wanted rows found in cells, sorted. kth: the score of the k-th best row found, in cells or not,
 * where k is plan->k.
 */
bool thr_cells_chooser_next(const thr_cells_plan *plan, const thr_found *found, double kth, thr_cells_chooser *chooser);
