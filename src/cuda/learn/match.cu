/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loss over in-batch negatives and its gradients (nn/match_loss.h), in three kernels: normalised rows, a row's
 * cosines and softmax, and the gradients, each gathered by its own row.
 *
 * Lanes split dimensions and warps split negatives, so sums are in a different order than on the CPU, but always the
 * same one.
 */
#include "base/minmax.h"
#include "cuda/backend.cuh"
#include "cuda/portable.cuh"
#include "kernel/elementwise.h"

#include <float.h>

static const uint32_t MATCH_THREADS = 256, MATCH_WARPS = MATCH_THREADS / THR_WARP;

/* Layout of the operation's scratch memory. */
struct match_room {
    float *queries, *items; /* normalised to length 1 */
    float *weights; /* gradient of the loss by the cosine of query i and its negative j: [i * n_negatives + j] */
    float *pairs;   /* the same for the matching pairs */
    float *query_scales, *item_scales; /* 1 / |x|, 0 for zero vectors */
};

static match_room lay_out(const thr_match_op *op) {
    const size_t n = op->n_rows, vectors = n * op->n_dims;
    match_room room;
    room.queries = op->scratch;
    room.items = room.queries + vectors;
    room.weights = room.items + vectors;
    room.pairs = room.weights + n * op->n_negatives;
    room.query_scales = room.pairs + n;
    room.item_scales = room.query_scales + n;
    return room;
}

/* Return row modulo n_rows, for row < 2 n_rows. */
__device__ __forceinline__ uint32_t around(uint32_t row, uint32_t n_rows) {
    return row < n_rows ? row : row - n_rows;
}

/* Sum over a warp; all lanes get the result. */
template <typename Number> __device__ __forceinline__ Number sum_lanes(Number x) {
    for (uint32_t step = THR_WARP / 2; step > 0; step /= 2)
        x += __shfl_xor_sync(THR_ALL_LANES, x, (int)step);
    return x;
}

/* Dot product of a and b, by a warp. */
__device__ __forceinline__ float dot(const float *a, const float *b, uint32_t n, uint32_t lane) {
    float sum = 0;
    for (uint32_t d = lane; d < n; d += THR_WARP)
        sum += a[d] * b[d];
    return sum_lanes(sum);
}

/* -------------------------------------------------------------------------------------- rows of length 1 */

/* Normalise with one warp per row: all queries, then all items. Lengths below FLT_MIN count as 0. */
static __global__ void __launch_bounds__(MATCH_THREADS) make_units(const thr_match_op op, const match_room room) {
    const uint32_t lane = threadIdx.x % THR_WARP, row = blockIdx.x * MATCH_WARPS + threadIdx.x / THR_WARP;
    if (row >= 2 * op.n_rows)
        return;
    const bool of_items = row >= op.n_rows;
    const uint32_t i = around(row, op.n_rows);
    const float *x = (of_items ? op.items : op.queries) + (size_t)i * op.n_dims;
    float *unit = (of_items ? room.items : room.queries) + (size_t)i * op.n_dims;
    double square = 0;
    for (uint32_t d = lane; d < op.n_dims; d += THR_WARP)
        square += (double)x[d] * (double)x[d];
    const double length = sqrt(sum_lanes(square));
    const float scale = length < (double)FLT_MIN ? 0.0f : (float)(1.0 / length);
    for (uint32_t d = lane; d < op.n_dims; d += THR_WARP)
        unit[d] = x[d] * scale;
    if (lane == 0)
        (of_items ? room.item_scales : room.query_scales)[i] = scale;
}

/* ---------------------------------------------------------------------------------- cosines and soft-max */

/* Reduce over a block with `combine`, lanes first, then warps in order; all threads get the result. */
template <typename Combine, typename Shared>
__device__ __forceinline__ float over_block(float x, Combine combine, Shared &warps) {
    for (uint32_t step = THR_WARP / 2; step > 0; step /= 2)
        x = combine(x, __shfl_xor_sync(THR_ALL_LANES, x, (int)step));
    __syncthreads(); /* earlier reads of warps are done */
    if (threadIdx.x % THR_WARP == 0)
        warps[threadIdx.x / THR_WARP] = x;
    __syncthreads();
    float all = warps[0];
    for (uint32_t w = 1; w < MATCH_WARPS; w++) {
        const float other = warps[w];
        all = combine(all, other);
    }
    return all;
}

