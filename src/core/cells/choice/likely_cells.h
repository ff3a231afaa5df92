/* SPDX-License-Identifier: Apache-2.0 */
/*
 * likely_cells.h - the cells, of those not yet chosen, in which the models by scores expect some of the best rows; and
 * the choice of the likeliest of them.
 */
#pragma once

#include "cells/choice/cell_models.h"
#include "cells/choice/queue.h"

/* The memory and the cells of one query. Initialise with zeros; owned. */
typedef struct thr_likely_cells {
    uint32_t *cells;  /* n, ascending */
    double *expected; /* how many rows of cells[i] are expected to be among the best */
    double *keys;     /* by cell: expected rows / rows; scratch memory of thr_cells_likely_choose */
    uint32_t *heap;   /* of the same function */
    size_t n;
    double sum; /* of expected */
} thr_likely_cells;

/* Allocate for n cells. THR_ENOMEM; free the cells then, too. */
thr_status thr_cells_likely_reserve(thr_context *context, size_t n, thr_likely_cells *likely, thr_error *err);
void thr_cells_likely_free(thr_context *context, thr_likely_cells *likely);

/* List the cells with may_be_listed whose rows may reach a score, with the expected number of such rows. */
void thr_cells_likely_list(const thr_cells_models *models, double spread, double score, const bool *may_be_listed,
                           thr_likely_cells *likely);

/*
 * Whether thr_cells_likely_choose would certainly return 0, because the likeliest cells have more than n_rows rows.
 * Much faster than choosing. May return false where choosing returns 0.
 */
bool thr_cells_likely_are_too_large(const thr_cells_models *models, double allowed, double n_rows,
                                    const thr_likely_cells *likely);

/*
 * Choose the likeliest cells, until at most `allowed` of the expected rows are in the other listed ones. Returns their
 * number, or 0 if they have more than n_rows rows. chosen: room for all listed cells.
 */
size_t thr_cells_likely_choose(const thr_cells_models *models, double allowed, double n_rows, thr_likely_cells *likely,
                               uint32_t *chosen);
