/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compute the loss of a query's active pairs, and what each row contributes to the gradient (equations in
 * rank/solver/problem.h) or to a product with the Hessian.
 */
#include "cuda/backend.cuh"
#include "cuda/rank/sums.cuh"

/* Set b of both sides: sums of weights, or counts. */
__device__ __forceinline__ void set_counts(const thr_rank_costs_op &op, const rank_query &query,
                                           const rank_sums &both) {
    if (op.queries.weights != nullptr) {
        rank_sums sums = both;
        sums.values = op.queries.weights + query.first;
        sum_pairs(op.queries, op.pairs, query, sums);
        return;
    }
    for (uint32_t u = threadIdx.x; u < query.n; u += QUERY_THREADS) {
        both.low[u] = op.pairs.counts[query.first + u].low;
        both.high[u] = op.pairs.counts[query.first + u].high;
    }
    __syncthreads();
}

static __global__ void __launch_bounds__(QUERY_THREADS) cost_pairs(const thr_rank_costs_op op) {
    THR_SHARED(double, slack, 1);
    const rank_query query = query_of(op.queries, blockIdx.x);
    const uint32_t n = query.n, t = threadIdx.x, *rows = op.queries.rows + query.first;
    double *scores = op.scores + query.first, *r = op.r + query.first, *low = op.sums + query.first;
    double *high = low + op.queries.n_rows, *prefixes = high + op.queries.n_rows, *terms = prefixes + op.queries.n_rows;
    const double twice = 2 * op.queries.costs[query.number];
    set_counts(op, query, {nullptr, low, high, prefixes});
    for (uint32_t u = t; u < n; u += QUERY_THREADS) {
        const double s = scores[u], weight = weight_of(op.queries, query, u);
        op.counts[query.first + u] = weight * (low[u] + high[u]);
        r[rows[u]] = (low[u] + high[u]) * s - (low[u] - high[u]);
        terms[u] = weight * (low[u] * (1.0 - s) + high[u] * s);
        if (op.queries.weights != nullptr)
            scores[u] = s * weight;
    }
    __syncthreads();
    sum_pairs(op.queries, op.pairs, query, {scores, low, low, prefixes});
    for (uint32_t u = t; u < n; u += QUERY_THREADS) {
        const double rest = r[rows[u]] - low[u];
        high[u] = rest * scores[u];
        r[rows[u]] = twice * weight_of(op.queries, query, u) * rest;
    }
    if (t == THR_WARP) /* a different warp than that of the sum below, so that both run concurrently */
        slack[0] = add_up(terms, n);
    __syncthreads();
    if (t == 0)
        op.costs[blockIdx.x] = op.queries.costs[query.number] * (add_up(high, n) + slack[0]);
}

static __global__ void __launch_bounds__(QUERY_THREADS) hessian_pairs(const thr_rank_hessian_op op) {
    const rank_query query = query_of(op.queries, blockIdx.x);
    const uint32_t n = query.n, t = threadIdx.x, *rows = op.queries.rows + query.first;
    double *scores = op.scores + query.first, *r = op.r + query.first, *sums = op.sums + query.first;
    double *high = sums + op.queries.n_rows, *prefixes = high + op.queries.n_rows;
    const double twice = 2 * op.queries.costs[query.number];
    for (uint32_t u = t; u < n; u += QUERY_THREADS) {
        high[u] = op.counts[query.first + u] * scores[u];
        if (op.queries.weights != nullptr)
            scores[u] *= weight_of(op.queries, query, u);
    }
    __syncthreads();
    sum_pairs(op.queries, op.pairs, query, {scores, sums, sums, prefixes});
    for (uint32_t u = t; u < n; u += QUERY_THREADS)
        r[rows[u]] = twice * (high[u] - weight_of(op.queries, query, u) * sums[u]);
}

thr_status thr_cuda_rank_costs(thr_stream *stream, const thr_rank_costs_op *op, thr_error *err) {
    return THR_RUN(cost_pairs, op->queries.n_listed, QUERY_THREADS, stream, "finding costs of pairs", err, *op);
}

thr_status thr_cuda_rank_hessian(thr_stream *stream, const thr_rank_hessian_op *op, thr_error *err) {
    return THR_RUN(hessian_pairs, op->queries.n_listed, QUERY_THREADS, stream, "adding over active pairs", err, *op);
}
