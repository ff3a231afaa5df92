/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AVX-512 kernels over floats: a register's sixteen lanes are the specification's sixteen partial sums, so
 * one register is the accumulator of a row.
 */
#include "kernel/level_codes.h"
#include "kernel/planes.h"

#include <immintrin.h>

typedef uint64_t unaligned_u64 __attribute__((aligned(1), may_alias));

static inline __m512 load_f32(const char *row, size_t d, __mmask16 lanes) {
    return _mm512_maskz_loadu_ps(lanes, (const float *)(const void *)row + d);
}

static inline __m512 load_f16(const char *row, size_t d, __mmask16 lanes) {
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(lanes, (const uint16_t *)(const void *)row + d));
}

static inline __m512 load_i8(const char *row, size_t d, __mmask16 lanes) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(lanes, row + d)));
}

static inline __m512 step_dot(__m512 sum, __m512 q, __m512 x) {
    return _mm512_add_ps(sum, _mm512_mul_ps(q, x));
}

static inline __m512 step_l2(__m512 sum, __m512 q, __m512 x) {
    __m512 d = _mm512_sub_ps(q, x);
    return _mm512_add_ps(sum, _mm512_mul_ps(d, d));
}

/* Add in halves 8 and 4. */
static inline __m128 add_to_four(__m512 v) {
    __m256 a = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    return _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
}

static inline float add_lanes(__m512 v) {
    __m128 b = add_to_four(v);
    b = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(b, _mm_movehdup_ps(b)));
}

/* The same for four registers: halves 2 and 1 in pairs, so that four rows share a register. */
static inline __m128 add_lanes_of_four(const __m512 *v) {
    __m128 a = add_to_four(v[0]), b = add_to_four(v[1]), c = add_to_four(v[2]), d = add_to_four(v[3]);
    __m128 ab = _mm_add_ps(_mm_movelh_ps(a, b), _mm_movehl_ps(b, a));
    __m128 cd = _mm_add_ps(_mm_movelh_ps(c, d), _mm_movehl_ps(d, c));
    return _mm_add_ps(_mm_shuffle_ps(ab, cd, 0x88), _mm_shuffle_ps(ab, cd, 0xdd));
}

/*
 * Rows are read one by one, in memory order: four interleaved rows would hide the adder's latency better, but the
 * prefetcher follows one stream at twice the speed of four. Four rows share the last steps of their sums. Lanes after
 * a row's end add +0 to a sum that is never -0, which does not change it.
 */
#define ROW_SUM(name, load, step)                                                                                      \
    static inline __m512 name##_row(const float *query, const char *row, size_t n_dims, float scale) {                 \
        __m512 sum = _mm512_setzero_ps();                                                                              \
        size_t d = 0;                                                                                                  \
        (void)scale;                                                                                                   \
        for (; d + 16 <= n_dims; d += 16)                                                                              \
            sum = step(sum, _mm512_loadu_ps(query + d), load(row, d, 0xffff));                                         \
        if (d < n_dims) {                                                                                              \
            const __mmask16 lanes = (__mmask16)((1u << (n_dims - d)) - 1);                                             \
            sum = step(sum, _mm512_maskz_loadu_ps(lanes, query + d), load(row, d, lanes));                             \
        }                                                                                                              \
        return sum;                                                                                                    \
    }

