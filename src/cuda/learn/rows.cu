/* SPDX-License-Identifier: Apache-2.0 */
/* A layer's bias, forward and backward: set all rows to one row, and sum a gradient's rows. */
#include "base/minmax.h"
#include "cuda/backend.cuh"
#include "cuda/grid.cuh"

static __global__ void __launch_bounds__(COLUMN_THREADS) fill_rows(const thr_fill_rows_op op) {
    const uint32_t column = column_of_thread();
    if (column < op.n_columns)
        op.x[(size_t)blockIdx.x * op.n_columns + column] = op.row[column];
}

thr_status thr_cuda_fill_rows(thr_stream *stream, const thr_fill_rows_op *op, thr_error *err) {
    return THR_RUN(fill_rows, column_blocks(op->n_rows, op->n_columns), COLUMN_THREADS, stream, "filling rows", err,
                   *op);
}

static const uint32_t SUM_THREADS = 256, SUM_ROWS = 256; /* SUM_ROWS: rows that are loaded at once, 32 KiB */

/*
 * One block handles the columns of a warp. The additions must be sequential, but the loads need not be: all threads
 * load a piece of many rows, and one warp sums it.
 */
static __global__ void __launch_bounds__(SUM_THREADS) sum_rows(const thr_sum_rows_op op) {
    THR_SHARED(float, piece, SUM_ROWS *THR_WARP);
    const uint32_t lane = threadIdx.x % THR_WARP, warp = threadIdx.x / THR_WARP;
    const uint32_t column = blockIdx.x * THR_WARP + lane;
    const bool there = column < op.n_columns, adds = there && warp == 0;
    float sum = adds ? op.sum[column] : 0.0f;
    for (uint32_t from = 0; from < op.n_rows; from += SUM_ROWS) {
        const uint32_t n = min(op.n_rows - from, SUM_ROWS);
        __syncthreads();
#pragma unroll 8
        for (uint32_t r = warp; r < n; r += SUM_THREADS / THR_WARP)
            if (there)
                piece[r * THR_WARP + lane] = op.x[(size_t)(from + r) * op.n_columns + column];
        __syncthreads();
#pragma unroll 8
        for (uint32_t r = 0; adds && r < n; r++)
            sum += piece[r * THR_WARP + lane];
    }
    if (adds)
        op.sum[column] = sum;
}

thr_status thr_cuda_sum_rows(thr_stream *stream, const thr_sum_rows_op *op, thr_error *err) {
    if (op->n_rows == 0)
        return THR_OK;
    return THR_RUN(sum_rows, THR_CEIL_DIV(op->n_columns, THR_WARP), SUM_THREADS, stream, "adding rows up", err, *op);
}
