/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bounds.c - bounds of the scores of a cell's rows.
 *
 * Let q be the query, c the centroid, y a row as it was measured, and R the cell's radius: |y - c| <= R. Then
 *
 *   ip      <q, y> <= <q, c> + |q| R
 *   l2      |q - y| >= |q - c| - R
 *   cosine  y is of length 1, or zero. From |y - c|^2 = 1 - 2 <y, c> + |c|^2 <= R^2 follows that the cosine between y
 *           and c is at least m = (1 + |c|^2 - R^2) / (2 |c|). If the query has the cosine t with c and t < m, then
 *           its angle to y is at least the difference of their angles to c, so with s(x) = sqrt(1 - x^2)
 *
 *               <q, y> <= t m + s(t) s(m)
 *
 *           If t >= m, the bound is 1. A zero vector scores 0. Vectors kept as float16 or int8 (scan/segment.h) have a
 *           length of 1 to within E: m is lower by up to 4 E, and their score, 1 - |q - y|^2 / 2, is at most 2 E above
 *           the cosine.
 *
 * Rounding. With u = 2^-24, a kernel's sum of n products is off by at most (n / 16 + 6) u times the product of the two
 * lengths: each of 16 lanes adds n / 16 + 1 rounded products, and four additions join the lanes. A sum of squared
 * differences is off by at most (n / 16 + 8) u times itself. This holds for the score of the row and for that of the
 * centroid. Scores differ from <q, y> by a few u more, because kept vectors are multiplied by scales and inverse norms
 * before or after the sum, and by cosine |q| and |y| differ from 1 by at most UNIT_ERROR. RELATIVE(n) = (n / 8 + 64) u
 * exceeds the sum of all these errors. Products below 2^-126 are off by 2^-150, also if they are multiplied by q
 * afterwards; SMALLEST exceeds that. The double arithmetic here is exact by comparison. Its differences 1 - t and 1 - m
 * have a small relative error, so s(t) s(m) has, too; t and m are moved towards larger bounds first.
 */
#include "cells/bounded/bounds.h"
#include "base/shortest.h"

#include <math.h>
#include <string.h>

static const double UNIT = 0x1p-24;
static const double UNIT_ERROR = 0x1p-20;   /* 16 UNIT */
static const double SMALLEST = 0x1p-140;    /* per dimension */
static const double NO_DIRECTION = 0x1p-30; /* centroids that are shorter bound no cosine */

static double relative(uint32_t n_dims) {
    return ((double)n_dims / 8 + 64) * UNIT;
}

/* A lower bound of the cosine of rows with the centroid; their lengths differ from 1 by at most unit_error. */
static double least_cosine(double length, double radius, double unit_error) {
    if (!(length > NO_DIRECTION))
        return -1;
    const double squares = length * length + radius * radius;
    const double least =
        (1 + length * length - radius * radius - (UNIT_ERROR + 4 * unit_error) * (1 + squares)) / (2 * length);
    return fmin(fmax(least, -1), 1);
}

thr_cell_ball thr_cells_ball(const thr_kernels *kernels, const thr_cell_rows_kept *kept, const thr_cell_table *table,
                             uint32_t cell) {
    const double length = sqrt(kernels->sum_squares(table->centroids + (size_t)cell * table->n_dims, table->n_dims));
    /* Rows may be unpacked again, or scored by their residuals, with other rounding errors than when measured. */
    const double radius = (double)table->cells[cell].radius * (1 + 4 * UNIT) + 4 * UNIT * length +
                          relative(table->n_dims) * kept->centre_length;
    return (thr_cell_ball){.length = length,
                           .radius = radius,
                           .cosine = least_cosine(length, radius, kept->unit_error),
                           .inverse_length = length > NO_DIRECTION ? 1 / length : 0,
                           .has_zero = length <= radius,
                           .unit_error = kept->unit_error};
}

thr_cell_query thr_cells_query_read(const thr_kernels *kernels, thr_metric metric, const thr_matrix *query,
                                    float *vector) {
    const uint32_t n_dims = query->n_dims;
    (void)thr_matrix_to_f32(query, 0, 1, vector);
    double length = sqrt(kernels->sum_squares(vector, n_dims));
    if (length < THR_SHORTEST) {
        length = 0;
        memset(vector, 0, n_dims * sizeof *vector);
    }
    if (metric == THR_METRIC_COSINE && length > 0) {
        for (uint32_t d = 0; d < n_dims; d++)
            vector[d] = (float)((double)vector[d] / length);
        length = 1;
    }
    return (thr_cell_query){metric, n_dims, vector, length};
}

/* By cosine, of rows whose lengths differ from 1: their scores are 1 - |q - y|^2 / 2. */
static double bound_by_distance(const thr_cell_ball *ball, double product, double error, double lost) {
    if (ball->unit_error == 0)
        return (double)INFINITY;
    const double size = 1 + ball->length, square = 1 - 2 * product + ball->length * ball->length;
    const double distance = fmax(sqrt(fmax(square - 2 * error * size * size - lost, 0)) - ball->radius, 0);
    return fmax(1 + error - distance * distance / 2, -1);
}

/* By cosine, from a centroid's product with a query of length 1. */
static double bound_of_cosine(const thr_cell_ball *ball, double product, double relative_error, double lost) {
    const double m = ball->cosine, error = relative_error + 2 * ball->unit_error;
    const double t = fmax((product + lost) * ball->inverse_length + error, -1);
    if (ball->inverse_length == 0 || !(t < m))
        return fmin(1 + error, fmax(bound_by_distance(ball, product, relative_error, lost), ball->has_zero ? 0 : -1));
    const double bound = t * m + sqrt((1 - t) * (1 + t) * ((1 - m) * (1 + m))) + error;
    const double least = fmin(bound, bound_by_distance(ball, product, relative_error, lost));
    return ball->has_zero ? fmax(least, 0) : least;
}

static double bound_of_distance(const thr_cell_ball *ball, double square, double error, double lost) {
    const double distance = fmax(sqrt(fmax(square * (1 - error) - lost, 0)) - ball->radius, 0);
    return lost - distance * distance * (1 - error);
}

double thr_cells_bound(const thr_cell_query *query, const thr_cell_ball *ball, float centroid_score) {
    const double error = relative(query->n_dims), lost = (double)query->n_dims * SMALLEST * (1 + query->length);
    const double score = (double)centroid_score;
    const double bound = query->metric == THR_METRIC_COSINE ? bound_of_cosine(ball, score, error, lost)
                         : query->metric == THR_METRIC_L2
                             ? bound_of_distance(ball, score, error, lost)
                             : score + query->length * (ball->radius + error * (ball->length + ball->radius)) + lost;
    return isnan(bound) ? (double)INFINITY : bound;
}
