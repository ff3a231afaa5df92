/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of layers.h for AVX-512: 24 of the 32 registers hold sums of matmul. Tiles are four rows by six vectors
 * instead of six by four, because a broadcast costs more than a vector load.
 */
#define THR_LANES        16
#define THR_TILE_ROWS    4
#define THR_TILE_VECTORS 6
#include "kernel/vector_layers.h"

#include <immintrin.h>

/* With a mask instead of a blend of two vectors. */
static void add_where(float *out, const float *in, const uint16_t *where, uint16_t at, size_t n) {
    const __m256i wanted = _mm256_set1_epi16((short)at);
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 lanes = (__mmask16)(n - i >= 16 ? 0xffffu : (1u << (n - i)) - 1);
        const __mmask16 here = _mm256_mask_cmpeq_epi16_mask(lanes, _mm256_maskz_loadu_epi16(lanes, where + i), wanted);
        const __m512 old = _mm512_maskz_loadu_ps(lanes, out + i);
        const __m512 sum = _mm512_mask_add_ps(old, here, old, _mm512_maskz_loadu_ps(lanes, in + i));
        _mm512_mask_storeu_ps(out + i, lanes, sum);
    }
}

void thr_kernels_fill_avx512_layers(thr_kernels *kernels) {
    thr_kernels_fill_layers(kernels);
    kernels->add_where = add_where;
}
