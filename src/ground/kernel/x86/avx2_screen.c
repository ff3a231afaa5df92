/* SPDX-License-Identifier: Apache-2.0 */
/* AVX2 kernels of the screen: bounds, and the kernels of vector_screen.h. */
#define THR_LANES 8
#include "kernel/vector_screen.h"

/* There is no conversion of unsigned integers: the halves are exact, and their sum is rounded once. */
static inline __m256 floats_of_unsigned(__m256i x) {
    const __m256 high = _mm256_cvtepi32_ps(_mm256_srli_epi32(x, 16));
    const __m256 low = _mm256_cvtepi32_ps(_mm256_and_si256(x, _mm256_set1_epi32(0xffff)));
    return _mm256_add_ps(_mm256_mul_ps(high, _mm256_set1_ps(0x1p16f)), low);
}

/* block_bounds of scalar.c, operation by operation, eight blocks at a time. */
static inline __m256i bounds_of_8(__m256i floors, float threshold, int32_t total) {
    const __m256 root = _mm256_sqrt_ps(floats_of_unsigned(floors));
    const __m256 needed =
        _mm256_mul_ps(_mm256_mul_ps(_mm256_set1_ps(threshold), root), _mm256_set1_ps(1.0f - 0x1p-19f));
    __m256 slack = _mm256_mul_ps(_mm256_sub_ps(_mm256_set1_ps((float)total), needed), _mm256_set1_ps(0.5f));
    const __m256 length = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), slack);
    slack = _mm256_add_ps(slack, _mm256_mul_ps(length, _mm256_set1_ps(0x1p-22f)));
    const __m256 huge = _mm256_cmp_ps(slack, _mm256_set1_ps(0x1p30f), _CMP_GE_OQ);
    const __m256 below = _mm256_cmp_ps(slack, _mm256_setzero_ps(), _CMP_LT_OQ);
    __m256i bound = _mm256_add_epi32(_mm256_cvttps_epi32(slack), _mm256_set1_epi32(1));
    bound = _mm256_blendv_epi8(bound, _mm256_set1_epi32(INT32_MAX), _mm256_castps_si256(huge));
    return _mm256_or_si256(bound, _mm256_castps_si256(below)); /* -1 below 0 */
}

static inline void put_bounds_of_8(int32_t *bounds, const uint32_t *floors, float threshold, int32_t total) {
    const __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)floors);
    _mm256_storeu_si256((__m256i *)(void *)bounds, bounds_of_8(x, threshold, total));
}

static void block_bounds(int32_t *bounds, const uint32_t *floors, size_t n_blocks, float threshold, int32_t total) {
    size_t b = 0;
    for (; b + 8 <= n_blocks; b += 8)
        put_bounds_of_8(bounds + b, floors + b, threshold, total);
    if (b < n_blocks) {
        uint32_t rest[8] = {0};
        int32_t found[8];
        memcpy(rest, floors + b, (n_blocks - b) * sizeof *floors);
        put_bounds_of_8(found, rest, threshold, total);
        memcpy(bounds + b, found, (n_blocks - b) * sizeof *bounds);
    }
}

void thr_kernels_fill_avx2_screen(thr_kernels *kernels) {
    thr_kernels_fill_screen(kernels);
    kernels->block_bounds = block_bounds;
}
