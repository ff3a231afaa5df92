/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accumulate sparse rows into features. The entries of a feature in a chunk of queries are adjacent, in the order of
 * rows: eight lanes add them to the feature's sum (sparse.cuh), in the order of thr_rank_rows_add. A feature's entries
 * in rows that are not listed have an r of 0, which keeps the bits of a sum.
 */
#include "cuda/rank/add_sparse.cuh"

#include "base/minmax.h"
#include "cuda/rank/query.cuh"
#include "cuda/rank/sparse.cuh"

static const uint32_t SPARSE_THREADS = 128, SUMS_AT_ONCE = SPARSE_THREADS / ENTRY_LANES;

/* Every chunk's features in one row of blocks; a grid has no room for more blocks than MOST_BLOCKS, so they stride. */
static const uint64_t MOST_BLOCKS = 1u << 20;

static uint32_t blocks_of(uint64_t n, uint32_t at_once) {
    const uint64_t blocks = THR_CEIL_DIV(n, at_once);
    return (uint32_t)THR_MIN(blocks, MOST_BLOCKS);
}

static __global__ void __launch_bounds__(SPARSE_THREADS) add_entries_up(const thr_rank_add_op op) {
    const uint64_t n_sums = (uint64_t)op.n_chunks * op.x.n_features, step = (uint64_t)gridDim.x * SUMS_AT_ONCE;
    for (uint64_t i = (uint64_t)blockIdx.x * SUMS_AT_ONCE + threadIdx.x / ENTRY_LANES; i < n_sums; i += step) {
        const double sum = add_entries(op.x.feature_starts[i], op.x.feature_starts[i + 1], [&op](uint64_t e) {
            return op.r[op.x.feature_rows[e]] * (double)op.x.feature_values[e];
        });
        if (threadIdx.x % ENTRY_LANES == 0)
            op.partial[i] = sum;
    }
}

static __global__ void __launch_bounds__(SPARSE_THREADS) add_costs_up(const thr_rank_add_op op) {
    const uint32_t chunk = blockIdx.x * SPARSE_THREADS + threadIdx.x;
    if (chunk < op.n_chunks)
        op.values[chunk] = add_up(op.costs + op.chunks[chunk], op.chunks[chunk + 1] - op.chunks[chunk]);
}

/* The counts of a listed query in the order of rows to sums, and their sum to sums + n_rows, by query. */
static __global__ void __launch_bounds__(QUERY_THREADS) place_counts(const thr_rank_diagonal_op op) {
    const rank_query query = query_of(op.queries, blockIdx.x);
    const double *counts = op.counts + query.first;
    for (uint32_t u = threadIdx.x; u < query.n; u += QUERY_THREADS)
        op.sums[query.first + op.queries.rows[query.first + u]] = counts[u];
    if (threadIdx.x == 0)
        op.sums[op.queries.n_rows + query.number] = add_up(counts, query.n);
}

/* The place in the list of the last query of a chunk that begins at row or before; the chunk's end: there is none. */
__device__ __forceinline__ uint32_t listed_query(const thr_rank_diagonal_op &op, uint32_t chunk, uint64_t row) {
    const uint32_t first = op.chunks[chunk], last = op.chunks[chunk + 1];
    uint32_t begin = first, end = last;
    while (begin < end) {
        const uint32_t middle = begin + (end - begin) / 2;
        if (op.queries.offsets[op.queries.listed[middle]] <= row)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin == first ? last : begin - 1;
}

/* As add_squares of add.cu: a query's contribution is the sum of counts times squared distances, if above 0. */
static __global__ void __launch_bounds__(SPARSE_THREADS) add_sparse_squares(const thr_rank_diagonal_op op) {
    const uint64_t n_sums = (uint64_t)op.n_chunks * op.x.n_features, step = (uint64_t)gridDim.x * SPARSE_THREADS;
    for (uint64_t i = (uint64_t)blockIdx.x * SPARSE_THREADS + threadIdx.x; i < n_sums; i += step) {
        const uint32_t chunk = (uint32_t)(i / op.x.n_features);
        const uint64_t end = op.x.feature_starts[i + 1];
        double total = 0;
        for (uint64_t e = op.x.feature_starts[i]; e < end;) {
            const uint32_t place = listed_query(op, chunk, op.x.feature_rows[e]);
            const uint32_t number = place < op.chunks[chunk + 1] ? op.queries.listed[place] : 0;
            if (place == op.chunks[chunk + 1] || op.x.feature_rows[e] >= op.queries.offsets[number + 1]) {
                e++; /* of a query that is not listed */
                continue;
            }
            const double all = op.sums[op.queries.n_rows + number];
            const uint64_t after = op.queries.offsets[number + 1];
            double sum = 0, square = 0;
            for (; e < end && op.x.feature_rows[e] < after; e++) {
                const double x = (double)op.x.feature_values[e], part = op.sums[op.x.feature_rows[e]] * x;
                sum += part;
                square += part * x;
            }
            const double rest = square - sum * sum / all;
            total += all > 0 && rest > 0 ? 2 * op.queries.costs[number] * rest : 0;
        }
        op.partial[i] = total;
    }
}

thr_status thr_cuda_add_sparse_rows(thr_stream *stream, const thr_rank_add_op *op, thr_error *err) {
    const uint64_t n_sums = (uint64_t)op->n_chunks * op->x.n_features;
    THR_TRY(THR_RUN(add_entries_up, blocks_of(n_sums, SUMS_AT_ONCE), SPARSE_THREADS, stream, "adding entries up", err,
                    *op));
    return THR_RUN(add_costs_up, blocks_of(op->costs != nullptr ? op->n_chunks : 0, SPARSE_THREADS), SPARSE_THREADS,
                   stream, "adding costs up", err, *op);
}

thr_status thr_cuda_add_sparse_squares(thr_stream *stream, const thr_rank_diagonal_op *op, thr_error *err) {
    const uint64_t n_sums = (uint64_t)op->n_chunks * op->x.n_features;
    THR_TRY(THR_RUN(place_counts, op->queries.n_listed, QUERY_THREADS, stream, "placing counts", err, *op));
    return THR_RUN(add_sparse_squares, blocks_of(n_sums, SPARSE_THREADS), SPARSE_THREADS, stream, "adding squares up",
                   err, *op);
}
