/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sample's rows, centred and scaled, and the matrix of their products (rank/solver/precondition.h). One thread
 * computes each number of the matrix, adding row by row in float32 as kernel matmul does.
 */
#include "cuda/backend.cuh"
#include "cuda/rank/query.cuh"

static const uint32_t SAMPLE_THREADS = 64, EDGE = 16; /* EDGE: the part of the matrix that a block computes is EDGE x
                                                         EDGE */

static uint32_t feature_blocks(uint32_t n_features) {
    return (n_features + SAMPLE_THREADS - 1) / SAMPLE_THREADS;
}

/* Return the weight of the rows of a sampled query, without their counts. */
__device__ __forceinline__ double query_weight(const thr_rank_sample_op &op, const rank_query &query) {
    return 2 * op.share * op.queries.costs[query.number];
}

__device__ __forceinline__ rank_query sampled_query(const thr_rank_sample_op &op, uint32_t i) {
    const uint32_t number = op.sampled[i];
    const uint64_t first = op.queries.offsets[number];
    return {first, (uint32_t)(op.queries.offsets[number + 1] - first), number};
}

__device__ __forceinline__ const float *sampled_row(const thr_rank_sample_op &op, const rank_query &query, uint64_t u) {
    return op.x + (query.first + op.queries.rows[query.first + u]) * op.n_features;
}

/* The count-weighted mean of a query; 0 if all counts are 0, since its rows then have no weight. */
static __global__ void __launch_bounds__(SAMPLE_THREADS) find_means(const thr_rank_sample_op op) {
    const rank_query query = sampled_query(op, blockIdx.x);
    const uint32_t d = blockIdx.y * SAMPLE_THREADS + threadIdx.x;
    double all = 0, sum = 0;
    if (d >= op.n_features)
        return;
#pragma unroll 4
    for (uint64_t u = 0; u < query.n; u += op.row_step) {
        const double count = op.counts[query.first + u];
        all += count;
        sum += count * (double)sampled_row(op, query, u)[d];
    }
    op.means[(size_t)blockIdx.x * op.n_features + d] = all > 0 ? sum / all : 0;
}

/* The square root of the matrix's diagonal. */
static __global__ void __launch_bounds__(SAMPLE_THREADS) find_scales(const thr_rank_sample_op op) {
    const uint32_t d = blockIdx.x * SAMPLE_THREADS + threadIdx.x;
    double sum = 1;
    if (d >= op.n_features)
        return;
    for (uint32_t i = 0; i < op.n_sampled; i++) {
        const rank_query query = sampled_query(op, i);
        const double weight = query_weight(op, query), mean = op.means[(size_t)i * op.n_features + d];
#pragma unroll 8
        for (uint64_t u = 0; u < query.n; u += op.row_step) {
            const double x = (double)sampled_row(op, query, u)[d] - mean;
            sum += weight * op.counts[query.first + u] * x * x;
        }
    }
    op.scales[d] = sqrt(sum);
}

static __global__ void __launch_bounds__(SAMPLE_THREADS) fill_panel(const thr_rank_sample_op op) {
    const rank_query query = sampled_query(op, blockIdx.x);
    const uint32_t d = blockIdx.y * SAMPLE_THREADS + threadIdx.x;
    if (d >= op.n_features)
        return;
    const double weight = query_weight(op, query), mean = op.means[(size_t)blockIdx.x * op.n_features + d];
    const double scale = op.scales[d];
    float *out = op.panel + (size_t)op.starts[blockIdx.x] * op.n_features + d;
    for (uint64_t u = 0; u < query.n; u += op.row_step, out += op.n_features) {
        const double root = sqrt(weight * op.counts[query.first + u]);
        *out = (float)(root * ((double)sampled_row(op, query, u)[d] - mean) / scale);
    }
}

/* A block computes EDGE x EDGE numbers of the matrix and reads EDGE rows at a time. */
static __global__ void __launch_bounds__(EDGE *EDGE) multiply_panel(const thr_rank_sample_op op) {
    THR_SHARED(float, left, EDGE *EDGE);
    THR_SHARED(float, right, EDGE *EDGE);
    const uint32_t i = threadIdx.x / EDGE, j = threadIdx.x % EDGE, n = op.n_features;
    const uint32_t row = blockIdx.y * EDGE + i, column = blockIdx.x * EDGE + j, other = blockIdx.y * EDGE + j;
    const uint32_t n_rows = op.starts[op.n_sampled];
    float sum = 0;
    for (uint32_t from = 0; from < n_rows; from += EDGE) {
        const uint32_t n_here = n_rows - from < EDGE ? n_rows - from : EDGE;
        const float *x = op.panel + (size_t)(from + i) * n;
        left[threadIdx.x] = i < n_here && other < n ? x[other] : 0.0f;
        right[threadIdx.x] = i < n_here && column < n ? x[column] : 0.0f;
        __syncthreads();
#pragma unroll 16
        for (uint32_t k = 0; k < n_here; k++) {
            const float a = left[k * EDGE + i], b = right[k * EDGE + j];
            sum += a * b;
        }
        __syncthreads();
    }
    if (row < n && column < n)
        op.matrix[(size_t)row * n + column] = sum;
}

thr_status thr_cuda_rank_sample(thr_stream *stream, const thr_rank_sample_op *op, thr_error *err) {
    const uint32_t strips = feature_blocks(op->n_features), edges = (op->n_features + EDGE - 1) / EDGE;
    THR_TRY(thr_cuda_use(stream->device, err));
    if (op->n_sampled != 0)
        THR_LAUNCH(find_means, dim3(op->n_sampled, strips), SAMPLE_THREADS, stream->stream, *op);
    THR_LAUNCH(find_scales, strips, SAMPLE_THREADS, stream->stream, *op);
    if (op->n_sampled != 0)
        THR_LAUNCH(fill_panel, dim3(op->n_sampled, strips), SAMPLE_THREADS, stream->stream, *op);
    THR_LAUNCH(multiply_panel, dim3(edges, edges), EDGE * EDGE, stream->stream, *op);
    return thr_cuda_launched(stream, "multiplying a sample's rows", err);
}
