/* SPDX-License-Identifier: Apache-2.0 */
/* sum_up.cuh - prefix sums over a block of 1024 threads, first within warps and then over warps. */
#pragma once

#include "cuda/portable.cuh"

/*
 * Return the inclusive prefix sum of value over a block; all threads must call it. totals: one word of shared memory
 * a warp.
 */
template <typename Totals> __device__ __forceinline__ uint32_t sum_up(uint32_t value, Totals &totals) {
    const uint32_t lane = threadIdx.x % THR_WARP, warp = threadIdx.x / THR_WARP;
    for (uint32_t step = 1; step < THR_WARP; step *= 2) {
        const uint32_t other = __shfl_up_sync(THR_ALL_LANES, value, step);
        value += lane >= step ? other : 0;
    }
    if (lane == THR_WARP - 1)
        totals[warp] = value;
    __syncthreads();
    uint32_t before = totals[lane];
    for (uint32_t step = 1; step < THR_WARP; step *= 2) {
        const uint32_t other = __shfl_up_sync(THR_ALL_LANES, before, step);
        before += lane >= step ? other : 0;
    }
    before = __shfl_sync(THR_ALL_LANES, before, (int)(warp == 0 ? 0 : warp - 1));
    __syncthreads(); /* totals may be reused */
    return warp == 0 ? value : before + value;
}
