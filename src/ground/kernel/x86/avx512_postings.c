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

void thr_kernels_fill_avx512_postings(thr_kernels *kernels) {
    kernels->add_bitmaps = add_bitmaps;
}
