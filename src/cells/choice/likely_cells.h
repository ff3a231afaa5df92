/* SPDX-License-Identifier: Apache-2.0 */
/*
 * likely_cells.h - the cells, of those not yet chosen, in which the models by scores expect some of the best rows; and
 * the choice of the likeliest of them.
 *
 * Most decisions use estimates whose errors are bounded, where exact numbers would certainly lead to the same decision.
 * Exact numbers are computed only where a decision is close, or where cells are chosen.
 */
#pragma once

#include "cells/choice/cell_models.h"
#include "cells/choice/queue.h"

/* The memory and the cells of one query. Initialise with zeros; owned. */
typedef struct thr_likely_cells {
    uint32_t *cells;   /* n, ascending */
    double *estimates; /* of cells[i]: the number of the best rows in it, within THR_CELLS_QUICK_ERROR */
    double *keys;      /* by cell, of listed ones: the share of its rows that are expected to be among the best */
    uint32_t *heap;    /* memory of thr_cells_likely_choose */
    size_t n;
    double estimate; /* the sum of all estimates */
} thr_likely_cells;

/* Allocate for n cells. THR_ENOMEM; free the cells then, too. */
thr_status thr_cells_likely_reserve(thr_context *context, size_t n, thr_likely_cells *likely, thr_error *err);
void thr_cells_likely_free(thr_context *context, thr_likely_cells *likely);

/* List the cells with may_be_listed of which some rows may be expected to reach a score, and estimate how many. */
void thr_cells_likely_list(const thr_cells_models *models, double spread, double score, const bool *may_be_listed,
                           thr_likely_cells *likely);

/* Whether thr_cells_likely_expect would certainly return at most `most`. */
bool thr_cells_likely_are_few(const thr_likely_cells *likely, double most);

/* Set the keys of the listed cells, and return the number of rows in them that are expected to reach the score. */
double thr_cells_likely_expect(const thr_cells_models *models, double spread, double score, thr_likely_cells *likely);

/*
 * Whether thr_cells_likely_choose would certainly return 0, because the likeliest cells have more than n_rows rows.
 * Uses only the estimates.
 */
bool thr_cells_likely_take_more(const thr_cells_models *models, double allowed, double n_rows,
                                const thr_likely_cells *likely);

/*
 * Choose the likeliest cells, until at most `allowed` of the expected rows are in the other listed ones. Returns their
 * number, or 0 if they have more than n_rows rows. chosen: room for all listed cells. expected: the result of
 * thr_cells_likely_expect.
 */
size_t thr_cells_likely_choose(const thr_cells_models *models, double expected, double allowed, double n_rows,
                               thr_likely_cells *likely, uint32_t *chosen);
