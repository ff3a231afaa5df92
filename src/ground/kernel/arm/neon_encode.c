/* SPDX-License-Identifier: Apache-2.0 */
/* NEON kernels for encoding: the planes of a vector, and its products with its own code. */
#include "kernel/arm/neon.h"

#include <arm_neon.h>
#include <string.h>

typedef struct cells {
    float32x4_t scale, low, high;
    int32x4_t half;
} cells;

static cells cells_for(float scale, uint32_t bits) {
    const int32_t half = 1 << (bits - 1);
    return (cells){vdupq_n_f32(scale), vdupq_n_f32((float)-half), vdupq_n_f32((float)(half - 1)), vdupq_n_s32(half)};
}

/* Non-negative cells of four scaled numbers. */
static inline int32x4_t cells_of(float32x4_t y, const cells *to) {
    float32x4_t cell = vminq_f32(vmaxq_f32(vrndmq_f32(y), to->low), to->high);
    return vaddq_s32(vcvtq_s32_f32(cell), to->half);
}

static inline uint16x4_t cells_of_4(const float *x, const cells *to) {
    return vreinterpret_u16_s16(vmovn_s32(cells_of(vmulq_f32(vld1q_f32(x), to->scale), to)));
}

/* Transpose the 8 x 8 bits of both halves: swap blocks of 1, 2 and 4 bits across the diagonal. */
static inline uint64x2_t transpose_bits(uint64x2_t x) {
    uint64x2_t swap = vandq_u64(veorq_u64(x, vshrq_n_u64(x, 7)), vdupq_n_u64(0x00aa00aa00aa00aa));
    x = veorq_u64(x, veorq_u64(swap, vshlq_n_u64(swap, 7)));
    swap = vandq_u64(veorq_u64(x, vshrq_n_u64(x, 14)), vdupq_n_u64(0x0000cccc0000cccc));
    x = veorq_u64(x, veorq_u64(swap, vshlq_n_u64(swap, 14)));
    swap = vandq_u64(veorq_u64(x, vshrq_n_u64(x, 28)), vdupq_n_u64(0x00000000f0f0f0f0));
    return veorq_u64(x, veorq_u64(swap, vshlq_n_u64(swap, 28)));
}

/*
 * Two rows of eight dimensions at a time: the cells of a row are a matrix of 8 x 8 bits whose columns are the planes.
 */
static void quantise(uint8_t *out, const float *x, size_t n, float scale, uint32_t bits) {
    const cells to = cells_for(scale, bits);
    /* A negative left shift, which is a right shift past the planes that a cell does not have. */
    const int64x2_t to_first = vdupq_n_s64(8 * ((int64_t)bits - 8));
    for (size_t d = 0; d < n; d += 16) {
        float rest[16] = {0};
        const float *at = x + d;
        const size_t left = n - d;
        if (left < 16)
            at = memcpy(rest, at, left * sizeof(float));
        uint16x8_t low = vcombine_u16(cells_of_4(at, &to), cells_of_4(at + 4, &to));
        uint16x8_t high = vcombine_u16(cells_of_4(at + 8, &to), cells_of_4(at + 12, &to));
        uint8x16_t u = vmovn_high_u16(vmovn_u16(low), high);
        /* Byte k of a half holds bit k of its cells; the most significant plane must come first. */
        uint8x16_t planes = vrev64q_u8(vreinterpretq_u8_u64(transpose_bits(vreinterpretq_u64_u8(u))));
        uint64x2_t rows = vshlq_u64(vreinterpretq_u64_u8(planes), to_first);
        for (size_t row = 0; row < 2 && 8 * row < left; row++) {
            uint64_t word = row == 0 ? vgetq_lane_u64(rows, 0) : vgetq_lane_u64(rows, 1);
            if (left - 8 * row < 8)
                word &= 0x0101010101010101 * ((1u << (left - 8 * row)) - 1);
            for (uint32_t p = 0; p < bits; p++, word >>= 8)
                *out++ = (uint8_t)word;
        }
    }
}

static inline float add_lanes(const float32x4_t sums[4]) {
    float32x4_t four = vaddq_f32(vaddq_f32(sums[0], sums[2]), vaddq_f32(sums[1], sums[3]));
    return vpadds_f32(vadd_f32(vget_low_f32(four), vget_high_f32(four)));
}

typedef struct product_sums {
    float32x4_t full[4], lead[4]; /* at i: partial sums 4 i to 4 i + 3 */
} product_sums;

static void code_products(float *products, const float *x, size_t n, float scale, uint32_t bits, uint32_t lead) {
    const cells to = cells_for(scale, bits);
    const int32x4_t middle = vdupq_n_s32(1 - (1 << bits)), lead_middle = vdupq_n_s32(1 - (1 << lead));
    const int32x4_t drop = vdupq_n_s32((int32_t)lead - (int32_t)bits);
    product_sums sums;
    for (int l = 0; l < 4; l++)
        sums.full[l] = sums.lead[l] = vdupq_n_f32(0);
    for (size_t d = 0; d < n; d += 16) {
        float rest[16] = {0};
        const float *at = x + d;
        if (n - d < 16)
            at = memcpy(rest, at, (n - d) * sizeof(float));
        for (int l = 0; l < 4; l++) {
            const float32x4_t y = vmulq_f32(vld1q_f32(at + 4 * l), to.scale);
            const int32x4_t u = cells_of(y, &to), lead_u = vshlq_s32(u, drop);
            const float32x4_t b = vcvtq_f32_s32(vaddq_s32(vaddq_s32(u, u), middle));
            const float32x4_t lead_b = vcvtq_f32_s32(vaddq_s32(vaddq_s32(lead_u, lead_u), lead_middle));
            sums.full[l] = vaddq_f32(sums.full[l], vmulq_f32(y, b));
            sums.lead[l] = vaddq_f32(sums.lead[l], vmulq_f32(y, lead_b));
        }
    }
    products[0] = add_lanes(sums.full);
    products[1] = add_lanes(sums.lead);
}

void thr_kernels_fill_neon_encode(thr_kernels *kernels) {
    kernels->quantise = quantise;
    kernels->code_products = code_products;
}
