/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chooser.h - chooses the cells that a query visits, pass by pass, and decides when the others may be left out.
 *
 * The first cells are those with the best centroids. Two models then estimate how many of the best rows are elsewhere:
 * order_model.h, by the positions of the rows found so far in the order of cells, and score_model.h, by their scores.
 * The search ends when one of them expects few enough misses. Until then, each pass reads the cells of the one that
 * needs fewer rows. The *front* is a position in the order: all cells before it are chosen.
 *
 * The order ends a search only if the scores do not contradict it by far, and never with inner products, where it is
 * wrong for negated items: their best rows are in most cells.
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
 * filter are never chosen. Returns false if the query has length 0, and not by L2: then there is no order, and the
 * caller visits all blocks.
 */
bool thr_cells_chooser_begin(const thr_cells_plan *plan, const thr_matrix *query, thr_cells_chooser *chooser);

/* Choose the next cells of the order, until they have n_rows rows or more that pass the filter, or no cell is left. */
void thr_cells_chooser_start(double n_rows, thr_cells_chooser *chooser);

/*
 * Choose the cells of the next pass, or return false, with no cell chosen, if at most plan->allowed of the best k are
 * expected in the cells not chosen, or if none is left. The cells are those that are expected to have most of the best
 * k, or the next of the order, with at most about three times the rows before the front.
 *
 * found: the best rows of cells, sorted, at least plan->wanted. kth: the k-th best score of all rows found, also of
 * those without cells.
 */
bool thr_cells_chooser_next(const thr_cells_plan *plan, const thr_found *found, double kth, thr_cells_chooser *chooser);
