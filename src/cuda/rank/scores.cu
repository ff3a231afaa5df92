/* SPDX-License-Identifier: Apache-2.0 */
/*
 * X v of the listed queries' rows, less the mean of each query. Eight lanes handle a row. Dense: lane l sums the
 * dimensions d with d mod 8 = l, in the order of kernel times_wide, so that they read 32 contiguous bytes. Sparse: the
 * entries are added one by one (sparse.cuh).
 */
#include "cuda/backend.cuh"
#include "cuda/rank/query.cuh"
#include "cuda/rank/sparse.cuh"

static const uint32_t ROWS_AT_ONCE = QUERY_THREADS / ENTRY_LANES;

__device__ __forceinline__ double dense_product(const float *x, const double *v, uint32_t n, uint32_t lane) {
    double sum = 0;
#pragma unroll 8
    for (uint32_t d = lane; d < n; d += ENTRY_LANES)
        sum += (double)x[d] * v[d];
    return sum;
}

__device__ __forceinline__ double sparse_product(const thr_rank_matrix &x, const double *v, uint64_t row) {
    return add_entries(x.starts[row], x.starts[row + 1],
                       [&x, v](uint64_t e) { return (double)x.values[e] * v[x.columns[e]]; });
}

static __global__ void __launch_bounds__(QUERY_THREADS) score_rows(const thr_rank_scores_op op) {
    THR_SHARED(double, mean, 1);
    const rank_query query = query_of(op.queries, blockIdx.x);
    const uint32_t t = threadIdx.x, lane = t % ENTRY_LANES, n_features = op.x.n_features;
    double *by_row = op.by_row + query.first;
    for (uint32_t from = 0; from < query.n; from += ROWS_AT_ONCE) {
        const uint32_t row = from + t / ENTRY_LANES;
        double sum = 0;
        if (row < query.n)
            sum = op.x.dense == nullptr
                      ? sparse_product(op.x, op.v, query.first + row)
                      : dense_product(op.x.dense + (query.first + row) * n_features, op.v, n_features, lane);
        for (uint32_t half = op.x.dense == nullptr ? 0 : ENTRY_LANES / 2; half > 0; half /= 2)
            sum += __shfl_xor_sync(THR_ALL_LANES, sum, (int)half);
        if (row < query.n && lane == 0)
            by_row[row] = sum;
    }
    __syncthreads();
    if (t == 0)
        mean[0] = add_up(by_row, query.n) / query.n;
    __syncthreads();
    const double middle = mean[0];
    for (uint32_t u = t; u < query.n; u += QUERY_THREADS)
        op.scores[query.first + u] = by_row[op.queries.rows[query.first + u]] - middle;
}

thr_status thr_cuda_rank_scores(thr_stream *stream, const thr_rank_scores_op *op, thr_error *err) {
    THR_TRY(thr_cuda_use(stream->device, err));
    if (op->v == nullptr)
        return thr_cuda_check(stream->device,
                              cudaMemsetAsync(op->scores, 0, op->queries.n_rows * sizeof(double), stream->stream),
                              "clearing scores", err);
    return THR_RUN(score_rows, op->queries.n_listed, QUERY_THREADS, stream, "scoring rows", err, *op);
}