#define ROWS_LOOP(name, scale_of)                                                                                      \
    const char *row = rows;                                                                                            \
    size_t i = 0;                                                                                                      \
    for (; i + 4 <= n_rows; i += 4) {                                                                                  \
        __m512 sums[4];                                                                                                \
        for (size_t r = 0; r < 4; r++, row += stride)                                                                  \
            sums[r] = name##_row(query, row, n_dims, scale_of(i + r));                                                 \
        _mm_storeu_ps(out + i, add_lanes_of_four(sums));                                                               \
    }                                                                                                                  \
    for (; i < n_rows; i++, row += stride)                                                                             \
        out[i] = add_lanes(name##_row(query, row, n_dims, scale_of(i)));

#define NO_SCALE(i)            1
#define SCALE_OF(i)            scales[i]
#define STEP_SCALED(sum, q, x) step_l2(sum, q, _mm512_mul_ps(_mm512_set1_ps(scale), x))

#define ROWS_KERNEL(name, load, step)                                                                                  \
    ROW_SUM(name, load, step)                                                                                          \
    static void name(float *out, const float *query, const void *rows, size_t stride, size_t n_rows, size_t n_dims) {  \
        ROWS_LOOP(name, NO_SCALE)                                                                                      \
    }

#define SCALED_ROWS_KERNEL(name, load, step)                                                                           \
    ROW_SUM(name, load, step)                                                                                          \
    static void name(float *out, const float *query, const void *rows, size_t stride, size_t n_rows, size_t n_dims,    \
                     const float *scales) {                                                                            \
        ROWS_LOOP(name, SCALE_OF)                                                                                      \
    }

ROWS_KERNEL(dot_f32, load_f32, step_dot)
ROWS_KERNEL(dot_i8, load_i8, step_dot)
ROWS_KERNEL(l2_f32, load_f32, step_l2)
ROWS_KERNEL(l2_f16_given, load_f16, step_l2)
SCALED_ROWS_KERNEL(l2_f16_scaled, load_f16, STEP_SCALED)
SCALED_ROWS_KERNEL(l2_i8, load_i8, STEP_SCALED)

/* Most rows of float16 numbers have the scale 1, and are not multiplied by it. */
static void l2_f16(float *out, const float *query, const void *rows, size_t stride, size_t n_rows, size_t n_dims,
                   const float *scales) {
    const __m512 one = _mm512_set1_ps(1);
    __mmask16 others = 0;
    for (size_t i = 0; i < n_rows; i += 16) {
        const __mmask16 lanes = (__mmask16)(n_rows - i >= 16 ? 0xffffu : (1u << (n_rows - i)) - 1);
        others |= _mm512_mask_cmp_ps_mask(lanes, _mm512_maskz_loadu_ps(lanes, scales + i), one, _CMP_NEQ_UQ);
    }
    if (others == 0)
        l2_f16_given(out, query, rows, stride, n_rows, n_dims);
    else
        l2_f16_scaled(out, query, rows, stride, n_rows, n_dims, scales);
}

static void f32_to_f16(uint16_t *out, const float *in, size_t n) {
    for (size_t i = 0; i < n; i += 16) {
        __mmask16 lanes = (__mmask16)(n - i >= 16 ? 0xffffu : (1u << (n - i)) - 1);
        __m256i h = _mm512_cvtps_ph(_mm512_maskz_loadu_ps(lanes, in + i), _MM_FROUND_TO_NEAREST_INT);
        _mm256_mask_storeu_epi16(out + i, lanes, h);
    }
}

static void f16_to_f32(float *out, const uint16_t *in, size_t n) {
    for (size_t i = 0; i < n; i += 16) {
        __mmask16 lanes = (__mmask16)(n - i >= 16 ? 0xffffu : (1u << (n - i)) - 1);
        _mm512_mask_storeu_ps(out + i, lanes, _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(lanes, in + i)));
    }
}

static inline __attribute__((always_inline)) void quantise_bits(uint8_t *out, const float *x, size_t n, float scale,
                                                                uint32_t bits) {
    const int32_t half = 1 << (bits - 1);
    const __m512 scales = _mm512_set1_ps(scale);
    const __m512 low = _mm512_set1_ps((float)-half), high = _mm512_set1_ps((float)(half - 1));
    for (size_t d = 0; d < n; d += 16) {
        __mmask16 lanes = (__mmask16)(n - d >= 16 ? 0xffffu : (1u << (n - d)) - 1);
        __m512 cell = _mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, x + d), scales);
        cell = _mm512_roundscale_ps(cell, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
        cell = _mm512_min_ps(_mm512_max_ps(cell, low), high);
        __m512i u = _mm512_add_epi32(_mm512_cvttps_epi32(cell), _mm512_set1_epi32(half));
        for (uint32_t p = 0; p < bits; p++) {
            uint32_t plane = _mm512_mask_test_epi32_mask(lanes, u, _mm512_set1_epi32(1 << (bits - 1 - p)));
            out[d / 8 * bits + p] = (uint8_t)plane;
            if (n - d > 8)
                out[(d / 8 + 1) * bits + p] = (uint8_t)(plane >> 8);
        }
    }
}

static void quantise(uint8_t *out, const float *x, size_t n, float scale, uint32_t bits) {
    THR_CALL_PLANES(bits, quantise_bits, out, x, n, scale)
}

/* Lanes after the end contribute 0: their code is not 0, but their y is. */
static void code_products(float *products, const float *x, size_t n, float scale, uint32_t bits, uint32_t lead) {
    const int32_t half = 1 << (bits - 1);
    const __m512 low = _mm512_set1_ps((float)-half), high = _mm512_set1_ps((float)(half - 1));
    const __m128i dropped = _mm_cvtsi32_si128((int)(bits - lead));
    const __m512i base = _mm512_set1_epi32(1 - 2 * half), lead_base = _mm512_set1_epi32(1 - (1 << lead));
    __m512 sum = _mm512_setzero_ps(), lead_sum = sum;
    for (size_t d = 0; d < n; d += 16) {
        __mmask16 lanes = (__mmask16)(n - d >= 16 ? 0xffffu : (1u << (n - d)) - 1);
        __m512 y = _mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, x + d), _mm512_set1_ps(scale));
        __m512 cell = _mm512_roundscale_ps(y, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
        cell = _mm512_min_ps(_mm512_max_ps(cell, low), high);
        __m512i u = _mm512_add_epi32(_mm512_cvttps_epi32(cell), _mm512_set1_epi32(half));
        __m512i lead_u = _mm512_srl_epi32(u, dropped);
        __m512i b = _mm512_add_epi32(_mm512_add_epi32(u, u), base);
        __m512i lead_b = _mm512_add_epi32(_mm512_add_epi32(lead_u, lead_u), lead_base);
        sum = step_dot(sum, y, _mm512_cvtepi32_ps(b));
        lead_sum = step_dot(lead_sum, y, _mm512_cvtepi32_ps(lead_b));
    }
    products[0] = add_lanes(sum);
    products[1] = add_lanes(lead_sum);
}

