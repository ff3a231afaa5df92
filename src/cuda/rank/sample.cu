/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sample's rows, centred and scaled, and the matrix of their products (rank/solver/precondition.h). One thread
 * computes each number of the matrix, adding row by row in float32 as kernel matmul does. Sparse rows are first written
 * out into the panel, whose numbers are then centred and scaled in place.
 */
#include "base/minmax.h"
#include "cuda/backend.cuh"
#include "cuda/rank/query.cuh"

static const uint32_t SAMPLE_THREADS = 64, EDGE = 16; /* EDGE: the part of the matrix that a block computes is EDGE x
                                                         EDGE */

static uint32_t feature_blocks(uint32_t n_features) {
    return THR_CEIL_DIV(n_features, SAMPLE_THREADS);
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

/* The number of row u, in the order of labels, of sampled query i. */
__device__ __forceinline__ uint64_t row_number(const thr_rank_sample_op &op, const rank_query &query, uint64_t u) {
    return query.first + op.queries.rows[query.first + u];
}

__device__ __forceinline__ const float *sampled_row(const thr_rank_sample_op &op, const rank_query &query, uint32_t i,
                                                    uint64_t u) {
    const uint64_t row = op.x.dense == nullptr ? op.starts[i] + u / op.row_step : row_number(op, query, u);
    return (op.x.dense == nullptr ? op.panel : op.x.dense) + row * op.x.n_features;
}

/* Write the entries of a query's sampled rows into the panel, which is 0 elsewhere. */
static __global__ void __launch_bounds__(SAMPLE_THREADS) write_rows_out(const thr_rank_sample_op op) {
    const rank_query query = sampled_query(op, blockIdx.x);
    float *out = op.panel + (size_t)op.starts[blockIdx.x] * op.x.n_features;
    for (uint64_t u = 0; u < query.n; u += op.row_step, out += op.x.n_features) {
        const uint64_t row = row_number(op, query, u);
        for (uint64_t e = op.x.starts[row] + threadIdx.x; e < op.x.starts[row + 1]; e += SAMPLE_THREADS)
            out[op.x.columns[e]] = op.x.values[e];
    }
}

/* The count-weighted mean of a query; 0 if all counts are 0, since its rows then have no weight. */
static __global__ void __launch_bounds__(SAMPLE_THREADS) find_means(const thr_rank_sample_op op) {
    const rank_query query = sampled_query(op, blockIdx.x);
    const uint32_t d = blockIdx.y * SAMPLE_THREADS + threadIdx.x;
    double all = 0, sum = 0;
    if (d >= op.x.n_features)
        return;
#pragma unroll 4
    for (uint64_t u = 0; u < query.n; u += op.row_step) {
        const double count = op.counts[query.first + u];
        all += count;
        sum += count * (double)sampled_row(op, query, blockIdx.x, u)[d];
    }
    op.means[(size_t)blockIdx.x * op.x.n_features + d] = all > 0 ? sum / all : 0;
}

/* The square root of the matrix's diagonal. */
static __global__ void __launch_bounds__(SAMPLE_THREADS) find_scales(const thr_rank_sample_op op) {
    const uint32_t d = blockIdx.x * SAMPLE_THREADS + threadIdx.x;
    double sum = 1;
    if (d >= op.x.n_features)
        return;
    for (uint32_t i = 0; i < op.n_sampled; i++) {
        const rank_query query = sampled_query(op, i);
        const double weight = query_weight(op, query), mean = op.means[(size_t)i * op.x.n_features + d];
#pragma unroll 8
        for (uint64_t u = 0; u < query.n; u += op.row_step) {
            const double x = (double)sampled_row(op, query, i, u)[d] - mean;
            sum += weight * op.counts[query.first + u] * x * x;
        }
    }
    op.scales[d] = sqrt(sum);
}

static __global__ void __launch_bounds__(SAMPLE_THREADS) fill_panel(const thr_rank_sample_op op) {
    const rank_query query = sampled_query(op, blockIdx.x);
    const uint32_t d = blockIdx.y * SAMPLE_THREADS + threadIdx.x;
    if (d >= op.x.n_features)
        return;
    const double weight = query_weight(op, query), mean = op.means[(size_t)blockIdx.x * op.x.n_features + d];
    const double scale = op.scales[d];
    float *out = op.panel + (size_t)op.starts[blockIdx.x] * op.x.n_features + d;
    for (uint64_t u = 0; u < query.n; u += op.row_step, out += op.x.n_features) {
        const double root = sqrt(weight * op.counts[query.first + u]);
        *out = (float)(root * ((double)sampled_row(op, query, blockIdx.x, u)[d] - mean) / scale);
    }
}

/* A block computes EDGE x EDGE numbers of the matrix and reads EDGE rows at a time. */
static __global__ void __launch_bounds__(EDGE *EDGE) multiply_panel(const thr_rank_sample_op op) {
    THR_SHARED(float, left, EDGE *EDGE);
    THR_SHARED(float, right, EDGE *EDGE);
    const uint32_t i = threadIdx.x / EDGE, j = threadIdx.x % EDGE, n = op.x.n_features;
    const uint32_t row = blockIdx.y * EDGE + i, column = blockIdx.x * EDGE + j, other = blockIdx.y * EDGE + j;
    const uint32_t n_rows = op.starts[op.n_sampled];
    float sum = 0;
    for (uint32_t from = 0; from < n_rows; from += EDGE) {
        const uint32_t n_here = THR_MIN(n_rows - from, EDGE);
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

static thr_status write_sparse_rows_out(thr_stream *stream, const thr_rank_sample_op *op, thr_error *err) {
    const size_t size = (size_t)op->n_panel_rows * op->x.n_features * sizeof(float);
    THR_TRY(
        thr_cuda_check(stream->device, cudaMemsetAsync(op->panel, 0, size, stream->stream), "clearing a panel", err));
    return THR_RUN(write_rows_out, op->n_sampled, SAMPLE_THREADS, stream, "writing sparse rows out", err, *op);
}

thr_status thr_cuda_rank_sample(thr_stream *stream, const thr_rank_sample_op *op, thr_error *err) {
    const uint32_t strips = feature_blocks(op->x.n_features), edges = THR_CEIL_DIV(op->x.n_features, EDGE);
    THR_TRY(thr_cuda_use(stream->device, err));
    if (op->x.dense == nullptr && op->n_sampled != 0)
        THR_TRY(write_sparse_rows_out(stream, op, err));
    THR_TRY(THR_RUN(find_means, dim3(op->n_sampled, strips), SAMPLE_THREADS, stream, "finding means", err, *op));
    THR_TRY(THR_RUN(find_scales, strips, SAMPLE_THREADS, stream, "finding scales", err, *op));
    THR_TRY(THR_RUN(fill_panel, dim3(op->n_sampled, strips), SAMPLE_THREADS, stream, "filling a panel", err, *op));
    return THR_RUN(multiply_panel, dim3(edges, edges), EDGE * EDGE, stream, "multiplying a sample's rows", err, *op);
}
