/* SPDX-License-Identifier: Apache-2.0 */
/* keys.cuh - scores and item numbers as one integer whose order is the order of answers (ops.h). */
#ifndef THR_CUDA_KEYS_CUH
#define THR_CUDA_KEYS_CUH

#include "cuda/portable.cuh"

/* Larger for larger scores; the same for 0 and -0; never 0 for a number. */
__device__ __forceinline__ uint32_t order_score(float score) {
    uint32_t bits = __float_as_uint(score);
    if (bits << 1 == 0)
        bits = 0;
    return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

/* The score of an order. */
__device__ __forceinline__ float score_of_order(uint32_t order) {
    return __uint_as_float((order & 0x80000000u) != 0 ? order & 0x7fffffffu : ~order);
}

__device__ __forceinline__ uint64_t make_key(uint32_t order, uint32_t item) {
    return (uint64_t)order << 32 | (uint32_t)~item;
}

#endif
