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

void thr_kernels_fill_avx2_postings(thr_kernels *kernels) {
    kernels->add_bitmaps = add_bitmaps;
}
