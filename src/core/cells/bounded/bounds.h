/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bounds.h - upper bounds of the scores that the rows of cells can have.
 *
 * A row whose cell has a bound below a score certainly scores less, as float32 kernels compute scores (bounds.c), so an
 * exact search may skip the cell.
 */
#pragma once

#include "cells/cells.h"
#include "kernel/kernel.h"

/* What the bounds of a cell are computed from. */
typedef struct thr_cell_ball {
    double length; /* of the centroid */
    double radius; /* no row is farther from the centroid */
    double cosine; /* by cosine: a lower bound of the rows' cosines with the centroid, zero vectors excepted */
    double inverse_length;
    bool has_zero;     /* by cosine: zero vectors may be in the cell */
    double unit_error; /* by cosine: the rows' lengths differ from 1 by at most this */
} thr_cell_ball;

/* How the rows of a corpus are kept (scan/segment.h): its unit_error, and the length of the centre, 0 without one. */
typedef struct thr_cell_rows_kept {
    double unit_error, centre_length;
} thr_cell_rows_kept;

thr_cell_ball thr_cells_ball(const thr_kernels *kernels, const thr_cell_rows_kept *kept, const thr_cell_table *table,
                             uint32_t cell);

/* A query as its scores are computed: by cosine of length 1. */
typedef struct thr_cell_query {
    thr_metric metric;
    uint32_t n_dims;
    const float *vector;
    double length;
} thr_cell_query;

/*
 * Read a query, a matrix of one row, into vector, which the result borrows. By cosine and by inner product the result
 * may have a length of 0: then all rows score 0, and there are no bounds.
 */
thr_cell_query thr_cells_query_read(const thr_kernels *kernels, thr_metric metric, const thr_matrix *query,
                                    float *vector);

/*
 * An upper bound of the score of a row of the cell, for a query whose length is above 0, or by L2. centroid_score is
 * what the kernels dot_f32, for L2 l2_f32, compute for the query and the centroid. Never NaN.
 */
double thr_cells_bound(const thr_cell_query *query, const thr_cell_ball *ball, float centroid_score);
