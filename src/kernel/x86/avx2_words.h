/* SPDX-License-Identifier: Apache-2.0 */
/*
 * avx2_words.h - widen sums of bytes to 16-bit words and then to distances, for kernels over byte rows.
 *
 * Sums of even and odd items are 16-bit words: `both` adds whole words, `odd` their high bytes; even = both - 256
 * odd.
 */
#ifndef THR_KERNEL_X86_AVX2_WORDS_H
#define THR_KERNEL_X86_AVX2_WORDS_H

#include <immintrin.h>

#include "kernel/read_ahead.h"
#include "kernel/level_codes.h"

#define INLINE static inline __attribute__((always_inline))

enum { ITEMS = 64, HALF = 32, MAX_PLANES = 8, ROWS_A_ROUND = 510 /* 510 rows * 120 fit 16 bits */ };

typedef struct word_sums {
    __m256i both, odd;
} word_sums;

INLINE word_sums no_words(void) {
    return (word_sums){_mm256_setzero_si256(), _mm256_setzero_si256()};
}

INLINE __m256i load(const uint8_t *at) {
    return _mm256_loadu_si256((const __m256i *)(const void *)at);
}

/* Load the first or second half of a byte row; the first requests a row ahead. */
INLINE __m256i load_half(const uint8_t *row, const int half) {
    if (half == 0)
        thr_kernel_request(thr_kernel_ahead_of(row, thr_kernel_read_ahead));
    return load(row + HALF * half);
}

INLINE void add_bytes(word_sums *sum, __m256i bytes) {
    sum->both = _mm256_add_epi16(sum->both, bytes);
    sum->odd = _mm256_add_epi16(sum->odd, _mm256_srli_epi16(bytes, 8));
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

/* out[0..31] = 2 out + the words of even and odd items in order, or the words alone if first. */
INLINE void fold_words(uint32_t *out, const word_sums *sum, int first) {
    __m256i even = _mm256_sub_epi16(sum->both, _mm256_slli_epi16(sum->odd, 8));
    __m256i words[2] = {_mm256_unpacklo_epi16(even, sum->odd), _mm256_unpackhi_epi16(even, sum->odd)};
    /* words[h], lane l: items 16 l + 8 h to 16 l + 8 h + 7 */
    for (int lane = 0; lane < 2; lane++)
        for (int h = 0; h < 2; h++) {
            __m128i eight = lane == 0 ? _mm256_castsi256_si128(words[h]) : _mm256_extracti128_si256(words[h], 1);
            __m256i wide = _mm256_cvtepu16_epi32(eight);
            __m256i *at = (__m256i *)(void *)(out + 16 * lane + 8 * h);
            if (!first) {
                __m256i old = _mm256_loadu_si256(at);
                wide = _mm256_add_epi32(wide, _mm256_add_epi32(old, old));
            }
            _mm256_storeu_si256(at, wide);
        }
}

#endif
