/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AVX2 kernels over floats: two registers hold the specification's sixteen partial sums.
 */
#include "kernel/level_codes.h"

#include <immintrin.h>
#include <string.h>

typedef struct lanes16 {
    __m256 low, high;
} lanes16;

static inline lanes16 load_f32(const void *row) {
    return (lanes16){_mm256_loadu_ps(row), _mm256_loadu_ps((const float *)row + 8)};
}

static inline lanes16 load_f16(const void *row) {
    return (lanes16){_mm256_cvtph_ps(_mm_loadu_si128(row)), _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)row + 1))};
}

/* Widen bfloat16, the upper half of a float32. */
static inline __m256 widen_bf16(__m128i halves) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}

static inline lanes16 load_bf16(const void *row) {
    return (lanes16){widen_bf16(_mm_loadu_si128(row)), widen_bf16(_mm_loadu_si128((const __m128i *)row + 1))};
}

static inline lanes16 load_i8(const void *row) {
    __m128i bytes = _mm_loadu_si128(row);
    return (lanes16){_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)),
                     _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8)))};
}

static inline __m256 step_dot(__m256 sum, __m256 q, __m256 x) {
    return _mm256_add_ps(sum, _mm256_mul_ps(q, x));
}

static inline __m256 step_l2(__m256 sum, __m256 q, __m256 x) {
    __m256 d = _mm256_sub_ps(q, x);
    return _mm256_add_ps(sum, _mm256_mul_ps(d, d));
}

static inline lanes16 times(lanes16 x, float scale) {
    const __m256 s = _mm256_set1_ps(scale);
    return (lanes16){_mm256_mul_ps(s, x.low), _mm256_mul_ps(s, x.high)};
}

static inline float add_lanes(lanes16 v) {
    __m256 a = _mm256_add_ps(v.low, v.high);
    __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    b = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(b, _mm_movehdup_ps(b)));
}

/* Copy the last n < 16 values of a row into zeros, and load all sixteen. */
#define LOAD_REST(load, size)                                                                                          \
    static inline lanes16 load##_rest(const char *row, size_t n) {                                                     \
        char rest[16 * (size)] = {0};                                                                                  \
        memcpy(rest, row, n *(size));                                                                                  \
        return load(rest);                                                                                             \
    }

LOAD_REST(load_f16, 2)
LOAD_REST(load_bf16, 2)
LOAD_REST(load_i8, 1)

