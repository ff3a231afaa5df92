/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact scores from the kept vectors: half a warp per row, lane l sums dimensions l, l + 16, ..., and the sums are
 * added in halves as for the dot products of kernel/kernel.h, so scores have the same bits.
 */
#include "base/minmax.h"
#include "cuda/backend.cuh"
#include "cuda/half.cuh"

#include <thresher/index.h>

static const uint32_t REFINE_THREADS = 256, HALF_WARP = 16;

/* Value d of a row, before scaling. */
__device__ __forceinline__ float value_of(const thr_refine_op &op, size_t row, uint32_t d) {
    const size_t at = row * op.n_dims + d;
    if (op.keep == THR_DTYPE_F32)
        return ((const float *)op.vectors)[at];
    if (op.keep == THR_DTYPE_F16)
        return half_value(((const uint16_t *)op.vectors)[at]);
    return (float)((const int8_t *)op.vectors)[at];
}

/* Add the sums of a half-warp's lanes; all of them receive the result. */
__device__ __forceinline__ float add_lanes(float sum) {
    for (uint32_t half = HALF_WARP / 2; half > 0; half /= 2)
        sum = __fadd_rn(sum, __shfl_down_sync(THR_ALL_LANES, sum, half, (int)HALF_WARP));
    return __shfl_sync(THR_ALL_LANES, sum, 0, (int)HALF_WARP);
}

/* |query - gain x|^2, where x is a row whose values are multiplied by scale. */
__device__ __forceinline__ float square_distance(const thr_refine_op &op, const float *query, size_t row, float scale,
                                                 float gain, uint32_t lane) {
    float sum = 0;
    for (uint32_t d = lane; d < op.n_dims; d += HALF_WARP) {
        const float apart = __fsub_rn(query[d], __fmul_rn(__fmul_rn(value_of(op, row, d), scale), gain));
        sum = __fadd_rn(sum, __fmul_rn(apart, apart));
    }
    return add_lanes(sum);
}

__device__ __forceinline__ float product(const thr_refine_op &op, const float *query, size_t row, uint32_t lane) {
    float sum = 0;
    for (uint32_t d = lane; d < op.n_dims; d += HALF_WARP)
        sum = __fadd_rn(sum, __fmul_rn(query[d], value_of(op, row, d)));
    return add_lanes(sum);
}

/* The score of a row that is kept as float16 or int8, given its product with the query times its scale. */
__device__ __forceinline__ float scaled_score(const thr_refine_op &op, const thr_device_row row, float product) {
    const thr_refine_term term = op.terms[row.query];
    if (op.halves == nullptr)
        return __fadd_rn(product, term.bias);
    const float half = op.halves[row.item];
    return half < 0 ? 0.0f : __fadd_rn(__fmul_rn(__fsub_rn(product, half), term.weight), term.bias);
}

static __global__ void __launch_bounds__(REFINE_THREADS) refine_rows(THR_PARAMETER(thr_refine_op) op) {
    const uint32_t lane = threadIdx.x % HALF_WARP, n_halves = gridDim.x * (REFINE_THREADS / HALF_WARP);
    const uint32_t first = blockIdx.x * (REFINE_THREADS / HALF_WARP) + threadIdx.x / HALF_WARP;
    const bool cosine = op.metric == THR_METRIC_COSINE;
    /* Both halves of a warp must iterate equally often, because they share shuffles. */
    for (uint32_t i = first; i - first % 2 < op.n_scored; i += n_halves) {
        const bool there = i < op.n_scored;
        const thr_device_row row = op.rows[there ? i : op.n_scored - 1];
        const float *query = op.queries + (size_t)row.query * op.n_dims;
        const bool scaled = op.scales != nullptr;
        const float scale = scaled ? op.scales[row.item] : 1.0f;
        const float gain = cosine && !scaled ? op.inverse_norms[row.item] : 1.0f;
        float score;
        if (op.metric == THR_METRIC_L2)
            score = __fsub_rn(0.0f, square_distance(op, query, row.item, scale, 1.0f, lane));
        else
            score = __fmul_rn(__fmul_rn(product(op, query, row.item, lane), scale), gain);
        if (scaled && op.metric != THR_METRIC_L2)
            score = scaled_score(op, row, score);
        if (cosine)
            score = THR_MAX(-1, score);
        const bool near = cosine && score >= op.near_cosine;
        if (__any_sync(THR_ALL_LANES, near)) {
            const float square = square_distance(op, query, row.item, scale, gain, lane);
            score = near ? __fsub_rn(1.0f, __fmul_rn(0.5f, square)) : score;
        }
        if (there && lane == 0)
            op.scores[i] = score;
    }
}

thr_status thr_cuda_refine(thr_stream *stream, const thr_refine_op *op, thr_error *err) {
    const uint32_t n_blocks = loop_blocks(stream, op->n_scored, REFINE_THREADS / HALF_WARP, 8);
    return THR_RUN(refine_rows, n_blocks, REFINE_THREADS, stream, "refining rows", err, *op);
}
