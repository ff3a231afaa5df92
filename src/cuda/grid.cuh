/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grid.cuh - which thread has what, of numbers and of rows of numbers.
 *
 * Of a matrix a thread has one column of a row, and its neighbours the columns beside it: so what a warp reads lies in
 * one piece, and what a row is made of is the same for all its threads. A sum is one thread's, in the CPU's order.
 *
 * There is a block for everything that there is to do, however much: a GPU's memory holds fewer numbers than a grid may
 * have threads.
 */
#ifndef THR_CUDA_GRID_CUH
#define THR_CUDA_GRID_CUH

#include "cuda/portable.cuh"

static const uint32_t ELEMENT_THREADS = 256;
static const uint32_t COLUMN_THREADS = 96; /* 288 columns, and three times 288, are whole blocks */

static inline uint32_t element_blocks(uint64_t n) {
    return (uint32_t)((n + ELEMENT_THREADS - 1) / ELEMENT_THREADS);
}

__device__ __forceinline__ uint64_t element_of_thread() {
    return (uint64_t)blockIdx.x * ELEMENT_THREADS + threadIdx.x;
}

/* The row is blockIdx.x. */
static inline dim3 column_blocks(uint32_t n_rows, uint32_t n_columns) {
    return dim3(n_rows, (n_columns + COLUMN_THREADS - 1) / COLUMN_THREADS);
}

__device__ __forceinline__ uint32_t column_of_thread() {
    return blockIdx.y * COLUMN_THREADS + threadIdx.x;
}

/* Of one column of x: the sum of the rows list[0], list[1], ..., in this order, as kernel gather_sum has it. */
__device__ __forceinline__ float sum_listed(const float *x, uint32_t n_columns, uint32_t column, const uint32_t *list,
                                            uint32_t n) {
    if (n == 0)
        return 0.0f;
    float sum = x[(size_t)list[0] * n_columns + column];
#pragma unroll 8 /* as many reads are on their way at once; the additions wait for each other */
    for (uint32_t i = 1; i < n; i++)
        sum += x[(size_t)list[i] * n_columns + column];
    return sum;
}

#endif