/* One block per query. Cosines are replaced by weights in place; between barriers a thread accesses only its own. */
static __global__ void __launch_bounds__(MATCH_THREADS) weigh_negatives(const thr_match_op op, const match_room room) {
    THR_SHARED(float, warps, MATCH_WARPS);
    const uint32_t i = blockIdx.x, lane = threadIdx.x % THR_WARP, n_dims = op.n_dims;
    const float *query = room.queries + (size_t)i * n_dims;
    float *weights = room.weights + (size_t)i * op.n_negatives;
    for (uint32_t j = threadIdx.x / THR_WARP; j < op.n_negatives; j += MATCH_WARPS) {
        const uint32_t item = around(i + op.shift + j, op.n_rows);
        const float cosine = dot(query, room.items + (size_t)item * n_dims, n_dims, lane);
        if (lane == 0)
            weights[j] = cosine;
    }
    const float pair = dot(query, room.items + (size_t)i * n_dims, n_dims, lane); /* computed by every warp */
    __syncthreads();

    const auto larger = [](float a, float b) { return THR_MAX(b, a); };
    const auto sum = [](float a, float b) { return a + b; };
    float most = pair, others = 0;
    for (uint32_t j = threadIdx.x; j < op.n_negatives; j += MATCH_THREADS)
        most = larger(most, weights[j]);
    most = over_block(most, larger, warps);
    for (uint32_t j = threadIdx.x; j < op.n_negatives; j += MATCH_THREADS) {
        weights[j] = thr_kernel_exp_one(op.gamma * (weights[j] - most));
        others += weights[j];
    }
    others = over_block(others, sum, warps);
    const float all = others + thr_kernel_exp_one(op.gamma * (pair - most));
    const float scale = op.gamma / ((float)op.n_rows * all);
    for (uint32_t j = threadIdx.x; j < op.n_negatives; j += MATCH_THREADS)
        weights[j] *= scale;
    if (threadIdx.x != 0)
        return;
    op.losses[i] = log((double)all) + (double)op.gamma * (double)(most - pair);
    room.pairs[i] = -(others * scale); /* the weights of a row sum to 0 */
}

/* --------------------------------------------------------------------------------------------- gradients */

/*
 * One block per row, of queries if blockIdx.y is 0, else of items. Item k is negative j of query k - shift - j. With u
 * the row's unit vector and G the gradient by it, the gradient by the row is (G - (G u) u) / |x|.
 */
static __global__ void __launch_bounds__(MATCH_THREADS) gather_gradients(const thr_match_op op, const match_room room) {
    THR_SHARED(float, parts, MATCH_THREADS);
    const uint32_t row = blockIdx.x, lane = threadIdx.x % THR_WARP, warp = threadIdx.x / THR_WARP;
    const uint32_t n_dims = op.n_dims, n_negatives = op.n_negatives;
    const bool of_items = blockIdx.y != 0;
    const float *own = (of_items ? room.items : room.queries) + (size_t)row * n_dims;
    const float *others = of_items ? room.queries : room.items;
    float *gradient = (of_items ? op.d_items : op.d_queries) + (size_t)row * n_dims;
    float along = 0; /* this lane's part of G u, in the first warp */
    for (uint32_t from = 0; from < n_dims; from += THR_WARP) {
        const uint32_t d = from + lane;
        const bool there = d < n_dims;
        float sum = 0;
#pragma unroll 4
        for (uint32_t j = warp; j < n_negatives; j += MATCH_WARPS) {
            const uint32_t ahead = op.shift + j,
                           other = around(row + (of_items ? op.n_rows - ahead : ahead), op.n_rows);
            const float weight = room.weights[(size_t)(of_items ? other : row) * n_negatives + j];
            sum += there ? weight * others[(size_t)other * n_dims + d] : 0.0f;
        }
        __syncthreads();
        parts[threadIdx.x] = sum;
        __syncthreads();
        if (warp != 0 || !there)
            continue;
        float g = room.pairs[row] * others[(size_t)row * n_dims + d];
        for (uint32_t w = 0; w < MATCH_WARPS; w++)
            g += parts[w * THR_WARP + lane];
        gradient[d] = g;
        along += g * own[d];
    }
    if (warp != 0)
        return;
    along = sum_lanes(along);
    const float scale = (of_items ? room.item_scales : room.query_scales)[row];
    for (uint32_t d = lane; d < n_dims; d += THR_WARP)
        gradient[d] = (gradient[d] - along * own[d]) * scale;
}

thr_status thr_cuda_match(thr_stream *stream, const thr_match_op *op, thr_error *err) {
    const match_room room = lay_out(op);
    THR_TRY(THR_RUN(make_units, THR_CEIL_DIV(2 * op->n_rows, MATCH_WARPS), MATCH_THREADS, stream, "normalising rows",
                    err, *op, room));
    THR_TRY(THR_RUN(weigh_negatives, op->n_rows, MATCH_THREADS, stream, "weighing negatives", err, *op, room));
    return THR_RUN(gather_gradients, dim3(op->n_rows, 2), MATCH_THREADS, stream, "gathering gradients", err, *op, room);
}
