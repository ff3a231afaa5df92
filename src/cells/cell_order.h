/* SPDX-License-Identifier: Apache-2.0 */
/* cell_order.h - the order in which a segment stores its items, cell by cell, and the numbers of each cell. */
#ifndef THR_CELLS_CELL_ORDER_H
#define THR_CELLS_CELL_ORDER_H

#include "base/memory.h"
#include "cells/cells.h"

/* Items that can be read in any order, by several threads at once. */
typedef struct thr_cell_items {
    const void *object;
    void (*read)(const void *object, uint32_t item, float *vector); /* n_dims floats, as scores are computed from */
    uint32_t n, n_dims;
} thr_cell_items;

/* Initialise with zeros; owned. */
typedef struct thr_cell_order {
    thr_context *context;
    uint32_t *items; /* n_items: the item that comes in each place */
    thr_cell *cells;
    float *centroids;
    thr_cell_table table; /* views of the two */
} thr_cell_order;

/*
 * Order items by group, then by number. numbers has the group of each, below n_groups. Groups without items have no
 * cell; one of more than THR_CELLS_LARGEST times the mean of all becomes several cells of about equal size, so no cell
 * is larger than 8 means. THR_ENOMEM.
 */
thr_status thr_cells_order_make(thr_context *context, const thr_cell_items *items, const uint32_t *numbers,
                                uint32_t n_groups, thr_cell_order *order, thr_error *err);
void thr_cells_order_free(thr_cell_order *order);

/* The items of one cell: those in places first to end - 1. */
typedef struct thr_cell_run {
    const uint32_t *items; /* NULL: place i has item i */
    uint32_t first, end;
} thr_cell_run;

/*
 * Measure a run of items: its centroid, and how far they are from it. sums and vector have n_dims values, and are
 * overwritten. The same bits for the same items in the same order.
 */
thr_cell thr_cells_measure(const thr_cell_items *items, const thr_cell_run *run, double *sums, float *vector,
                           float *centroid);

#endif
