/* SPDX-License-Identifier: Apache-2.0 */
/* kmeans.h - centroids of a sample of rows, by Lloyd's algorithm, with moves between its steps (split_merge.h). */
#pragma once

#include "base/memory.h"

/* n_rows dense rows of n_dims finite floats. */
typedef struct thr_kmeans_sample {
    const float *rows;
    size_t n_rows;
    uint32_t n_dims;
} thr_kmeans_sample;

/*
 * Find n centroids (1 to n_rows) of a sample, and write them as dense rows. The initial centroids are random rows of
 * the sample. Sums are in double and in row order, so the bits do not depend on CPU or threads. THR_ENOMEM.
 */
thr_status thr_cells_kmeans(thr_context *context, const thr_kmeans_sample *sample, uint32_t n, float *centroids,
                            thr_error *err);
