/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank.cuh - find the key of a given rank with one block, as in a radix select: eleven bits at a time from the first
 * bit in which keys differ, counting in shared memory the keys that share the prefix. One block is limited by memory
 * latency, not bandwidth, so every thread loads several keys before it uses the first.
 */
#pragma once

#include "base/minmax.h"
#include "cuda/portable.cuh"

static const uint32_t RANK_THREADS = 1024, RANK_BITS = 11, RANK_BINS = 1 << RANK_BITS, RANK_WORDS = 4, RANK_AHEAD = 8;

/*
 * Called by one warp. Find the bin that contains the rank-th largest key (from 1) and store it in words[0], and the
 * rank within that bin in words[1]. Every lane handles an equal run of bins.
 */
template <typename Bins, typename Words>
__device__ __forceinline__ void find_bin(Bins &bins, Words &words, uint32_t lane, uint32_t rank) {
    const uint32_t BINS_A_LANE = RANK_BINS / THR_WARP;
    uint32_t own = 0;
    for (uint32_t i = 0; i < BINS_A_LANE; i++)
        own += bins[BINS_A_LANE * lane + i];
    uint32_t above = own; /* in this lane's bins and all larger ones */
    for (uint32_t step = 1; step < THR_WARP; step *= 2) {
        const uint32_t other = __shfl_down_sync(THR_ALL_LANES, above, step);
        above += lane + step < THR_WARP ? other : 0;
    }
    if (above < rank || above - own >= rank)
        return;
    uint32_t bin = BINS_A_LANE * lane + BINS_A_LANE - 1, before = above - own;
    for (; before + bins[bin] < rank; bin--)
        before += bins[bin];
    words[0] = bin;
    words[1] = rank - before;
}

/* Call f(k) for every key k of n, with all threads of a block. */
template <typename Key, typename F> __device__ __forceinline__ void for_each_key(Key key, uint32_t n, F f) {
    for (uint32_t first = threadIdx.x; first < n; first += RANK_AHEAD * RANK_THREADS) {
        uint64_t keys[RANK_AHEAD];
#pragma unroll
        for (uint32_t i = 0; i < RANK_AHEAD; i++)
            keys[i] = first + i * RANK_THREADS < n ? key(first + i * RANK_THREADS) : 0;
#pragma unroll
        for (uint32_t i = 0; i < RANK_AHEAD; i++)
            if (first + i * RANK_THREADS < n)
                f(keys[i]);
    }
}

/*
 * Return the rank-th largest (from 1) of n keys key(i) to all threads of a block of RANK_THREADS. bins has RANK_BINS
 * entries and words RANK_WORDS in shared memory, which must not be used otherwise meanwhile. 1 <= rank <= n.
 */
template <typename Key, typename Bins, typename Words>
__device__ uint64_t key_of_rank(Key key, uint32_t n, uint32_t rank, Bins &bins, Words &words) {
    const uint64_t first = key(0);
    uint64_t differ = 0;
    if (threadIdx.x < RANK_WORDS)
        words[threadIdx.x] = 0;
    __syncthreads();
    for_each_key(key, n, [&differ, first](uint64_t k) { differ |= k ^ first; });
    for (uint32_t step = THR_WARP / 2; step > 0; step /= 2)
        differ |= __shfl_xor_sync(THR_ALL_LANES, (unsigned long long)differ, (int)step);
    if (threadIdx.x % THR_WARP == 0) {
        atomicOr(&words[2], (uint32_t)differ);
        atomicOr(&words[3], (uint32_t)(differ >> 32));
    }
    __syncthreads();
    differ = (uint64_t)words[3] << 32 | words[2];
    uint32_t left = differ == 0 ? 0 : 64 - (uint32_t)__clzll((long long)differ);
    uint64_t found = left == 64 ? 0 : first >> left; /* the bits above the last `left` ones */
    while (left > 0) {
        const uint32_t digit = THR_MIN(left, RANK_BITS);
        __syncthreads();
        for (uint32_t bin = threadIdx.x; bin < RANK_BINS; bin += RANK_THREADS)
            bins[bin] = 0;
        __syncthreads();
        for_each_key(key, n, [&bins, left, digit, found](uint64_t k) {
            if (left == 64 || k >> left == found)
                atomicAdd(&bins[(uint32_t)(k >> (left - digit)) & ((1u << digit) - 1)], 1u);
        });
        __syncthreads();
        if (threadIdx.x < THR_WARP)
            find_bin(bins, words, threadIdx.x, rank);
        __syncthreads();
        found = found << digit | words[0];
        rank = words[1];
        left -= digit;
    }
    return found;
}
