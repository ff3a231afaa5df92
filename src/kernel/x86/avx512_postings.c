/* SPDX-License-Identifier: Apache-2.0 */
/* A block's 256 sums stay in 16 registers for all bitmaps; 16 bits of a bitmap are directly a mask. */
#include "kernel/kernel.h"
#include "kernel/unroll.h"

#include <immintrin.h>
#include <string.h>

enum { VECTORS = 16 };

static void add_bitmaps(int32_t *sums, const uint8_t *const *bitmaps, const int32_t *weights, size_t n) {
    __m512i all[VECTORS];
    THR_UNROLL
    for (size_t v = 0; v < VECTORS; v++)
        all[v] = _mm512_loadu_si512(sums + 16 * v);
    for (size_t b = 0; b < n; b++) {
        const __m512i weight = _mm512_set1_epi32(weights[b]);
        uint16_t bits[VECTORS];
        memcpy(bits, bitmaps[b], sizeof bits);
        THR_UNROLL
        for (size_t v = 0; v < VECTORS; v++)
            all[v] = _mm512_mask_add_epi32(all[v], bits[v], all[v], weight);
    }
    THR_UNROLL
    for (size_t v = 0; v < VECTORS; v++)
        _mm512_storeu_si512(sums + 16 * v, all[v]);
}

static void add_run(int32_t *sums, size_t n, int32_t weight) {
    const __m512i weights = _mm512_set1_epi32(weight);
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        _mm512_storeu_si512(sums + i, _mm512_add_epi32(_mm512_loadu_si512(sums + i), weights));
    const __mmask16 rest = (__mmask16)((1u << (n - i)) - 1);
    _mm512_mask_storeu_epi32(sums + i, rest, _mm512_add_epi32(_mm512_maskz_loadu_epi32(rest, sums + i), weights));
}

static uint64_t screen_sums(const int32_t *sums, int32_t least) {
    const __m512i bound = _mm512_set1_epi32(least);
    uint64_t mask = 0;
    THR_UNROLL
    for (size_t v = 0; v < 4; v++)
        mask |= (uint64_t)_mm512_cmpge_epi32_mask(_mm512_loadu_si512(sums + 16 * v), bound) << 16 * v;
    return mask;
}

static uint64_t screen_values(float *scores, const int32_t *sums, const thr_value_line *line, const float *multipliers,
                              const float *offsets, float threshold) {
    const __m512 gain = _mm512_set1_ps(line->gain), bias = _mm512_set1_ps(line->bias);
    const __m512 unit = _mm512_set1_ps(line->unit), bound = _mm512_set1_ps(threshold);
    uint64_t mask = 0;
    THR_UNROLL
    for (size_t i = 0; i < 64; i += 16) {
        __m512 value = _mm512_add_ps(_mm512_mul_ps(_mm512_loadu_ps(scores + i), gain), bias);
        value = _mm512_add_ps(value, _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_loadu_si512(sums + i)), unit));
        if (multipliers != NULL)
            value = _mm512_mul_ps(value, _mm512_loadu_ps(multipliers + i));
        if (offsets != NULL)
            value = _mm512_add_ps(value, _mm512_loadu_ps(offsets + i));
        _mm512_storeu_ps(scores + i, value);
        mask |= (uint64_t)_mm512_cmp_ps_mask(value, bound, _CMP_GE_OQ) << i;
    }
    return mask;
}

void thr_kernels_fill_avx512_postings(thr_kernels *kernels) {
    kernels->add_bitmaps = add_bitmaps;
    kernels->add_run = add_run;
    kernels->screen_sums = screen_sums;
    kernels->screen_values = screen_values;
}
