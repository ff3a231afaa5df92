/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kmeans.h - centroids of a sample (Lloyd's algorithm), and the nearest centroid of every row.
 *
 * A row x belongs to its nearest centroid c, the one with the largest <x, c> - |c|^2 / 2, computed by the kernel
 * matmul; if several are as near, to the first of them. Sums are in double and in row order, so the bits do not depend
 * on CPU or threads.
 */
#pragma once

#include "base/memory.h"

/* Centroids, and precomputed numbers to compare rows with them. Initialise with zeros; owns its arrays. */
typedef struct thr_kmeans {
    thr_context *context;
    uint32_t n, n_dims;
    float *centroids; /* n x n_dims, row-major */
    float *columns;   /* n_dims x n, the same transposed */
    float *halves;    /* n: minus half the squared length */
} thr_kmeans;

/*
 * Find kmeans->n centroids (1 to n_rows) of n_rows dense rows of kmeans->n_dims finite floats. The caller has set
 * context, n and n_dims. seed chooses the first centroids among the rows. THR_ENOMEM.
 */
thr_status thr_cells_kmeans_train(thr_kmeans *kmeans, const float *rows, size_t n_rows, uint64_t seed, thr_error *err);
void thr_cells_kmeans_free(thr_kmeans *kmeans);

/* nearest[i] = the nearest centroid of row i. THR_ENOMEM. */
thr_status thr_cells_kmeans_assign(const thr_kmeans *kmeans, const float *rows, size_t n_rows, uint32_t *nearest,
                                   thr_error *err);