/* The mask of the first n lanes; of all with n >= 8. */
static inline __m256i first_lanes(size_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* Without a copy: loading bytes that were just stored in smaller pieces waits for the stores. */
static inline lanes16 load_f32_rest(const char *row, size_t n) {
    const float *values = (const float *)(const void *)row;
    const __m256i high = first_lanes(n < 8 ? 0 : n - 8);
    return (lanes16){_mm256_maskload_ps(values, first_lanes(n)), _mm256_maskload_ps(values + (n < 8 ? 0 : 8), high)};
}

/* The last, incomplete sixteen values of a row are extended by zeros: they add +0 to a sum that is never -0. */
#define ROWS_LOOP(load, step, size, scaled)                                                                            \
    const char *row = rows;                                                                                            \
    const size_t whole = n_dims & ~(size_t)15, rest = n_dims - whole;                                                  \
    const lanes16 query_rest = load_f32_rest((const char *)(query + whole), rest);                                     \
    for (size_t i = 0; i < n_rows; i++, row += stride) {                                                               \
        lanes16 sum = {_mm256_setzero_ps(), _mm256_setzero_ps()};                                                      \
        for (size_t d = 0; d < whole; d += 16) {                                                                       \
            lanes16 q = load_f32(query + d), x = scaled(load(row + d * (size)));                                       \
            sum.low = step(sum.low, q.low, x.low);                                                                     \
            sum.high = step(sum.high, q.high, x.high);                                                                 \
        }                                                                                                              \
        if (rest > 0) {                                                                                                \
            lanes16 x = scaled(load##_rest(row + whole * (size), rest));                                               \
            sum.low = step(sum.low, query_rest.low, x.low);                                                            \
            sum.high = step(sum.high, query_rest.high, x.high);                                                        \
        }                                                                                                              \
        out[i] = add_lanes(sum);                                                                                       \
    }

#define ROWS_KERNEL(name, load, step, size)                                                                            \
    static void name(float *out, const float *query, const void *rows, size_t stride, size_t n_rows, size_t n_dims) {  \
        ROWS_LOOP(load, step, size, )                                                                                  \
    }

#define SCALED(x) times(x, scales[i])

#define SCALED_ROWS_KERNEL(name, load, step, size)                                                                     \
    static void name(float *out, const float *query, const void *rows, size_t stride, size_t n_rows, size_t n_dims,    \
                     const float *scales) {                                                                            \
        ROWS_LOOP(load, step, size, SCALED)                                                                            \
    }

ROWS_KERNEL(dot_f32, load_f32, step_dot, 4)
ROWS_KERNEL(dot_f16, load_f16, step_dot, 2)
ROWS_KERNEL(dot_bf16, load_bf16, step_dot, 2)
ROWS_KERNEL(dot_i8, load_i8, step_dot, 1)
ROWS_KERNEL(l2_f32, load_f32, step_l2, 4)
ROWS_KERNEL(l2_f16_given, load_f16, step_l2, 2)
SCALED_ROWS_KERNEL(l2_f16_scaled, load_f16, step_l2, 2)

static inline bool are_ones(const float *scales, size_t n) {
    __m256 others = _mm256_setzero_ps();
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        others = _mm256_or_ps(others, _mm256_cmp_ps(_mm256_loadu_ps(scales + i), _mm256_set1_ps(1), _CMP_NEQ_UQ));
    bool ones = _mm256_movemask_ps(others) == 0;
    for (; i < n; i++)
        ones = ones && scales[i] == 1;
    return ones;
}

/* Most rows of float16 numbers have the scale 1, and are not multiplied by it. */
static void l2_f16(float *out, const float *query, const void *rows, size_t stride, size_t n_rows, size_t n_dims,
                   const float *scales) {
    if (are_ones(scales, n_rows))
        l2_f16_given(out, query, rows, stride, n_rows, n_dims);
    else
        l2_f16_scaled(out, query, rows, stride, n_rows, n_dims, scales);
}

SCALED_ROWS_KERNEL(l2_i8, load_i8, step_l2, 1)

static double sum_squares(const float *x, size_t n) {
    __m256d low = _mm256_setzero_pd(), high = low;
    for (size_t d = 0; d < n; d += 8) {
        float rest[8] = {0};
        const float *at = x + d;
        if (n - d < 8)
            at = memcpy(rest, at, (n - d) * sizeof(float));
        __m256d a = _mm256_cvtps_pd(_mm_loadu_ps(at)), b = _mm256_cvtps_pd(_mm_loadu_ps(at + 4));
        low = _mm256_add_pd(low, _mm256_mul_pd(a, a));
        high = _mm256_add_pd(high, _mm256_mul_pd(b, b));
    }
    __m256d a = _mm256_add_pd(low, high);
    __m128d b = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
    return _mm_cvtsd_f64(_mm_add_sd(b, _mm_unpackhi_pd(b, b)));
}

static void f32_to_f16(uint16_t *out, const float *in, size_t n) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(void *)(out + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
    if (i < n) {
        float rest[8] = {0};
        uint16_t half[8];
        memcpy(rest, in + i, (n - i) * sizeof(float));
        _mm_storeu_si128((__m128i *)(void *)half, _mm256_cvtps_ph(_mm256_loadu_ps(rest), _MM_FROUND_TO_NEAREST_INT));
        memcpy(out + i, half, (n - i) * sizeof(uint16_t));
    }
}

static void f16_to_f32(float *out, const uint16_t *in, size_t n) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(in + i))));
    if (i < n) {
        uint16_t half[8] = {0};
        float rest[8];
        memcpy(half, in + i, (n - i) * sizeof(uint16_t));
        _mm256_storeu_ps(rest, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)half)));
        memcpy(out + i, rest, (n - i) * sizeof(float));
    }
}

/* Shift a plane's bit to the sign of its lane and gather signs with MOVMSKPS: one row of eight dimensions at a time. */
static void quantise(uint8_t *out, const float *x, size_t n, float scale, uint32_t bits) {
    const int32_t half = 1 << (bits - 1);
    const __m256 low = _mm256_set1_ps((float)-half), high = _mm256_set1_ps((float)(half - 1));
    for (size_t d = 0; d < n; d += 8) {
        float rest[8] = {0};
        const float *at = x + d;
        uint32_t present = 0xff;
        if (n - d < 8) {
            at = memcpy(rest, at, (n - d) * sizeof(float));
            present = (1u << (n - d)) - 1;
        }
        __m256 cell = _mm256_floor_ps(_mm256_mul_ps(_mm256_loadu_ps(at), _mm256_set1_ps(scale)));
        cell = _mm256_min_ps(_mm256_max_ps(cell, low), high);
        __m256i u = _mm256_add_epi32(_mm256_cvttps_epi32(cell), _mm256_set1_epi32(half));
        u = _mm256_sll_epi32(u, _mm_cvtsi32_si128((int)(32 - bits)));
        for (uint32_t p = 0; p < bits; p++, u = _mm256_add_epi32(u, u))
            *out++ = (uint8_t)((uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(u)) & present);
    }
}

