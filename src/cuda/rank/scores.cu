/* SPDX-License-Identifier: Apache-2.0 */
/*
 * X v of the listed queries' rows, less the mean of each query. Eight lanes handle a row: lane l sums the dimensions
 * d with d mod 8 = l, in the order of kernel times_wide, so that they read 32 contiguous bytes.
 */
#include "cuda/backend.cuh"
#include "cuda/rank/query.cuh"

static const uint32_t ROW_LANES = 8, ROWS_AT_ONCE = QUERY_THREADS / ROW_LANES;

__device__ __forceinline__ double product_of(const float *x, const double *v, uint32_t n, uint32_t lane) {
    double sum = 0;
#pragma unroll 8
    for (uint32_t d = lane; d < n; d += ROW_LANES)
        sum += (double)x[d] * v[d];
    return sum;
}

static __global__ void __launch_bounds__(QUERY_THREADS) score_rows(const thr_rank_scores_op op) {
    THR_SHARED(double, mean, 1);
    const rank_query query = query_of(op.queries, blockIdx.x);
    const uint32_t t = threadIdx.x, lane = t % ROW_LANES;
    double *by_row = op.by_row + query.first;
    for (uint32_t from = 0; from < query.n; from += ROWS_AT_ONCE) {
        const uint32_t row = from + t / ROW_LANES;
        double sum = 0;
        if (row < query.n)
            sum = product_of(op.x + (query.first + row) * op.n_features, op.v, op.n_features, lane);
        for (uint32_t half = ROW_LANES / 2; half > 0; half /= 2)
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
    if (op->queries.n_listed == 0)
        return THR_OK;
    THR_LAUNCH(score_rows, op->queries.n_listed, QUERY_THREADS, stream->stream, *op);
    return thr_cuda_launched(stream, "scoring rows", err);
}
