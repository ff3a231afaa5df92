/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cells.h - cells: groups of neighbouring items that a segment stores together, so that a search can skip them.
 *
 * A cell is a run of a segment's items. Its centroid is their mean, and its numbers bound and describe how far they are
 * from it. Vectors are those that scores are computed from: as kept, and for cosine of length 1.
 */
#ifndef THR_CELLS_CELLS_H
#define THR_CELLS_CELLS_H

#include <thresher/index.h>

/* A group of k-means with more items than this many means of all groups is divided into several cells. */
enum { THR_CELLS_LARGEST = 4 };

/* A cell as it is stored. Distances are from the centroid, as it is stored in float32. */
typedef struct thr_cell {
    uint32_t first;         /* its first item; it ends where the next one begins */
    float radius;           /* no item is farther */
    float mean_square;      /* mean squared distance */
    float square_deviation; /* standard deviation of squared distances */
} thr_cell;

_Static_assert(sizeof(thr_cell) == 16, "no padding");

/* The cells of a segment. Owns nothing. */
typedef struct thr_cell_table {
    uint32_t n; /* 0: the segment has none */
    uint32_t n_items, n_dims;
    const thr_cell *cells;  /* by first item */
    const float *centroids; /* n x n_dims, row-major */
} thr_cell_table;

/* The end of a cell, exclusive. */
static inline uint32_t thr_cell_end(const thr_cell_table *table, uint32_t cell) {
    return cell + 1 < table->n ? table->cells[cell + 1].first : table->n_items;
}

/*
 * Whether untrusted cells are possible ones: the first begins at 0, each after the one before and below n_items, and
 * all numbers are finite and not negative. If not, *wrong is the first wrong cell. Reads no centroid.
 */
bool thr_cells_are_valid(const thr_cell_table *table, uint32_t *wrong);

#endif
