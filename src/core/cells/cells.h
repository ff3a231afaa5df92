/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cells.h - cells: groups of neighbouring items that a segment stores together, so that a search can skip them.
 *
 * A cell is a run of a segment's items. Its centroid is their mean; its other numbers describe how far they are from
 * the centroid. Items differ most in their products with the centroid's direction, so a cell's two ends are stored: the
 * items with the least and the greatest of these products. Vectors are those that are scored: as kept, and for cosine
 * scaled to length 1.
 */
#pragma once

#include <thresher/index.h>

/* A group of k-means with more items than this many times the mean number is divided into several cells. */
enum { THR_CELLS_LARGEST = 4 };

/* A cell as it is stored. Distances are measured from the stored centroid, which is rounded to float32. */
typedef struct thr_cell {
    uint32_t first;         /* its first item; it ends where the next one begins */
    float radius;           /* an upper bound of all distances from the centroid */
    float mean_square;      /* mean squared distance */
    float square_deviation; /* standard deviation of squared distances */
} thr_cell;

_Static_assert(sizeof(thr_cell) == 16, "no padding");

/* An item at an end of a cell: its product with the centroid's direction, and its distance from the line along it. */
typedef struct thr_cell_end_item {
    float along, across;
} thr_cell_end_item;

/* The ends of a cell. If the centroid is 0, along is 0. */
typedef struct thr_cell_ends {
    float length; /* of the centroid */
    thr_cell_end_item low, high;
} thr_cell_ends;

_Static_assert(sizeof(thr_cell_ends) == 20, "no padding");

/* The cells of a segment. Owns nothing. */
typedef struct thr_cell_table {
    uint32_t n; /* 0: the segment has none */
    uint32_t n_items, n_dims;
    const thr_cell *cells;  /* by first item */
    const float *centroids; /* n x n_dims, row-major */
    const thr_cell_ends *ends;
} thr_cell_table;

/* The end of a cell, exclusive. */
static inline uint32_t thr_cell_end(const thr_cell_table *table, uint32_t cell) {
    return cell + 1 < table->n ? table->cells[cell + 1].first : table->n_items;
}

/*
 * Validate cells from a file: the first begins at 0, the others ascend and begin below n_items, all numbers are finite,
 * none but `along` is negative, and no low end is above its high end. If this returns false, *wrong is the first
 * invalid cell. Does not read centroids.
 */
bool thr_cells_are_valid(const thr_cell_table *table, uint32_t *wrong);
