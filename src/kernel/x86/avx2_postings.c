/* SPDX-License-Identifier: Apache-2.0 */
/* A quarter of a block's sums stays in 8 registers for all bitmaps; lane masks separate the bits of a byte. */
#include "kernel/kernel.h"
#include "kernel/unroll.h"

#include <immintrin.h>

enum { VECTORS = 8 };

static void add_quarter(int32_t *sums, const uint8_t *const *bitmaps, size_t first, const int32_t *weights, size_t n) {
    const __m256i lanes = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    __m256i all[VECTORS];
    THR_UNROLL
    for (size_t v = 0; v < VECTORS; v++)
        all[v] = _mm256_loadu_si256((const __m256i *)(const void *)(sums + 8 * v));
    for (size_t b = 0; b < n; b++) {
        const __m256i weight = _mm256_set1_epi32(weights[b]);
        THR_UNROLL
        for (size_t v = 0; v < VECTORS; v++) {
            const __m256i bits = _mm256_and_si256(_mm256_set1_epi32(bitmaps[b][first + v]), lanes);
            all[v] = _mm256_add_epi32(all[v], _mm256_and_si256(_mm256_cmpeq_epi32(bits, lanes), weight));
        }
    }
    THR_UNROLL
    for (size_t v = 0; v < VECTORS; v++)
        _mm256_storeu_si256((__m256i *)(void *)(sums + 8 * v), all[v]);
}

static void add_bitmaps(int32_t *sums, const uint8_t *const *bitmaps, const int32_t *weights, size_t n) {
    for (size_t first = 0; first < 32; first += VECTORS)
        add_quarter(sums + 8 * first, bitmaps, first, weights, n);
}

static void add_run(int32_t *sums, size_t n, int32_t weight) {
    const __m256i weights = _mm256_set1_epi32(weight);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256i *at = (__m256i *)(void *)(sums + i);
        _mm256_storeu_si256(at, _mm256_add_epi32(_mm256_loadu_si256(at), weights));
    }
    for (; i < n; i++)
        sums[i] = thr_add_wrapping(sums[i], weight);
}

/* sums >= least is the complement of least > sums, the comparison that AVX2 has. */
static uint64_t screen_sums(const int32_t *sums, int32_t least) {
    const __m256i bound = _mm256_set1_epi32(least);
    uint64_t below = 0;
    THR_UNROLL
    for (size_t v = 0; v < 8; v++) {
        const __m256i at = _mm256_loadu_si256((const __m256i *)(const void *)(sums + 8 * v));
        const int lanes = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(bound, at)));
        below |= (uint64_t)(uint32_t)lanes << 8 * v;
    }
    return ~below;
}

static uint64_t screen_values(float *scores, const int32_t *sums, const thr_value_line *line, const float *multipliers,
                              const float *offsets, float threshold) {
    const __m256 gain = _mm256_set1_ps(line->gain), bias = _mm256_set1_ps(line->bias);
    const __m256 unit = _mm256_set1_ps(line->unit), bound = _mm256_set1_ps(threshold);
    uint64_t mask = 0;
    THR_UNROLL
    for (size_t i = 0; i < 64; i += 8) {
        const __m256i sum = _mm256_loadu_si256((const __m256i *)(const void *)(sums + i));
        __m256 value = _mm256_add_ps(_mm256_mul_ps(_mm256_loadu_ps(scores + i), gain), bias);
        value = _mm256_add_ps(value, _mm256_mul_ps(_mm256_cvtepi32_ps(sum), unit));
        if (multipliers != NULL)
            value = _mm256_mul_ps(value, _mm256_loadu_ps(multipliers + i));
        if (offsets != NULL)
            value = _mm256_add_ps(value, _mm256_loadu_ps(offsets + i));
        _mm256_storeu_ps(scores + i, value);
        mask |= (uint64_t)(uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(value, bound, _CMP_GE_OQ)) << i;
    }
    return mask;
}

void thr_kernels_fill_avx2_postings(thr_kernels *kernels) {
    kernels->add_bitmaps = add_bitmaps;
    kernels->add_run = add_run;
    kernels->screen_sums = screen_sums;
    kernels->screen_values = screen_values;
}
