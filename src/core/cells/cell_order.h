/* SPDX-License-Identifier: Apache-2.0 */
/* cell_order.h - sorts a segment's items by cell, and measures each cell. */
#pragma once

#include "base/memory.h"
#include "cells/cells.h"

/* Items that can be read in any order, by several threads at once. */
typedef struct thr_cell_items {
    const void *object;
    void (*read)(const void *object, uint32_t item,
                 float *vector); /* writes n_dims floats: the vector that is scored */
    uint32_t n, n_dims;
} thr_cell_items;

/* Initialise with zeros; owned. */
typedef struct thr_cell_order {
    thr_context *context;
    uint32_t *items; /* n_items: the item at each place of the new order */
    thr_cell *cells;
    float *centroids;
    thr_cell_ends *ends;
    thr_cell_table table; /* views of the three */
} thr_cell_order;

/*
 * Order items by group, then by item number. groups[i] is the group of item i, below n_groups. Each group with items
 * becomes a cell. A group with more than THR_CELLS_LARGEST times the mean number of items (over groups with items) is
 * divided into cells of about equal size. THR_ENOMEM.
 */
thr_status thr_cells_order_make(thr_context *context, const thr_cell_items *items, const uint32_t *groups,
                                uint32_t n_groups, thr_cell_order *order, thr_error *err);
void thr_cells_order_free(thr_cell_order *order);

/* The items of one cell: those in places first to end - 1. */
typedef struct thr_cell_run {
    const uint32_t *items; /* NULL: place i has item i */
    uint32_t first, end;
} thr_cell_run;

/*
 * Measure a run of items: their centroid, how far they are from it, and their ends. sums and vector are scratch memory
 * of n_dims values. The same items in the same order give the same bits.
 */
thr_cell thr_cells_measure(const thr_cell_items *items, const thr_cell_run *run, double *sums, float *vector,
                           float *centroid, thr_cell_ends *ends);
