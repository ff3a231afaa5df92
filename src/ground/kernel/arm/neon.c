/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NEON kernels over floats: four registers hold the specification's sixteen partial sums. 64-bit ARM only: its vector
 * unit rounds as IEEE 754 requires, keeps subnormals, and has exact division and square root.
 */
#include "kernel/arm/neon.h"

#include <arm_neon.h>
#include <string.h>

/* ---------------------------------------------------------------------------------------- rows of numbers */

typedef struct lanes16 {
    float32x4_t at[4]; /* at[i]: lanes 4 i to 4 i + 3 */
} lanes16;

static inline lanes16 load_f32(const unsigned char *row) {
    lanes16 x;
    for (int i = 0; i < 4; i++)
        x.at[i] = vreinterpretq_f32_u8(vld1q_u8(row + 16 * i));
    return x;
}

static inline lanes16 load_f16(const unsigned char *row) {
    float16x8_t low = vreinterpretq_f16_u8(vld1q_u8(row)), high = vreinterpretq_f16_u8(vld1q_u8(row + 16));
    return (lanes16){{vcvt_f32_f16(vget_low_f16(low)), vcvt_high_f32_f16(low), vcvt_f32_f16(vget_low_f16(high)),
                      vcvt_high_f32_f16(high)}};
}

static inline lanes16 load_bf16(const unsigned char *row) {
    uint16x8_t low = vreinterpretq_u16_u8(vld1q_u8(row)), high = vreinterpretq_u16_u8(vld1q_u8(row + 16));
    return (lanes16){{vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(low), 16)),
                      vreinterpretq_f32_u32(vshll_high_n_u16(low, 16)),
                      vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(high), 16)),
                      vreinterpretq_f32_u32(vshll_high_n_u16(high, 16))}};
}

static inline lanes16 load_i8(const unsigned char *row) {
    int8x16_t bytes = vreinterpretq_s8_u8(vld1q_u8(row));
    int16x8_t low = vmovl_s8(vget_low_s8(bytes)), high = vmovl_high_s8(bytes);
    return (lanes16){{vcvtq_f32_s32(vmovl_s16(vget_low_s16(low))), vcvtq_f32_s32(vmovl_high_s16(low)),
                      vcvtq_f32_s32(vmovl_s16(vget_low_s16(high))), vcvtq_f32_s32(vmovl_high_s16(high))}};
}

static inline float32x4_t step_dot(float32x4_t sum, float32x4_t q, float32x4_t x) {
    return vaddq_f32(sum, vmulq_f32(q, x));
}

static inline float32x4_t step_l2(float32x4_t sum, float32x4_t q, float32x4_t x) {
    float32x4_t d = vsubq_f32(q, x);
    return vaddq_f32(sum, vmulq_f32(d, d));
}

static inline float add_lanes(lanes16 v) {
    float32x4_t four = vaddq_f32(vaddq_f32(v.at[0], v.at[2]), vaddq_f32(v.at[1], v.at[3]));
    return vpadds_f32(vadd_f32(vget_low_f32(four), vget_high_f32(four)));
}

/* The last, incomplete sixteen values of a row are copied into zeros first: they add +0 to a sum that is never -0. */
#define ROWS_LOOP(load, step, size)                                                                                    \
    const unsigned char *row = rows, *query_bytes = (const unsigned char *)query;                                      \
    const size_t whole = n_dims & ~(size_t)15, rest = n_dims - whole;                                                  \
    unsigned char query_rest[16 * sizeof(float)] = {0};                                                                \
    memcpy(query_rest, query + whole, rest * sizeof(float));                                                           \
    for (size_t i = 0; i < n_rows; i++, row += stride) {                                                               \
        lanes16 sum;                                                                                                   \
        for (int l = 0; l < 4; l++)                                                                                    \
            sum.at[l] = vdupq_n_f32(0);                                                                                \
        for (size_t d = 0; d < whole; d += 16) {                                                                       \
            lanes16 q = load_f32(query_bytes + d * sizeof(float)), x = load(row + d * (size));                         \
            for (int l = 0; l < 4; l++)                                                                                \
                sum.at[l] = step(sum.at[l], q.at[l], x.at[l]);                                                         \
        }                                                                                                              \
        if (rest > 0) {                                                                                                \
            unsigned char row_rest[16 * (size)] = {0};                                                                 \
            memcpy(row_rest, row + whole * (size), rest * (size));                                                     \
            lanes16 q = load_f32(query_rest), x = load(row_rest);                                                      \
            for (int l = 0; l < 4; l++)                                                                                \
                sum.at[l] = step(sum.at[l], q.at[l], x.at[l]);                                                         \
        }                                                                                                              \
        out[i] = add_lanes(sum);                                                                                       \
    }

