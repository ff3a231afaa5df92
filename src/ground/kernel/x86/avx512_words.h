/* SPDX-License-Identifier: Apache-2.0 */
/*
 * avx512_words.h - widen sums of bytes to 16-bit words and then to distances, for look-ups in 64 items at once.
 *
 * Pairs of items are 16-bit words: `both` sums whole words and `odd` the words' high bytes; the even items' sum is both
 * - 256 odd, exact modulo 2^16 as long as a sum fits 16 bits.
 */
#ifndef THR_KERNEL_X86_AVX512_WORDS_H
#define THR_KERNEL_X86_AVX512_WORDS_H

#include <immintrin.h>

#include "kernel/read_ahead.h"
#include "kernel/level_codes.h"

#define INLINE static inline __attribute__((always_inline))

enum { ITEMS = 64, MAX_PLANES = 8, ROWS_A_ROUND = 510 /* 510 rows * 120 fit 16 bits; a multiple of 2 and 3 */ };

typedef struct word_sums {
    __m512i both, odd;
} word_sums;

/* Forces one load: gcc 12 would load a value again for every use, and this kernel is limited by loads. */
INLINE __m512i load_once(const uint8_t *at) {
    __m512i x = _mm512_loadu_si512(at);
    __asm__("" : "+v"(x));
    return x;
}

INLINE void add_bytes(word_sums *sum, __m512i bytes) {
    sum->both = _mm512_add_epi16(sum->both, bytes);
    sum->odd = _mm512_add_epi16(sum->odd, _mm512_srli_epi16(bytes, 8));
}

/* From 32 words of even items and 32 of odd ones, select items first to first + 15 as 32-bit numbers. */
INLINE __m512i sixteen_items(__m512i even, __m512i odd, int first) {
    const __m512i order = _mm512_setr_epi32(0, 32, 1, 33, 2, 34, 3, 35, 4, 36, 5, 37, 6, 38, 7, 39);
    return _mm512_maskz_permutex2var_epi16(0x55555555, even, _mm512_add_epi16(order, _mm512_set1_epi32(first / 2)),
                                           odd);
}

INLINE __m512i even_words(__m512i both, __m512i odd) {
    return _mm512_sub_epi16(both, _mm512_slli_epi16(odd, 8));
}

/* Store the planes' weighted sum, which fits 16 bits. */
INLINE void store_narrow(uint32_t *distances, const word_sums *sums, const uint32_t planes) {
    __m512i both = _mm512_setzero_si512(), odd = both;
    for (uint32_t p = 0; p < planes; p++) {
        both = _mm512_add_epi16(_mm512_add_epi16(both, both), sums[p].both);
        odd = _mm512_add_epi16(_mm512_add_epi16(odd, odd), sums[p].odd);
    }
    const __m512i even = even_words(both, odd);
    for (int i = 0; i < ITEMS; i += 16)
        _mm512_storeu_si512(distances + i, sixteen_items(even, odd, i));
}

/* The same in 32 bits; add to the previous distances or not. */
INLINE void store_wide(uint32_t *distances, const word_sums *sums, const uint32_t planes, int add) {
    for (int i = 0; i < ITEMS; i += 16) {
        __m512i total = _mm512_setzero_si512();
        for (uint32_t p = 0; p < planes; p++)
            total = _mm512_add_epi32(_mm512_add_epi32(total, total),
                                     sixteen_items(even_words(sums[p].both, sums[p].odd), sums[p].odd, i));
        if (add)
            total = _mm512_add_epi32(total, _mm512_loadu_si512(distances + i));
        _mm512_storeu_si512(distances + i, total);
    }
}

/* The same, compiled once, for long codes of many planes, whose sums take long. */
__attribute__((cold, noinline)) static void store_many(uint32_t *distances, const word_sums *sums, uint32_t planes,
                                                       int add) {
    store_wide(distances, sums, planes, add);
}

INLINE void clear(word_sums *sums, const uint32_t planes) {
    for (uint32_t p = 0; p < planes; p++)
        sums[p] = (word_sums){_mm512_setzero_si512(), _mm512_setzero_si512()};
}

/* The weighted sum of all planes fits 16 bits if 8 n_rows (2^bits - 1)(2^planes - 1) does. */
INLINE int is_narrow(const thr_query_part *part, const uint32_t planes) {
    return part->n_rows * 8 * ((1u << part->bits) - 1) * ((1u << planes) - 1) < 65536 && part->n_rows <= ROWS_A_ROUND;
}

INLINE void store_some(uint32_t *distances, const word_sums *sums, const thr_query_part *part, const uint32_t planes,
                       int add) {
    if (is_narrow(part, planes)) {
        store_narrow(distances, sums, planes);
    } else if (planes <= 2) {
        store_wide(distances, sums, planes, add);
    } else {
        word_sums copy[MAX_PLANES]; /* sums stays in registers */
        for (uint32_t p = 0; p < planes; p++)
            copy[p] = sums[p];
        store_many(distances, copy, planes, add);
    }
}

#endif
