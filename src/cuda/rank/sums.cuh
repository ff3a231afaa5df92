/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sums.cuh - sums over active pairs for each row of a query, by trees (rank/solver/pair_tree.h) and by sweeps over the
 * order of scores (rank/solver/pair_sweep.h, RankSVM's algorithm 2), in their orders.
 */
#pragma once

#include "cuda/rank/query.cuh"

/* Sums of a query. If low and high are the same array, it gets the sums of both. prefixes is scratch memory. */
struct rank_sums {
    const double *values;
    double *low, *high, *prefixes;
};

__device__ __forceinline__ double sum_before(const double *prefixes, uint32_t begin, uint32_t end) {
    return begin == end ? 0.0 : prefixes[end - 1];
}

/* By one thread: prefixes[k] = the sum of the rows from begin to k in the order. */
__device__ __forceinline__ void add_part(const rank_sums &sums, const uint32_t *__restrict__ order, uint32_t begin,
                                         uint32_t end) {
    const double *__restrict__ values = sums.values;
    double *__restrict__ prefixes = sums.prefixes;
    double sum = 0;
#pragma unroll 8
    for (uint32_t k = begin; k < end; k++) {
        sum += values[order[k]];
        prefixes[k] = sum;
    }
}

/* If every pair is active: sums by level. */
__device__ __forceinline__ void sum_levels(const rank_sums &sums, const uint32_t *levels, uint32_t n) {
    if (threadIdx.x == 0) {
        const double *__restrict__ values = sums.values;
        double *__restrict__ prefixes = sums.prefixes;
        double sum = 0;
#pragma unroll 8
        for (uint32_t u = 0; u < n; u++) {
            sum += values[u];
            prefixes[u] = sum;
        }
    }
    __syncthreads();
    for (uint32_t u = threadIdx.x; u < n; u += QUERY_THREADS) {
        uint32_t from = u, to = u + 1;
        for (uint32_t begin = 0; begin < from;) {
            const uint32_t middle = begin + (from - begin) / 2;
            if (levels[middle] < levels[u])
                begin = middle + 1;
            else
                from = middle;
        }
        for (uint32_t end = n; to < end;) {
            const uint32_t middle = to + (end - to) / 2;
            if (levels[middle] > levels[u])
                end = middle;
            else
                to = middle + 1;
        }
        sums.low[u] += sum_before(sums.prefixes, 0, from);
        sums.high[u] += sums.prefixes[n - 1] - sums.prefixes[to - 1];
    }
}

/*
 * The nodes of a depth, starting at `at`: one thread computes the prefix sums of each part, then every row picks its
 * sums.
 */
__device__ __forceinline__ void sum_nodes(const thr_rank_pairs &pairs, const rank_sums &sums, size_t at, uint32_t n) {
    const uint32_t *nodes = pairs.nodes + at, *order = pairs.orders + at, *ranks = pairs.ranks + at;
    for (uint32_t k = threadIdx.x; k < n; k += QUERY_THREADS) {
        if (nodes[k] == THR_RANK_OP_NONE)
            continue;
        const thr_rank_op_node node = pairs.tree[nodes[k]];
        if (k == node.begin)
            add_part(sums, order, node.begin, node.middle);
        else if (k == node.middle)
            add_part(sums, order, node.middle, node.end);
    }
    __syncthreads();
    for (uint32_t k = threadIdx.x; k < n; k += QUERY_THREADS) {
        if (nodes[k] == THR_RANK_OP_NONE)
            continue;
        const thr_rank_op_node node = pairs.tree[nodes[k]];
        if (k < node.middle)
            sums.high[order[k]] += sum_before(sums.prefixes, node.middle, node.middle + ranks[k]);
        else
            sums.low[order[k]] +=
                sums.prefixes[node.middle - 1] - sum_before(sums.prefixes, node.begin, node.begin + ranks[k]);
    }
}

/* A row's sums over the bits of its block. */
__device__ __forceinline__ void sum_block(const rank_sums &sums, const uint8_t *masks, const thr_rank_op_node &block,
                                          uint32_t u) {
    const bool apart = sums.low != sums.high;
    double low = 0, high = 0;
    for (uint32_t v = block.begin; v < block.end; v++) {
        if ((masks[v] >> (u - block.begin) & 1) == 0)
            continue;
        if (apart && v < u)
            low += sums.values[v];
        else
            high += sums.values[v];
    }
    sums.high[u] += high;
    sums.low[u] += low;
}

/* Sum over better rows from the lowest score up, and over worse ones from the highest down. */
__device__ __forceinline__ void sweep_row(const rank_sums &sums, const uint32_t *levels, const uint32_t *order,
                                          uint32_t n, const thr_rank_op_counts &counts, uint32_t u) {
    double low = 0, high = 0;
    for (uint32_t k = 0, left = counts.high; left > 0 && k < n; k++)
        if (levels[order[k]] > levels[u]) {
            high += sums.values[order[k]];
            left--;
        }
    for (uint32_t k = n, left = counts.low; left > 0 && k > 0; k--)
        if (levels[order[k - 1]] < levels[u]) {
            low += sums.values[order[k - 1]];
            left--;
        }
    sums.high[u] += high;
    sums.low[u] += low;
}

/* Called by all threads of a block after a barrier that follows the writes of values; ends with another barrier. */
__device__ __forceinline__ void sum_pairs(const thr_rank_queries &queries, const thr_rank_pairs &pairs,
                                          const rank_query &query, const rank_sums &sums) {
    const uint32_t n = query.n, *levels = pairs.levels + query.first, *leaves = pairs.leaves + query.first;
    for (uint32_t u = threadIdx.x; u < n; u += QUERY_THREADS)
        sums.low[u] = sums.high[u] = 0;
    if (pairs.sweep != 0) {
        for (uint32_t u = threadIdx.x; u < n; u += QUERY_THREADS)
            sweep_row(sums, levels, pairs.orders + query.first, n, pairs.counts[query.first + u], u);
    } else if (pairs.all[query.number] != 0) {
        sum_levels(sums, levels, n);
    } else {
        for (uint32_t depth = 0; depth < pairs.n_depths; depth++) {
            sum_nodes(pairs, sums, depth * queries.n_rows + query.first, n);
            __syncthreads();
        }
        for (uint32_t u = threadIdx.x; u < n; u += QUERY_THREADS) {
            const thr_rank_op_node leaf =
                leaves[u] == THR_RANK_OP_NONE ? thr_rank_op_node{0, 0, 1} : pairs.tree[leaves[u]];
            if (leaf.middle == leaf.end)
                sum_block(sums, pairs.masks + query.first, leaf, u);
        }
    }
    __syncthreads();
}
