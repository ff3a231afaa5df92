/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Find the active pairs. Rows are stably sorted by score with a merge sort: the position of a row in the merged run
 * is its own index plus the number of rows of the other run before it, found by binary search. The leaves of the tree
 * are sorted this way, starting from runs of one row; then the two parts of each node are merged, from the deepest
 * level up, as rank/solver/pair_tree.c does row by row. Before a merge, each row finds its rank in the other part.
 *
 * With sweep, a query is one leaf without nodes: a stable sort of all queries at once.
 */
#include "base/lower_bound.h"
#include "base/minmax.h"
#include "cuda/backend.cuh"
#include "cuda/rank/query.cuh"

static const double MARGIN = 1.0;

/*
 * Map a score to an integer of the same order, equal for 0 and -0. Defined for NaN, too, so that orders are always
 * complete.
 */
__device__ __forceinline__ uint64_t key_of(double score) {
    const uint64_t bits = (uint64_t)__double_as_longlong(score + 0.0), sign = (uint64_t)1 << 63;
    return (bits & sign) != 0 ? ~bits : bits | sign;
}

/*
 * Count the rows from begin to end - 1 that precede a row with this key; with after_equal, rows of equal key precede
 * it, too.
 */
__device__ __forceinline__ uint32_t n_before(const double *scores, const uint32_t *order, uint32_t begin, uint32_t end,
                                             uint64_t key, bool after_equal) {
    const uint32_t from = begin;
    while (begin < end) {
        const uint32_t middle = begin + (end - begin) / 2;
        const uint64_t other = key_of(scores[order[middle]]);
        if (other < key || (after_equal && other == key))
            begin = middle + 1;
        else
            end = middle;
    }
    return begin - from;
}

/* Return the position of row k after merging begin to middle - 1 with middle to end - 1. */
__device__ __forceinline__ uint32_t merged_place(const double *scores, const uint32_t *order, uint32_t k,
                                                 uint32_t begin, uint32_t middle, uint32_t end) {
    const uint64_t key = key_of(scores[order[k]]);
    return k < middle ? k + n_before(scores, order, middle, end, key, false)
                      : begin + (k - middle) + n_before(scores, order, begin, middle, key, true);
}

