/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of matrices with the bits of kernel matmul, which cuBLAS does not give: every sum is added in its order,
 * multiplications and additions rounded apart.
 *
 * A block of threads has a tile of c, 64 x 64, and passes the sum in steps of 16: it loads as many columns of a and
 * rows of b into shared memory, from which every thread reads 4 + 4 numbers for 16 products.
 */
#include "base/minmax.h"
#include "cuda/backend.cuh"
#include "kernel/elementwise.h"

static const uint32_t LAYER_THREADS = 256, LAYER_SIDE = 16; /* threads per row of the tile */
static const uint32_t LAYER_EACH = 4;                       /* rows and columns of a thread, LAYER_SIDE apart */
static const uint32_t LAYER_TILE = LAYER_SIDE * LAYER_EACH, LAYER_STEPS = 16;
static const uint32_t LAYER_ROW = LAYER_TILE + 1; /* of shared memory: steps of a line are in different banks */

/* Rows of a, or columns of b: number `step` of line l is x[l * stride + step * step_stride]. */
struct LayerLines {
    const float *x;
    size_t stride, step_stride;
    uint32_t n_lines, n_steps;
};

/*
 * Load the tile's lines, at the steps after `from`; 0 outside. Adjacent threads read adjacent numbers, whichever way
 * the matrix is stored.
 */
template <typename Tile>
__device__ __forceinline__ void load(Tile &tile, const LayerLines &lines, uint32_t first_line, uint32_t from) {
    const bool along = lines.step_stride == 1;
#pragma unroll
    for (uint32_t i = threadIdx.x; i < LAYER_STEPS * LAYER_TILE; i += LAYER_THREADS) {
        const uint32_t at_line = along ? i / LAYER_STEPS : i % LAYER_TILE;
        const uint32_t at_step = along ? i % LAYER_STEPS : i / LAYER_TILE;
        const uint32_t line = first_line + at_line, step = from + at_step;
        const bool there = line < lines.n_lines && step < lines.n_steps;
        tile[at_step * LAYER_ROW + at_line] = there ? lines.x[line * lines.stride + step * lines.step_stride] : 0.0f;
    }
}

__device__ __forceinline__ float start_of(const thr_layer_op &op, uint32_t row, uint32_t column) {
    if (row >= op.n_rows || column >= op.n_columns)
        return 0.0f;
    if (op.add)
        return op.c[(size_t)row * op.c_row + column];
    return op.bias != nullptr ? op.bias[column] : 0.0f;
}

static __global__ void __launch_bounds__(LAYER_THREADS) multiply(const thr_layer_op op) {
    THR_SHARED(float, a, LAYER_STEPS *LAYER_ROW);
    THR_SHARED(float, b, LAYER_STEPS *LAYER_ROW);
    const uint32_t first_row = blockIdx.y * LAYER_TILE, first_column = blockIdx.x * LAYER_TILE;
    const LayerLines rows = {op.a, op.a_row, op.a_step, op.n_rows, op.n_inner};
    const LayerLines columns = {op.b, op.b_column, op.b_step, op.n_columns, op.n_inner};
    const uint32_t row = threadIdx.x / LAYER_SIDE, column = threadIdx.x % LAYER_SIDE;
    float sums[LAYER_EACH][LAYER_EACH];
#pragma unroll
    for (uint32_t i = 0; i < LAYER_EACH; i++)
#pragma unroll
        for (uint32_t j = 0; j < LAYER_EACH; j++)
            sums[i][j] = start_of(op, first_row + row + i * LAYER_SIDE, first_column + column + j * LAYER_SIDE);
    for (uint32_t from = 0; from < op.n_inner; from += LAYER_STEPS) {
        __syncthreads();
        load(a, rows, first_row, from);
        load(b, columns, first_column, from);
        __syncthreads();
        /* a zero beyond the end would make -0 a 0 */
        const uint32_t n_steps = min(op.n_inner - from, LAYER_STEPS);
        for (uint32_t step = 0; step < n_steps; step++) {
            float x[LAYER_EACH], y[LAYER_EACH];
#pragma unroll
            for (uint32_t i = 0; i < LAYER_EACH; i++) {
                x[i] = a[step * LAYER_ROW + row + i * LAYER_SIDE];
                y[i] = b[step * LAYER_ROW + column + i * LAYER_SIDE];
            }
#pragma unroll
            for (uint32_t i = 0; i < LAYER_EACH; i++)
#pragma unroll
                for (uint32_t j = 0; j < LAYER_EACH; j++)
                    sums[i][j] = __fadd_rn(sums[i][j], __fmul_rn(x[i], y[j]));
        }
    }
#pragma unroll
    for (uint32_t i = 0; i < LAYER_EACH; i++)
#pragma unroll
        for (uint32_t j = 0; j < LAYER_EACH; j++) {
            const uint32_t at_row = first_row + row + i * LAYER_SIDE,
                           at_column = first_column + column + j * LAYER_SIDE;
            if (at_row < op.n_rows && at_column < op.n_columns)
                op.c[(size_t)at_row * op.c_row + at_column] = op.tanh ? thr_kernel_tanh_one(sums[i][j]) : sums[i][j];
        }
}

thr_status thr_cuda_layer(thr_stream *stream, const thr_layer_op *op, thr_error *err) {
    const dim3 blocks(THR_CEIL_DIV(op->n_columns, LAYER_TILE), THR_CEIL_DIV(op->n_rows, LAYER_TILE));
    return THR_RUN(multiply, blocks, LAYER_THREADS, stream, "a layer", err, *op);
}