typedef struct product_sums {
    __m256 full, lead;
} product_sums;

/* Add eight dimensions' terms to both sums. */
static inline product_sums add_products(product_sums sums, const float *x, float scale, uint32_t bits, uint32_t lead) {
    const int32_t half = 1 << (bits - 1);
    const __m256 low = _mm256_set1_ps((float)-half), high = _mm256_set1_ps((float)(half - 1));
    __m256 y = _mm256_mul_ps(_mm256_loadu_ps(x), _mm256_set1_ps(scale));
    __m256 cell = _mm256_min_ps(_mm256_max_ps(_mm256_floor_ps(y), low), high);
    __m256i u = _mm256_add_epi32(_mm256_cvttps_epi32(cell), _mm256_set1_epi32(half));
    __m256i lead_u = _mm256_srl_epi32(u, _mm_cvtsi32_si128((int)(bits - lead)));
    __m256i b = _mm256_add_epi32(_mm256_add_epi32(u, u), _mm256_set1_epi32(1 - 2 * half));
    __m256i lead_b = _mm256_add_epi32(_mm256_add_epi32(lead_u, lead_u), _mm256_set1_epi32(1 - (1 << lead)));
    return (product_sums){step_dot(sums.full, y, _mm256_cvtepi32_ps(b)),
                          step_dot(sums.lead, y, _mm256_cvtepi32_ps(lead_b))};
}

static void code_products(float *products, const float *x, size_t n, float scale, uint32_t bits, uint32_t lead) {
    const product_sums zero = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    product_sums low = zero, high = zero;
    for (size_t d = 0; d < n; d += 16) {
        float rest[16] = {0};
        const float *at = x + d;
        if (n - d < 16)
            at = memcpy(rest, at, (n - d) * sizeof(float));
        low = add_products(low, at, scale, bits, lead);
        high = add_products(high, at + 8, scale, bits, lead);
    }
    products[0] = add_lanes((lanes16){low.full, high.full});
    products[1] = add_lanes((lanes16){low.lead, high.lead});
}

/* 32 plane bits become 32 byte masks that select digits; pairs of these are added to 16 bits. */
static int32_t rest_product(const uint8_t *planes, uint32_t n_planes, size_t n_rows, const int8_t *digits,
                            int32_t digit_sum) {
    const __m256i spread = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const __m256i each = _mm256_set1_epi64x((long long)0x8040201008040201);
    const __m256i one8 = _mm256_set1_epi8(1), one16 = _mm256_set1_epi16(1);
    __m256i sum = _mm256_setzero_si256();
    for (size_t r = 0; r < n_rows; r += 4) {
        const __m256i all = _mm256_load_si256((const __m256i *)(const void *)(digits + 8 * r));
        const uint8_t *at = planes + r;
        for (uint32_t j = 0; j < n_planes; j++, at += n_rows) {
            int32_t bits;
            memcpy(&bits, at, sizeof bits);
            __m256i bytes = _mm256_and_si256(_mm256_shuffle_epi8(_mm256_set1_epi32(bits), spread), each);
            __m256i picked = _mm256_and_si256(_mm256_cmpeq_epi8(bytes, each), all);
            __m256i fours = _mm256_madd_epi16(_mm256_maddubs_epi16(one8, picked), one16);
            sum = _mm256_add_epi32(sum, _mm256_slli_epi32(fours, (int)(n_planes - j)));
        }
    }
    __m128i four = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1));
    return _mm_cvtsi128_si32(four) - ((1 << n_planes) - 1) * digit_sum;
}

void thr_kernels_fill_avx2(thr_kernels *kernels) {
#define FILL(name) kernels->name = name;
    FILL(dot_f32)
    FILL(dot_f16)
    FILL(dot_bf16)
    FILL(dot_i8)
    FILL(l2_f32)
    FILL(l2_f16)
    FILL(l2_i8)
    FILL(sum_squares)
    FILL(f32_to_f16)
    FILL(f16_to_f32)
    FILL(quantise)
    FILL(code_products)
    FILL(rest_product)
#undef FILL
    THR_FILL_CODE_KERNELS(kernels, avx2)
    thr_kernels_fill_avx2_layers(kernels);
    thr_kernels_fill_avx2_screen(kernels);
    thr_kernels_fill_avx2_postings(kernels);
    thr_kernels_fill_avx2_wide(kernels);
    thr_kernels_fill_avx2_heads(kernels);
}