/* Count the better rows from begin to end - 1 whose score is less than MARGIN above that of a worse row. */
__device__ __forceinline__ uint32_t n_active(const double *scores, const uint32_t *order, uint32_t begin, uint32_t end,
                                             double score) {
    const uint32_t from = begin;
    while (begin < end) {
        const uint32_t middle = begin + (end - begin) / 2;
        if (scores[order[middle]] - score < MARGIN)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin - from;
}

/* Count the worse rows from begin to end - 1 whose score is at least MARGIN below that of a better row. */
__device__ __forceinline__ uint32_t n_passive(const double *scores, const uint32_t *order, uint32_t begin, uint32_t end,
                                              double score) {
    const uint32_t from = begin;
    while (begin < end) {
        const uint32_t middle = begin + (end - begin) / 2;
        if (score - scores[order[middle]] < MARGIN)
            end = middle;
        else
            begin = middle + 1;
    }
    return begin - from;
}

__device__ __forceinline__ bool is_better(const uint32_t *levels, const double *scores, uint32_t a, uint32_t b) {
    return levels[a] > levels[b] && scores[a] - scores[b] < MARGIN;
}

/* ------------------------------------------------------------------------------------------------ one query */

struct rank_rows {
    const double *scores;
    const uint32_t *levels, *leaves;
    thr_rank_op_counts *counts;
    uint8_t *masks;
};

/* Return where a row's leaf begins and ends. */
__device__ __forceinline__ thr_rank_op_node leaf_of(const thr_rank_pairs &pairs, const rank_rows &rows, uint32_t u,
                                                    uint32_t n) {
    if (pairs.sweep != 0)
        return {0, 0, n};
    const uint32_t leaf = rows.leaves[u];
    return leaf == THR_RANK_OP_NONE ? thr_rank_op_node{u, u, u + 1} : pairs.tree[leaf];
}

/*
 * Return whether all pairs are active: no score is MARGIN above another one. Called by all threads; all get the same
 * result.
 */
template <typename Ends>
__device__ __forceinline__ bool takes_all(const rank_rows &rows, uint32_t n, Ends &least, Ends &most) {
    double low = rows.scores[0], high = low;
    for (uint32_t u = threadIdx.x; u < n; u += QUERY_THREADS) {
        const double score = rows.scores[u];
        low = THR_MIN(score, low);
        high = THR_MAX(score, high);
    }
    for (uint32_t step = THR_WARP / 2; step > 0; step /= 2) {
        const double other_low = __shfl_xor_sync(THR_ALL_LANES, low, (int)step);
        const double other_high = __shfl_xor_sync(THR_ALL_LANES, high, (int)step);
        low = THR_MIN(other_low, low);
        high = THR_MAX(other_high, high);
    }
    if (threadIdx.x % THR_WARP == 0) {
        least[threadIdx.x / THR_WARP] = low;
        most[threadIdx.x / THR_WARP] = high;
    }
    __syncthreads();
    low = least[0];
    high = most[0];
    for (uint32_t i = 1; i < QUERY_THREADS / THR_WARP; i++) {
        const double l = least[i], m = most[i];
        low = THR_MIN(l, low);
        high = THR_MAX(m, high);
    }
    return high - low < MARGIN;
}

/* Mark the pairs of a block, which are stored as bits; other rows get none. */
__device__ __forceinline__ void mark_block(const rank_rows &rows, const thr_rank_op_node &leaf, uint32_t u) {
    thr_rank_op_counts counts = {0, 0};
    uint32_t mask = 0;
    for (uint32_t v = leaf.begin; leaf.middle == leaf.end && v < leaf.end; v++) {
        const bool low = is_better(rows.levels, rows.scores, u, v), high = is_better(rows.levels, rows.scores, v, u);
        mask |= (low || high ? 1u : 0u) << (v - leaf.begin);
        counts.low += low ? 1 : 0;
        counts.high += high ? 1 : 0;
    }
    rows.masks[u] = (uint8_t)mask;
    rows.counts[u] = counts;
}

/* Sort the leaves, alternating between two buffers; return the buffer with the result. */
__device__ __forceinline__ uint32_t *sort_leaves(const thr_rank_pairs &pairs, const rank_rows &rows, uint32_t n,
                                                 uint32_t *from, uint32_t *to) {
    uint32_t longest = 1;
    for (uint32_t u = threadIdx.x; u < n; u += QUERY_THREADS) {
        const thr_rank_op_node leaf = leaf_of(pairs, rows, u, n);
        longest = THR_MAX(leaf.end - leaf.begin, longest);
        from[u] = u;
    }
    for (uint64_t run = 1; __syncthreads_or(longest > run) != 0; run *= 2) {
        for (uint32_t k = threadIdx.x; k < n; k += QUERY_THREADS) {
            const thr_rank_op_node leaf = leaf_of(pairs, rows, k, n);
            const uint64_t begin = leaf.begin + (k - leaf.begin) / (2 * run) * (2 * run);
            const uint32_t middle = (uint32_t)THR_MIN(begin + run, leaf.end);
            const uint32_t end = (uint32_t)THR_MIN(begin + 2 * run, leaf.end);
            to[merged_place(rows.scores, from, k, (uint32_t)begin, middle, end)] = from[k];
        }
        uint32_t *merged = to;
        to = from;
        from = merged;
    }
    return from;
}

/* For the nodes of one depth: write orders and ranks, and merge the two parts into the other buffer. */
__device__ __forceinline__ void merge_parts(const thr_rank_pairs &pairs, const rank_rows &rows, size_t at, uint32_t n,
                                            const uint32_t *from, uint32_t *to) {
    for (uint32_t k = threadIdx.x; k < n; k += QUERY_THREADS) {
        const uint32_t u = from[k], number = pairs.nodes[at + k];
        if (number == THR_RANK_OP_NONE) {
            to[k] = u;
            continue;
        }
        const thr_rank_op_node node = pairs.tree[number];
        const bool worse = k < node.middle;
        const uint32_t rank = worse ? n_active(rows.scores, from, node.middle, node.end, rows.scores[u])
                                    : n_passive(rows.scores, from, node.begin, node.middle, rows.scores[u]);
        pairs.orders[at + k] = u;
        pairs.ranks[at + k] = rank;
        if (worse)
            rows.counts[u].high += rank;
        else
            rows.counts[u].low += node.middle - node.begin - rank;
        to[merged_place(rows.scores, from, k, node.begin, node.middle, node.end)] = u;
    }
}

/* RankSVM's algorithm 2: one thread per row sweeps the order from either end until pairs are no longer active. */
__device__ __forceinline__ void count_by_sweeps(const rank_rows &rows, const uint32_t *order, uint32_t n) {
    for (uint32_t u = threadIdx.x; u < n; u += QUERY_THREADS) {
        const double score = rows.scores[u];
        thr_rank_op_counts counts = {0, 0};
        for (uint32_t k = 0; k < n && rows.scores[order[k]] - score < MARGIN; k++)
            counts.high += rows.levels[order[k]] > rows.levels[u] ? 1 : 0;
        for (uint32_t k = n; k > 0 && score - rows.scores[order[k - 1]] < MARGIN; k--)
            counts.low += rows.levels[order[k - 1]] < rows.levels[u] ? 1 : 0;
        rows.counts[u] = counts;
    }
}

static __global__ void __launch_bounds__(QUERY_THREADS) order_pairs(const thr_rank_order_op op) {
    THR_SHARED(double, least, QUERY_THREADS / THR_WARP);
    THR_SHARED(double, most, QUERY_THREADS / THR_WARP);
    const rank_query query = query_of(op.queries, blockIdx.x);
    const uint32_t n = query.n, t = threadIdx.x;
    const size_t n_rows = op.queries.n_rows;
    const rank_rows rows = {op.scores + query.first, op.pairs.levels + query.first, op.pairs.leaves + query.first,
                            op.pairs.counts + query.first, op.pairs.masks + query.first};
    uint32_t *from = op.spare + query.first, *to = from + n_rows;
    if (op.pairs.sweep == 0) {
        const bool all = takes_all(rows, n, least, most);
        if (t == 0)
            op.pairs.all[query.number] = all ? 1 : 0;
        for (uint32_t u = t; u < n; u += QUERY_THREADS)
            if (all)
                rows.counts[u] = {thr_lower_bound(rows.levels, 0, n, rows.levels[u]),
                                  n - thr_lower_bound(rows.levels, 0, n, rows.levels[u] + 1)};
            else
                mark_block(rows, leaf_of(op.pairs, rows, u, n), u);
        if (all)
            return;
    }
    uint32_t *sorted = sort_leaves(op.pairs, rows, n, from, to);
    if (op.pairs.sweep != 0) {
        for (uint32_t k = t; k < n; k += QUERY_THREADS)
            op.pairs.orders[query.first + k] = sorted[k];
        count_by_sweeps(rows, sorted, n);
        return;
    }
    to = sorted == from ? to : from;
    for (uint32_t depth = op.pairs.n_depths; depth-- > 0;) {
        merge_parts(op.pairs, rows, depth * n_rows + query.first, n, sorted, to);
        __syncthreads();
        uint32_t *merged = to;
        to = sorted;
        sorted = merged;
    }
}

thr_status thr_cuda_rank_order(thr_stream *stream, const thr_rank_order_op *op, thr_error *err) {
    return THR_RUN(order_pairs, op->queries.n_listed, QUERY_THREADS, stream, "ordering rows", err, *op);
}
