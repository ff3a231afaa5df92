/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention (translate/decoder.c), a block of threads per row. Half a warp multiplies a place's key with the row's
 * output in the order of kernel dot_f32. The sums over places are short and sequential: every thread adds the softmax's
 * for itself, and of the memory its own columns.
 */
#include "base/minmax.h"
#include "cuda/backend.cuh"
#include "cuda/dot.cuh"
#include "kernel/elementwise.h"

static const uint32_t ATTEND_THREADS = 256;

/* Softmax in place. All threads of the block must call it. */
__device__ __forceinline__ void soft_max(float *shares, uint32_t n) {
    float largest = shares[0];
    double sum = 0;
    for (uint32_t j = 1; j < n; j++)
        largest = THR_MAX(shares[j], largest);
    __syncthreads();
    for (uint32_t j = threadIdx.x; j < n; j += ATTEND_THREADS)
        shares[j] = thr_kernel_exp_one(shares[j] - largest);
    __syncthreads();
    for (uint32_t j = 0; j < n; j++)
        sum += (double)shares[j];
    __syncthreads();
    for (uint32_t j = threadIdx.x; j < n; j += ATTEND_THREADS)
        shares[j] = (float)((double)shares[j] / sum);
    __syncthreads();
}

static __global__ void __launch_bounds__(ATTEND_THREADS) attend(const thr_attend_op op) {
    const uint32_t row = blockIdx.x, sentence = op.sentences[row], n_units = op.n_units;
    const uint32_t first = op.places[sentence], n = op.places[sentence + 1] - first;
    const float *output = op.outputs + (size_t)row * op.output_row, *memory = op.memory + (size_t)first * n_units;
    float *shares = op.shares + (size_t)row * op.most_places, *out = op.combined + (size_t)row * 2 * n_units;
    const uint32_t half = threadIdx.x / DOT_LANES, lane = threadIdx.x % DOT_LANES;
    for (uint32_t j = 0; j < n; j += ATTEND_THREADS / DOT_LANES) {
        const uint32_t place = min(j + half, n - 1); /* whole warps take part in shuffles */
        const float score = dot_of(output, op.keys + (size_t)(first + place) * n_units, n_units, lane);
        if (lane == 0 && j + half < n)
            shares[place] = score;
    }
    __syncthreads();
    soft_max(shares, n);
    for (uint32_t column = threadIdx.x; column < n_units; column += ATTEND_THREADS) {
        float sum = shares[0] * memory[column];
        for (uint32_t j = 1; j < n; j++)
            sum += shares[j] * memory[(size_t)j * n_units + column];
        out[column] = sum;
        out[n_units + column] = output[column];
    }
    if (threadIdx.x != 0)
        return;
    uint32_t best = 0;
    for (uint32_t j = 1; j + 1 < n; j++)
        best = shares[j] > shares[best] ? j : best;
    op.attended[row] = best;
}

thr_status thr_cuda_attend(thr_stream *stream, const thr_attend_op *op, thr_error *err) {
    return THR_RUN(attend, op->n_rows, ATTEND_THREADS, stream, "attention", err, *op);
}
