/* SPDX-License-Identifier: Apache-2.0 */
/*
 * avx2_words.h - widen sums of bytes to 16-bit words and then to distances, for kernels over byte rows.
 *
 * Sums of even and odd items are 16-bit words: `both` adds whole words, `odd` their high bytes; even = both - 256
 * odd.
 */
#pragma once

#include <immintrin.h>

#include "base/minmax.h"
#include "kernel/read_ahead.h"
#include "kernel/level_codes.h"

#define INLINE static inline __attribute__((always_inline))

enum {
    ITEMS = 64,
    HALF = 32,
    PLANES_A_ROUND = 4,
    ROWS_OF_ONE_PLANE = 546 /* 546 rows * 120 fit 16 bits */
};

typedef struct word_sums {
    __m256i both, odd;
} word_sums;

INLINE word_sums no_words(void) {
    return (word_sums){_mm256_setzero_si256(), _mm256_setzero_si256()};
}

INLINE __m256i load(const uint8_t *at) {
    return _mm256_loadu_si256((const __m256i *)(const void *)at);
}

INLINE void add_bytes(word_sums *sum, __m256i bytes) {
    sum->both = _mm256_add_epi16(sum->both, bytes);
    sum->odd = _mm256_add_epi16(sum->odd, _mm256_srli_epi16(bytes, 8));
}

INLINE void double_words(word_sums *sum) {
    sum->both = _mm256_add_epi16(sum->both, sum->both);
    sum->odd = _mm256_add_epi16(sum->odd, sum->odd);
}

/* How many rows of n planes can be summed in words: a plane's sums are doubled for each plane after it. */
INLINE uint32_t rows_a_round(uint32_t n_planes) {
    return ROWS_OF_ONE_PLANE / ((1u << n_planes) - 1);
}

INLINE uint32_t at_most(uint32_t n, uint32_t most) {
    return THR_MIN(n, most);
}

INLINE __m256i low_nibbles(__m256i x) {
    return _mm256_and_si256(x, _mm256_set1_epi8(15));
}

INLINE __m256i high_nibbles(__m256i x) {
    return low_nibbles(_mm256_srli_epi16(x, 4));
}

INLINE __m256i look_up(__m256i x, __m256i low, __m256i high) {
    return _mm256_add_epi8(_mm256_shuffle_epi8(low, low_nibbles(x)), _mm256_shuffle_epi8(high, high_nibbles(x)));
}

/* Load the table of four dimensions into both halves of a register. */
INLINE __m256i table(const uint8_t *nibbles) {
    return _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)(const void *)nibbles));
}

/* Four 32-bit numbers in each half: out[0..3] and out[16..19], times 2^shift, added to out unless first. */
INLINE void put_numbers(uint32_t *out, __m256i numbers, uint32_t shift, int first) {
    __m128i *low = (__m128i *)(void *)out, *high = (__m128i *)(void *)(out + 16);
    if (!first || shift > 0) {
        numbers = _mm256_sll_epi32(numbers, _mm_cvtsi32_si128((int)shift));
        if (!first)
            numbers = _mm256_add_epi32(numbers, _mm256_loadu2_m128i(high, low));
    }
    _mm256_storeu2_m128i(high, low, numbers);
}

/* out[0..31] = the words of even and odd items in order, times 2^shift; added to out unless first. */
INLINE void put_words(uint32_t *out, const word_sums *sum, uint32_t shift, int first) {
    const __m256i zero = _mm256_setzero_si256();
    const __m256i even = _mm256_sub_epi16(sum->both, _mm256_slli_epi16(sum->odd, 8));
    const __m256i low = _mm256_unpacklo_epi16(even, sum->odd), high = _mm256_unpackhi_epi16(even, sum->odd);
    put_numbers(out, _mm256_unpacklo_epi16(low, zero), shift, first);
    put_numbers(out + 4, _mm256_unpackhi_epi16(low, zero), shift, first);
    put_numbers(out + 8, _mm256_unpacklo_epi16(high, zero), shift, first);
    put_numbers(out + 12, _mm256_unpackhi_epi16(high, zero), shift, first);
}
