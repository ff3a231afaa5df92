/* SPDX-License-Identifier: Apache-2.0 */
/* order_by_cells.h - groups the rows of a new segment into cells of neighbours, by k-means on a sample of them. */
#pragma once

#include "cells/cell_order.h"
#include "index/impl.h"

enum { THR_MOST_CELLS = 65536 }; /* of an index */

/*
 * Reorder n_rows rows of an index with vectors, cell by cell. order receives the cells, about n_cells of at most
 * n_rows; the caller frees it. THR_ECANCELED; THR_ENOMEM.
 */
thr_status thr_index_order_by_cells(const thr_index *index, uint64_t *rows, uint32_t n_rows, uint32_t n_cells,
                                    thr_cell_order *order, thr_error *err);

/* The items of a segment, or with rows these rows of the index, as scores are computed from them. */
typedef struct thr_index_cell_rows {
    const thr_index *index;
    const uint64_t *rows; /* NULL: row i is first_row + i */
    uint64_t first_row;
} thr_index_cell_rows;

/* Borrows rows. */
thr_cell_items thr_index_cell_items(const thr_index_cell_rows *rows, uint32_t n);
