/* SPDX-License-Identifier: Apache-2.0 */
/* cell_columns.h - the parameters of an index's cells, one array per parameter, for vectorised loops over all cells. */
#pragma once

#include "base/memory.h"
#include "cells/cells.h"

/* By cell. Owned; initialise with zeros. */
typedef struct thr_cells_columns {
    double *memory; /* of all columns */
    double *n_rows;
    double *size; /* score_model.h */
    double *mean_square;
    double *deviation;                                         /* L2: the cell's square_deviation; else 0 */
    double *length;                                            /* of the centroid */
    double *inverse_length;                                    /* 0 if the length is 0 */
    double *low_along, *low_across, *high_along, *high_across; /* of the items at the ends */
} thr_cells_columns;

/* Allocate for n cells. THR_ENOMEM. */
thr_status thr_cells_columns_reserve(thr_context *context, size_t n, thr_cells_columns *columns, thr_error *err);
void thr_cells_columns_free(thr_context *context, thr_cells_columns *columns);

/* Set the parameters of cell number c. */
void thr_cells_columns_set(const thr_cells_columns *columns, size_t c, thr_metric metric, uint64_t n_rows,
                           const thr_cell *cell, const thr_cell_ends *ends);

/*
 * The distance, in doubles, between the columns of n cells in one allocation. If the number of cells is a power of two,
 * dense columns would be a multiple of 4 KiB apart, and share a few sets of the CPU's cache. So there is a cache line
 * between columns.
 */
static inline size_t thr_cells_column_stride(size_t n) {
    return (n + 7) / 8 * 8 + 8;
}
