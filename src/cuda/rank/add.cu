/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accumulate dense rows into features: a thread handles a feature of a chunk of queries and adds row by row as kernel
 * add_wide does; a second kernel adds the chunks of a feature. Adjacent threads have adjacent features, and each
 * loads many rows ahead, because there are few threads: chunks times features. Sparse rows: add_sparse.cu.
 */
#include "base/minmax.h"
#include "cuda/backend.cuh"
#include "cuda/rank/add_sparse.cuh"
#include "cuda/rank/query.cuh"

static const uint32_t ADD_THREADS = 64;

static dim3 add_blocks(uint32_t n_chunks, uint32_t n_features) {
    return dim3(n_chunks, THR_CEIL_DIV(n_features, ADD_THREADS));
}

static __global__ void __launch_bounds__(ADD_THREADS) add_rows(const thr_rank_add_op op) {
    const uint32_t chunk = blockIdx.x, d = blockIdx.y * ADD_THREADS + threadIdx.x;
    double sum = 0;
    if (d >= op.x.n_features)
        return;
    for (uint32_t i = op.chunks[chunk]; i < op.chunks[chunk + 1]; i++) {
        const rank_query query = query_of(op.queries, i);
        const float *x = op.x.dense + query.first * op.x.n_features + d;
        const double *r = op.r + query.first;
#pragma unroll 16
        for (uint32_t row = 0; row < query.n; row++)
            sum += r[row] * (double)x[(size_t)row * op.x.n_features];
    }
    op.partial[(size_t)chunk * op.x.n_features + d] = sum;
    if (d == 0 && op.costs != nullptr)
        op.values[chunk] = add_up(op.costs + op.chunks[chunk], op.chunks[chunk + 1] - op.chunks[chunk]);
}

/* A query's contribution to a feature: the sum of counts times squared distances from the mean, if it is above 0. */
static __global__ void __launch_bounds__(ADD_THREADS) add_squares(const thr_rank_diagonal_op op) {
    const uint32_t chunk = blockIdx.x, d = blockIdx.y * ADD_THREADS + threadIdx.x;
    double total = 0;
    if (d >= op.x.n_features)
        return;
    for (uint32_t i = op.chunks[chunk]; i < op.chunks[chunk + 1]; i++) {
        const rank_query query = query_of(op.queries, i);
        const double *counts = op.counts + query.first, all = add_up(counts, query.n);
        double sum = 0, square = 0;
        if (!(all > 0))
            continue;
#pragma unroll 8
        for (uint32_t u = 0; u < query.n; u++) {
            const double x = (double)op.x.dense[(query.first + op.queries.rows[query.first + u]) * op.x.n_features + d];
            const double part = counts[u] * x;
            sum += part;
            square += part * x;
        }
        const double rest = square - sum * sum / all;
        total += rest > 0 ? 2 * op.queries.costs[query.number] * rest : 0;
    }
    op.partial[(size_t)chunk * op.x.n_features + d] = total;
}

/* Add the chunks of a feature by the tree of rank/solver/sum_tree.h, in place, and then to v; NULL: to 1. */
static __global__ void __launch_bounds__(ADD_THREADS)
    add_chunks(const double *v, double *partial, uint32_t n_chunks, uint32_t n_features, double *out) {
    const uint32_t d = blockIdx.x * ADD_THREADS + threadIdx.x;
    if (d >= n_features)
        return;
    for (uint32_t step = 1; step < n_chunks; step *= 2)
#pragma unroll 8
        for (uint32_t c = 0; c < n_chunks - step; c += 2 * step)
            partial[(size_t)c * n_features + d] += partial[(size_t)(c + step) * n_features + d];
    out[d] = (v == nullptr ? 1.0 : v[d]) + partial[d];
}

static thr_status add_up_chunks(thr_stream *stream, const double *v, double *partial, uint32_t n_chunks,
                                uint32_t n_features, double *out, thr_error *err) {
    return THR_RUN(add_chunks, THR_CEIL_DIV(n_features, ADD_THREADS), ADD_THREADS, stream, "adding chunks up", err, v,
                   partial, n_chunks, n_features, out);
}

thr_status thr_cuda_rank_add(thr_stream *stream, const thr_rank_add_op *op, thr_error *err) {
    const uint32_t n_features = op->x.n_features;
    THR_TRY(op->x.dense == nullptr ? thr_cuda_add_sparse_rows(stream, op, err)
                                   : THR_RUN(add_rows, add_blocks(op->n_chunks, n_features), ADD_THREADS, stream,
                                             "adding rows up", err, *op));
    return add_up_chunks(stream, op->v, op->partial, op->n_chunks, n_features, op->out, err);
}

thr_status thr_cuda_rank_diagonal(thr_stream *stream, const thr_rank_diagonal_op *op, thr_error *err) {
    const uint32_t n_features = op->x.n_features;
    THR_TRY(op->x.dense == nullptr ? thr_cuda_add_sparse_squares(stream, op, err)
                                   : THR_RUN(add_squares, add_blocks(op->n_chunks, n_features), ADD_THREADS, stream,
                                             "adding squares up", err, *op));
    return add_up_chunks(stream, nullptr, op->partial, op->n_chunks, n_features, op->out, err);
}
