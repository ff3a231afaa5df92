/* SPDX-License-Identifier: Apache-2.0 */
/*
 * centroids.h - the nearest centroid of each of many rows.
 *
 * A row x belongs to its nearest centroid c, the one with the largest <x, c> - |c|^2 / 2, computed by the kernel
 * matmul; if several are equally near, to one of them. THR_CENTROIDS_GROUPED centroids or more are divided into
 * groups of neighbours. A row is compared with the centroids of the quarter of the groups whose means are nearest. If
 * it is far from the one found, it is compared with all. So some rows get a centroid that is slightly farther than the
 * nearest. The bits do not depend on CPU or threads.
 */
#pragma once

#include "base/memory.h"

/* Fewer centroids are one group. */
enum { THR_CENTROIDS_GROUPED = 512 };

/* Initialise with zeros; owns its arrays. */
typedef struct thr_centroids {
    thr_context *context;
    uint32_t n, n_dims, n_groups;
    uint32_t *numbers;                   /* n: centroids by group, then ascending */
    uint32_t *starts;                    /* n_groups + 1: where each group begins in numbers */
    float *columns;                      /* n_dims x n: the centroids in that order, transposed */
    float *halves;                       /* n: minus half their squared lengths, in that order */
    float *group_columns, *group_halves; /* the same of the groups' means; NULL if there is one group */
} thr_centroids;

/* Prepare n >= 1 centroids: dense rows of n_dims finite floats, which are copied. THR_ENOMEM. */
thr_status thr_cells_centroids_make(thr_context *context, const float *rows, uint32_t n, uint32_t n_dims,
                                    thr_centroids *centroids, thr_error *err);
void thr_cells_centroids_free(thr_centroids *centroids);

/* nearest[i] = the nearest centroid of row i of n_rows dense rows. THR_ENOMEM. */
thr_status thr_cells_centroids_nearest(const thr_centroids *centroids, const float *rows, size_t n_rows,
                                       uint32_t *nearest, thr_error *err);
