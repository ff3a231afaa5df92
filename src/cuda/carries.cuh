/* SPDX-License-Identifier: Apache-2.0 */
/*
 * carries.cuh - weighted sums of popcounts with fewer popcounts, by full adders on words (Harley-Seal).
 *
 * A multiprocessor does 16 popcounts of words per cycle, but 64 LOP3, arbitrary functions of three words. A full adder
 * replaces three words of one weight by two: the sum a ^ b ^ c of the same weight, and the carry, their majority, of
 * twice the weight. The total count is unchanged, so two LOP3 save a popcount and an addition. All pairs of planes
 * whose positions have the same sum have the same weight.
 *
 * The inputs are XORs of an item's words with a query's. They cost an adder one more LOP3, not two: with half = s ^ a
 * and the new sum half ^ b, the carry is b (the inverse of the new sum) where half is 1, and s elsewhere, so neither
 * XOR must be computed on its own.
 */
#pragma once

#include "cuda/portable.cuh"

/* Bitwise function of three words: where their bits are i, j, k, the result is bit 4 i + 2 j + k of TABLE. */
template <uint32_t TABLE> __device__ __forceinline__ uint32_t lop3(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t found;
#ifdef __CUDACC__
    asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(found) : "r"(a), "r"(b), "r"(c), "n"(TABLE));
#else
    found = 0;
    for (uint32_t at = 0; at < 8; at++)
        if ((TABLE >> at & 1) != 0)
            found |= ((at & 4) != 0 ? a : ~a) & ((at & 2) != 0 ? b : ~b) & ((at & 1) != 0 ? c : ~c);
#endif
    return found;
}

enum { LOP3_SUM = 0x96, LOP3_MAJORITY = 0xe8, LOP3_FIRST_NOT_SECOND_ELSE_THIRD = 0x3a };

/* Add words a and b to a sum; return the carry. */
__device__ __forceinline__ uint32_t add_words(uint32_t &sum, uint32_t a, uint32_t b) {
    const uint32_t carry = lop3<LOP3_MAJORITY>(sum, a, b);
    sum = lop3<LOP3_SUM>(sum, a, b);
    return carry;
}

/* The same for xa ^ qa and xb ^ qb. */
__device__ __forceinline__ uint32_t add_pairs(uint32_t &sum, uint32_t xa, uint32_t qa, uint32_t xb, uint32_t qb) {
    const uint32_t half = lop3<LOP3_SUM>(sum, xa, qa), all = lop3<LOP3_SUM>(half, xb, qb);
    const uint32_t carry = lop3<LOP3_FIRST_NOT_SECOND_ELSE_THIRD>(half, all, sum);
    sum = all;
    return carry;
}

/*
 * Return the sum over words w, places a of planes and places b of bits with a + b >= WEIGHT of 2^(a + b - WEIGHT)
 * popc(x[w][PLANES - 1 - a] ^ q[w][BITS - 1 - b]), plus the popcounts of CARRIED words of WEIGHT.
 */
template <uint32_t WEIGHT, uint32_t CARRIED, uint32_t WORDS, uint32_t STEP, uint32_t PLANES, uint32_t BITS>
__device__ __forceinline__ uint32_t count_from(const uint32_t (&x)[STEP][PLANES], const uint32_t (&q)[WORDS][BITS],
                                               const uint32_t (&carried)[CARRIED + 1]) {
    constexpr uint32_t FIRST = WEIGHT < BITS ? 0 : WEIGHT - BITS + 1, END = WEIGHT < PLANES ? WEIGHT + 1 : PLANES;
    constexpr uint32_t PAIRS = FIRST < END ? (END - FIRST) * WORDS : 0, N = PAIRS + CARRIED;
    if constexpr (N == 0) {
        return 0;
    } else {
        constexpr uint32_t ADDERS = (N - 1) / 2;       /* they leave one or two words */
        uint32_t own[N], with[N], carries[ADDERS + 1]; /* the inputs are own ^ with */
#pragma unroll
        for (uint32_t k = 0; k != CARRIED; k++) {
            own[k] = carried[k];
            with[k] = 0;
        }
#pragma unroll
        for (uint32_t k = 0; k != PAIRS; k++) {
            const uint32_t w = k % WORDS, place = FIRST + k / WORDS;
            own[CARRIED + k] = x[w][PLANES - 1 - place];
            with[CARRIED + k] = q[w][BITS - 1 - (WEIGHT - place)];
        }
        uint32_t sum = own[0] ^ with[0];
#pragma unroll
        for (uint32_t k = 1; k + 1 < N; k += 2)
            carries[k / 2] = k + 2 <= CARRIED ? add_words(sum, own[k], own[k + 1])
                                              : add_pairs(sum, own[k], with[k], own[k + 1], with[k + 1]);
        uint32_t count = (uint32_t)__popc(sum);
        if (N % 2 == 0)
            count += (uint32_t)__popc(own[N - 1] ^ with[N - 1]);
        return count + 2 * count_from<WEIGHT + 1, ADDERS>(x, q, carries);
    }
}

/* Return the whole sum over the first WORDS words of every plane. */
template <uint32_t WORDS, uint32_t STEP, uint32_t PLANES, uint32_t BITS>
__device__ __forceinline__ uint32_t count_weighted(const uint32_t (&x)[STEP][PLANES],
                                                   const uint32_t (&q)[WORDS][BITS]) {
    const uint32_t none[1] = {0};
    return count_from<0, 0>(x, q, none);
}