#define ROWS_KERNEL(name, load, step, size)                                                                            \
    static void name(float *out, const float *query, const void *rows, size_t stride, size_t n_rows, size_t n_dims) {  \
        ROWS_LOOP(load, step, size)                                                                                    \
    }

#define STEP_SCALED(sum, q, x) step_l2(sum, q, vmulq_n_f32(x, scales[i]))

#define SCALED_ROWS_KERNEL(name, load, step, size)                                                                     \
    static void name(float *out, const float *query, const void *rows, size_t stride, size_t n_rows, size_t n_dims,    \
                     const float *scales) {                                                                            \
        ROWS_LOOP(load, step, size)                                                                                    \
    }

ROWS_KERNEL(dot_f32, load_f32, step_dot, 4)
ROWS_KERNEL(dot_f16, load_f16, step_dot, 2)
ROWS_KERNEL(dot_bf16, load_bf16, step_dot, 2)
ROWS_KERNEL(dot_i8, load_i8, step_dot, 1)
ROWS_KERNEL(l2_f32, load_f32, step_l2, 4)
SCALED_ROWS_KERNEL(l2_f16, load_f16, STEP_SCALED, 2)
SCALED_ROWS_KERNEL(l2_i8, load_i8, STEP_SCALED, 1)

static double sum_squares(const float *x, size_t n) {
    float64x2_t sums[4];
    for (int l = 0; l < 4; l++)
        sums[l] = vdupq_n_f64(0);
    for (size_t d = 0; d < n; d += 8) {
        float rest[8] = {0};
        const float *at = x + d;
        if (n - d < 8)
            at = memcpy(rest, at, (n - d) * sizeof(float));
        float32x4_t low = vld1q_f32(at), high = vld1q_f32(at + 4);
        float64x2_t wide[4] = {vcvt_f64_f32(vget_low_f32(low)), vcvt_high_f64_f32(low),
                               vcvt_f64_f32(vget_low_f32(high)), vcvt_high_f64_f32(high)};
        for (int l = 0; l < 4; l++)
            sums[l] = vaddq_f64(sums[l], vmulq_f64(wide[l], wide[l]));
    }
    return vpaddd_f64(vaddq_f64(vaddq_f64(sums[0], sums[2]), vaddq_f64(sums[1], sums[3])));
}

/* ------------------------------------------------------------------------------------------------ float16 */

static inline void narrow8(uint16_t *out, const float *in) {
    float16x4_t low = vcvt_f16_f32(vld1q_f32(in));
    vst1q_u16(out, vreinterpretq_u16_f16(vcvt_high_f16_f32(low, vld1q_f32(in + 4))));
}

static void f32_to_f16(uint16_t *out, const float *in, size_t n) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        narrow8(out + i, in + i);
    if (i < n) {
        float rest[8] = {0};
        uint16_t half[8];
        memcpy(rest, in + i, (n - i) * sizeof(float));
        narrow8(half, rest);
        memcpy(out + i, half, (n - i) * sizeof(uint16_t));
    }
}

static inline void widen8(float *out, const uint16_t *in) {
    float16x8_t half = vreinterpretq_f16_u16(vld1q_u16(in));
    vst1q_f32(out, vcvt_f32_f16(vget_low_f16(half)));
    vst1q_f32(out + 4, vcvt_high_f32_f16(half));
}

static void f16_to_f32(float *out, const uint16_t *in, size_t n) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        widen8(out + i, in + i);
    if (i < n) {
        uint16_t half[8] = {0};
        float rest[8];
        memcpy(half, in + i, (n - i) * sizeof(uint16_t));
        widen8(rest, half);
        memcpy(out + i, rest, (n - i) * sizeof(float));
    }
}

void thr_kernels_fill_neon(thr_kernels *kernels) {
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
#undef FILL
    THR_FILL_CODE_KERNELS(kernels, neon)
    thr_kernels_fill_neon_encode(kernels);
    thr_kernels_fill_neon_screen(kernels);
    kernels->rest_product = thr_kernel_rest_product_neon;
    thr_kernels_fill_neon_layers(kernels);
    thr_kernels_fill_neon_postings(kernels);
    thr_kernels_fill_neon_wide(kernels);
    thr_kernels_fill_neon_heads(kernels);
}