/* --------------------------------------------------------------------------------------------- screening */

static void block_bounds(int32_t *bounds, const uint32_t *floors, size_t n_blocks, float threshold, int32_t total) {
    const __m512 t = _mm512_set1_ps(threshold), shrink = _mm512_set1_ps(1.0f - 0x1p-19f);
    const __m512 half = _mm512_set1_ps(0.5f), more = _mm512_set1_ps(0x1p-22f), all = _mm512_set1_ps((float)total);
    for (size_t b = 0; b < n_blocks; b += 16) {
        __mmask16 lanes = (__mmask16)(n_blocks - b >= 16 ? 0xffffu : (1u << (n_blocks - b)) - 1);
        __m512 root = _mm512_sqrt_ps(_mm512_cvtepu32_ps(_mm512_maskz_loadu_epi32(lanes, floors + b)));
        __m512 needed = _mm512_mul_ps(_mm512_mul_ps(t, root), shrink);
        __m512 slack = _mm512_mul_ps(_mm512_sub_ps(all, needed), half);
        slack = _mm512_add_ps(slack, _mm512_mul_ps(_mm512_abs_ps(slack), more));
        __m512i bound = _mm512_add_epi32(_mm512_cvttps_epi32(slack), _mm512_set1_epi32(1));
        __mmask16 huge = _mm512_cmp_ps_mask(slack, _mm512_set1_ps(0x1p30f), _CMP_GE_OQ);
        bound = _mm512_mask_mov_epi32(bound, huge, _mm512_set1_epi32(INT32_MAX));
        __mmask16 below = _mm512_cmp_ps_mask(slack, _mm512_setzero_ps(), _CMP_LT_OQ);
        bound = _mm512_mask_mov_epi32(bound, below, _mm512_set1_epi32(-1));
        _mm512_mask_storeu_epi32(bounds + b, lanes, bound);
    }
}

/* A mask of 64 plane bits selects the digits; one instruction multiplies them by the plane's weight and adds them. */
static int32_t rest_product(const uint8_t *planes, uint32_t n_planes, size_t n_rows, const int8_t *digits,
                            int32_t digit_sum) {
    __m512i sum = _mm512_setzero_si512();
    for (size_t r = 0; r < n_rows; r += 8) {
        const __m512i all = _mm512_load_si512(digits + 8 * r);
        const uint8_t *at = planes + r;
        for (uint32_t j = 0; j < n_planes; j++, at += n_rows) {
            const __mmask64 bits = _cvtu64_mask64(*(const unaligned_u64 *)(const void *)at);
            sum = _mm512_dpbusd_epi32(sum, _mm512_set1_epi8((char)(1 << (n_planes - j))),
                                      _mm512_maskz_mov_epi8(bits, all));
        }
    }
    return _mm512_reduce_add_epi32(sum) - ((1 << n_planes) - 1) * digit_sum;
}

/* Everything but the code kernels needs no more than this level has. */
void thr_kernels_fill_avx512_vnni(thr_kernels *kernels) {
#define FILL(name) kernels->name = name;
    FILL(dot_f32)
    FILL(dot_i8)
    FILL(l2_f32)
    FILL(l2_f16)
    FILL(l2_i8)
    FILL(f32_to_f16)
    FILL(f16_to_f32)
    FILL(quantise)
    FILL(code_products)
    FILL(block_bounds)
    FILL(rest_product)
#undef FILL
    kernels->distance_table = thr_kernel_distance_table_avx512_vnni;
    kernels->distance_tables = thr_kernel_distance_tables_avx512_vnni;
    kernels->distance_tile = thr_kernel_distance_tile_avx512_vnni;
    thr_kernels_fill_avx512_layers(kernels);
    thr_kernels_fill_avx512_screen(kernels);
    thr_kernels_fill_avx512_postings(kernels);
    thr_kernels_fill_avx512_wide(kernels);
    thr_kernels_fill_avx512_heads(kernels);
}
