/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convert marks to lists of words (WTA-LSH 4.2.3), one block per group: count the marks, mark the most frequent other
 * words until there are k, and list all in ascending order.
 *
 * A thread handles the marks of 32 words; a prefix sum gives the position of its words. The lanes of a warp then
 * write them together, so that writes are contiguous (figure 5).
 */
#include "base/minmax.h"
#include "cuda/backend.cuh"
#include "cuda/sum_up.cuh"

static const uint32_t LIST_THREADS = 1024, LIST_WARPS = LIST_THREADS / THR_WARP;

/* Broadcast the last prefix sum, the total of the block, to all threads. */
template <typename Last> __device__ __forceinline__ uint32_t broadcast_last(uint32_t sum, Last &last) {
    if (threadIdx.x == LIST_THREADS - 1)
        last[0] = sum;
    __syncthreads();
    const uint32_t all = last[0];
    __syncthreads();
    return all;
}

/* Return the marks of 32 words; 0 after the last ones. */
__device__ __forceinline__ uint32_t bits_of(const thr_head_list_op &op, const uint32_t *marks, uint32_t at) {
    return at < op.n_marks ? marks[at] | op.always[at] : 0;
}

/* Return the bits of 32 words that are never answered. */
__device__ __forceinline__ uint32_t never_of(const thr_head_list_op &op, uint32_t at) {
    return op.never != nullptr ? op.never[at] : 0;
}

/* Mark the `missing` most frequent unmarked words that may be answered. A word occurs only once in the order. */
template <typename Totals, typename Last>
__device__ __forceinline__ void fill_up(const thr_head_list_op &op, uint32_t *marks, uint32_t missing, Totals &totals,
                                        Last &last) {
    for (uint32_t from = 0; missing > 0 && from < op.n_words; from += LIST_THREADS) {
        const uint32_t i = from + threadIdx.x;
        const uint32_t word = i >= op.n_words ? 0 : op.order != nullptr ? op.order[i] : i;
        const uint32_t barred = bits_of(op, marks, word / 32) | never_of(op, word / 32);
        const bool bare = i < op.n_words && (barred >> word % 32 & 1) == 0;
        const uint32_t rank = sum_up(bare ? 1u : 0u, totals);
        if (bare && rank <= missing)
            atomicOr(marks + word / 32, 1u << word % 32);
        const uint32_t n = broadcast_last(rank, last);
        missing -= THR_MIN(n, missing);
    }
    __syncthreads();
}

/* Write the words of a warp's marks to out: each lane's words from its position on. */
__device__ __forceinline__ void write_words(uint32_t bits, uint32_t place, uint32_t first_mark, uint32_t *out) {
    const uint32_t lane = threadIdx.x % THR_WARP;
    for (uint32_t i = 0; i < THR_WARP; i++) {
        const uint32_t its_bits = __shfl_sync(THR_ALL_LANES, bits, (int)i);
        const uint32_t its_place = __shfl_sync(THR_ALL_LANES, place, (int)i);
        if ((its_bits >> lane & 1) != 0)
            out[its_place + (uint32_t)__popc(its_bits & ((1u << lane) - 1))] = (first_mark + i) * 32 + lane;
    }
}

static __global__ void __launch_bounds__(LIST_THREADS) list_words(const thr_head_list_op op) {
    THR_SHARED(uint32_t, totals, LIST_WARPS);
    THR_SHARED(uint32_t, last, 1);
    const uint32_t group = blockIdx.x, t = threadIdx.x;
    uint32_t *marks = op.marks + (size_t)group * op.n_marks, *out = op.words + (size_t)group * op.n_words;
    uint32_t own = 0, n = 0;
    for (uint32_t at = t; at < op.n_marks; at += LIST_THREADS)
        own += (uint32_t)__popc(bits_of(op, marks, at) & ~never_of(op, at));
    const uint32_t n_marked = broadcast_last(sum_up(own, totals), last);
    fill_up(op, marks, n_marked < op.k ? op.k - n_marked : 0, totals, last);
    for (uint32_t from = 0; from < op.n_marks; from += LIST_THREADS) {
        const uint32_t bits = bits_of(op, marks, from + t), n_own = (uint32_t)__popc(bits);
        const uint32_t end = sum_up(n_own, totals);
        write_words(bits, n + end - n_own, from + t / THR_WARP * THR_WARP, out);
        n += broadcast_last(end, last);
    }
    if (t == 0)
        op.n_listed[group] = n;
}

thr_status thr_cuda_head_list(thr_stream *stream, const thr_head_list_op *op, thr_error *err) {
    return THR_RUN(list_words, op->n_groups, LIST_THREADS, stream, "listing words", err, *op);
}
