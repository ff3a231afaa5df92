/* SPDX-License-Identifier: Apache-2.0 */
/* cell_columns.h - the numbers of an index's cells, an array of each, so that loops over all cells are vectorised. */
#pragma once

#include "base/memory.h"
#include "cells/cells.h"

/* By cell. Owned; initialise with zeros. */
typedef struct thr_cells_columns {
    double *memory; /* of all columns */
    double *n_rows;
    double *size; /* score_model.h */
    double *mean_square;
    double *deviation;      /* of scores, whatever the spread: that of squared distances for L2, else 0 */
    double *length;         /* of the centroid */
    double *inverse_length; /* 0 if the centroid has no direction */
    double *low_along, *low_across, *high_along, *high_across; /* of the items at the ends */
    double *has_ends;                                          /* 1 if the ends are stored; if not, they are 0 */
} thr_cells_columns;

/* Allocate for n cells. THR_ENOMEM. */
thr_status thr_cells_columns_reserve(thr_context *context, size_t n, thr_cells_columns *columns, thr_error *err);
void thr_cells_columns_free(thr_context *context, thr_cells_columns *columns);

/* Set the numbers of cell number c. ends: NULL if they are not stored. */
void thr_cells_columns_set(const thr_cells_columns *columns, size_t c, thr_metric metric, uint64_t n_rows,
                           const thr_cell *cell, const thr_cell_ends *ends);

/*
 * Values from one column to the next in shared memory. Columns of a multiple of 4 KiB would share the same few sets of
 * a CPU's cache, so each begins a cache line farther.
 */
static inline size_t thr_cells_column_stride(size_t n) {
    return (n + 7) / 8 * 8 + 8;
}
