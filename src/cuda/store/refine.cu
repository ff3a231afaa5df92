/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact scores from the kept vectors: half a warp per row, lane l sums dimensions l, l + 16, ..., and the sums are
 * added in halves as for the dot products of kernel/kernel.h, so scores have the same bits.
 */
#include "cuda/backend.cuh"
#include "cuda/half.cuh"

#include <thresher/index.h>

static const uint32_t REFINE_THREADS = 256, HALF_WARP = 16;

/* Return value d of a row, before scaling. */
__device__ __forceinline__ float value_of(const thr_refine_op &op, size_t row, uint32_t d) {
    const size_t at = row * op.n_dims + d;
    if (op.keep == THR_DTYPE_F32)
        return ((const float *)op.vectors)[at];
    if (op.keep == THR_DTYPE_F16)
        return half_value(((const uint16_t *)op.vectors)[at]);
    return (float)((const int8_t *)op.vectors)[at];
}

static __global__ void __launch_bounds__(REFINE_THREADS) refine_rows(THR_PARAMETER(thr_refine_op) op) {
    const uint32_t lane = threadIdx.x % HALF_WARP, n_halves = gridDim.x * (REFINE_THREADS / HALF_WARP);
    const uint32_t first = blockIdx.x * (REFINE_THREADS / HALF_WARP) + threadIdx.x / HALF_WARP;
    const bool l2 = op.metric == THR_METRIC_L2, scaled = op.keep == THR_DTYPE_I8;
    /* Both halves of a warp must iterate equally often, because they share shuffles. */
    for (uint32_t i = first; i - first % 2 < op.n_scored; i += n_halves) {
        const bool there = i < op.n_scored;
        const thr_device_row row = op.rows[there ? i : op.n_scored - 1];
        const float *query = op.queries + (size_t)row.query * op.n_dims;
        const float scale = scaled ? op.scales[row.item] : 1.0f;
        float sum = 0;
        for (uint32_t d = lane; d < op.n_dims; d += HALF_WARP) {
            const float x = value_of(op, row.item, d), q = query[d];
            const float apart = __fsub_rn(q, l2 && scaled ? __fmul_rn(scale, x) : x);
            sum = __fadd_rn(sum, l2 ? __fmul_rn(apart, apart) : __fmul_rn(q, x));
        }
        for (uint32_t half = HALF_WARP / 2; half > 0; half /= 2)
            sum = __fadd_rn(sum, __shfl_down_sync(THR_ALL_LANES, sum, half, (int)HALF_WARP));
        if (scaled && !l2)
            sum = __fmul_rn(sum, scale);
        if (op.metric == THR_METRIC_COSINE)
            sum = __fmul_rn(sum, op.inverse_norms[row.item]);
        if (there && lane == 0)
            op.scores[i] = l2 ? __fsub_rn(0.0f, sum) : sum;
    }
}

thr_status thr_cuda_refine(thr_stream *stream, const thr_refine_op *op, thr_error *err) {
    const uint32_t n_blocks = loop_blocks(stream, op->n_scored, REFINE_THREADS / HALF_WARP, 8);
    return THR_RUN(refine_rows, n_blocks, REFINE_THREADS, stream, "refining rows", err, *op);
}
