/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grid.cuh - mapping of numbers, and of rows of numbers, to threads.
 *
 * In a matrix, a thread handles one column of a row, and its neighbours the adjacent columns: a warp's reads are
 * contiguous, and all its threads do the same work. One thread computes a whole sum, in the CPU's order.
 *
 * Launches use one thread for each element: a GPU's memory holds fewer numbers than a grid may have threads.
 */
#pragma once

#include "base/minmax.h"
#include "cuda/portable.cuh"

static const uint32_t ELEMENT_THREADS = 256;
static const uint32_t COLUMN_THREADS = 96; /* divides the usual widths, 288 and 3 * 288 */

static inline uint32_t element_blocks(uint64_t n) {
    return (uint32_t)THR_CEIL_DIV(n, ELEMENT_THREADS);
}

__device__ __forceinline__ uint64_t element_of_thread() {
    return (uint64_t)blockIdx.x * ELEMENT_THREADS + threadIdx.x;
}

/* The grid of a matrix: blockIdx.x is the row. */
static inline dim3 column_blocks(uint32_t n_rows, uint32_t n_columns) {
    return dim3(n_rows, THR_CEIL_DIV(n_columns, COLUMN_THREADS));
}

__device__ __forceinline__ uint32_t column_of_thread() {
    return blockIdx.y * COLUMN_THREADS + threadIdx.x;
}

/*
 * Sum the rows list[0], list[1], ... of one column of x, in this order, as kernels gather_sum and, with weights,
 * gather_scaled do. x_row: a row's stride.
 */
__device__ __forceinline__ float sum_listed(const float *x, uint32_t x_row, uint32_t column, const uint32_t *list,
                                            const float *weights, uint32_t n) {
    if (n == 0)
        return 0.0f;
    float sum = x[(size_t)list[0] * x_row + column];
    if (weights != nullptr) {
        sum *= weights[0];
#pragma unroll 8 /* overlaps this many loads; the additions are sequential */
        for (uint32_t i = 1; i < n; i++)
            sum += weights[i] * x[(size_t)list[i] * x_row + column];
        return sum;
    }
#pragma unroll 8
    for (uint32_t i = 1; i < n; i++)
        sum += x[(size_t)list[i] * x_row + column];
    return sum;
}
