/* SPDX-License-Identifier: Apache-2.0 */
/* NEON kernels of the screen: bounds, scores, and masks of 64 items. */
#include "kernel/arm/neon.h"

#include <arm_neon.h>
#include <string.h>

enum { ITEMS = 64 };

/*
 * NEON has no instruction that gathers sign bits. Instead, lanes of all ones or zeros are narrowed to bytes, sixteen
 * a register, each is masked to the bit of its position modulo 8, and three rounds of pairwise addition leave the
 * mask's eight bytes in order.
 */
static inline uint8x16_t bytes_of(const uint32x4_t lanes[4]) {
    uint16x8_t low = vmovn_high_u32(vmovn_u32(lanes[0]), lanes[1]);
    uint16x8_t high = vmovn_high_u32(vmovn_u32(lanes[2]), lanes[3]);
    return vmovn_high_u16(vmovn_u16(low), high);
}

static inline uint64_t mask_of(const uint8x16_t bytes[4]) {
    const uint8x16_t places = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201));
    uint8x16_t low = vpaddq_u8(vandq_u8(bytes[0], places), vandq_u8(bytes[1], places));
    uint8x16_t high = vpaddq_u8(vandq_u8(bytes[2], places), vandq_u8(bytes[3], places));
    uint8x16_t both = vpaddq_u8(low, high);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(both, both)), 0);
}

/* block_bounds of scalar.c, operation by operation, four blocks at a time. */
static inline int32x4_t bounds_of_4(uint32x4_t floors, float threshold, int32_t total) {
    float32x4_t needed = vmulq_n_f32(vsqrtq_f32(vcvtq_f32_u32(floors)), threshold);
    needed = vmulq_n_f32(needed, 1.0f - 0x1p-19f);
    float32x4_t slack = vmulq_n_f32(vsubq_f32(vdupq_n_f32((float)total), needed), 0.5f);
    slack = vaddq_f32(slack, vmulq_n_f32(vabsq_f32(slack), 0x1p-22f));
    int32x4_t bound = vaddq_s32(vcvtq_s32_f32(slack), vdupq_n_s32(1));
    bound = vbslq_s32(vcgeq_f32(slack, vdupq_n_f32(0x1p30f)), vdupq_n_s32(INT32_MAX), bound);
    return vbslq_s32(vcltzq_f32(slack), vdupq_n_s32(-1), bound);
}

static void block_bounds(int32_t *bounds, const uint32_t *floors, size_t n_blocks, float threshold, int32_t total) {
    size_t b = 0;
    for (; b + 4 <= n_blocks; b += 4)
        vst1q_s32(bounds + b, bounds_of_4(vld1q_u32(floors + b), threshold, total));
    if (b < n_blocks) {
        uint32_t rest[4] = {0};
        int32_t found[4];
        memcpy(rest, floors + b, (n_blocks - b) * sizeof *floors);
        vst1q_s32(found, bounds_of_4(vld1q_u32(rest), threshold, total));
        memcpy(bounds + b, found, (n_blocks - b) * sizeof *bounds);
    }
}

static void screen_distances(uint64_t *masks, const uint32_t *distances, size_t n_blocks, const int32_t *bounds) {
    for (size_t b = 0; b < n_blocks; b++, distances += ITEMS) {
        const int32x4_t bound = vdupq_n_s32(bounds[b]);
        uint8x16_t bytes[4];
        for (int i = 0; i < 4; i++) {
            uint32x4_t lanes[4];
            for (int l = 0; l < 4; l++)
                lanes[l] = vcleq_s32(vreinterpretq_s32_u32(vld1q_u32(distances + 16 * i + 4 * l)), bound);
            bytes[i] = bytes_of(lanes);
        }
        masks[b] = mask_of(bytes);
    }
}

static inline float32x4_t products(const uint32_t *distances, int32_t total) {
    uint32x4_t d = vld1q_u32(distances);
    return vcvtq_f32_s32(vreinterpretq_s32_u32(vsubq_u32(vdupq_n_u32((uint32_t)total), vaddq_u32(d, d))));
}

static uint64_t screen_cosine(float *scores, const uint32_t *distances, const uint32_t *squares, int32_t total,
                              float threshold) {
    uint8x16_t bytes[4];
    for (int i = 0; i < 4; i++) {
        uint32x4_t lanes[4];
        for (int l = 0; l < 4; l++) {
            const int item = 16 * i + 4 * l;
            float32x4_t square = vcvtq_f32_s32(vreinterpretq_s32_u32(vld1q_u32(squares + item)));
            float32x4_t score = vdivq_f32(products(distances + item, total), vsqrtq_f32(square));
            vst1q_f32(scores + item, score);
            lanes[l] = vcgeq_f32(score, vdupq_n_f32(threshold));
        }
        bytes[i] = bytes_of(lanes);
    }
    return mask_of(bytes);
}

static uint64_t screen_factors(float *scores, const uint32_t *distances, const float *factors, const float *offsets,
                               const thr_score_line *line) {
    const thr_score_line own = *line; /* a copy, which stores to scores cannot alias */
    uint8x16_t bytes[4];
    for (int i = 0; i < 4; i++) {
        uint32x4_t lanes[4];
        for (int l = 0; l < 4; l++) {
            const int item = 16 * i + 4 * l;
            float32x4_t score = vmulq_f32(products(distances + item, own.total), vld1q_f32(factors + item));
            score = vmulq_n_f32(score, own.gain);
            if (offsets != NULL)
                score = vsubq_f32(score, vmulq_n_f32(vld1q_f32(offsets + item), own.weight));
            vst1q_f32(scores + item, score);
            lanes[l] = vcgeq_f32(score, vdupq_n_f32(own.threshold));
        }
        bytes[i] = bytes_of(lanes);
    }
    return mask_of(bytes);
}

static inline float32x4_t widen_bf16(uint16x4_t values) {
    return vreinterpretq_f32_u32(vshll_n_u16(values, 16));
}

/* Four scores; numbers holds factors, or pairs of a factor and an offset. */
static inline float32x4_t lead_scores(const uint32_t *distances, const uint16_t *numbers, bool offsets,
                                      thr_score_line line) {
    const float32x4_t product = products(distances, line.total);
    if (!offsets)
        return vmulq_n_f32(vmulq_f32(product, widen_bf16(vld1_u16(numbers))), line.gain);
    const uint16x4x2_t pairs = vld2_u16(numbers);
    return vsubq_f32(vmulq_n_f32(vmulq_f32(product, widen_bf16(pairs.val[0])), line.gain),
                     vmulq_n_f32(widen_bf16(pairs.val[1]), line.weight));
}

static uint64_t screen_leads(float *scores, const uint32_t *distances, const uint16_t *numbers, bool offsets,
                             const thr_score_line *line) {
    const thr_score_line own = *line; /* a copy, which stores to scores cannot alias */
    const size_t step = offsets ? 8 : 4;
    uint8x16_t bytes[4];
    for (int i = 0; i < 4; i++) {
        uint32x4_t lanes[4];
        for (int l = 0; l < 4; l++) {
            const int four = 4 * i + l;
            const float32x4_t score = lead_scores(distances + 4 * four, numbers + step * (size_t)four, offsets, own);
            vst1q_f32(scores + 4 * four, score);
            lanes[l] = vcgeq_f32(score, vdupq_n_f32(own.threshold));
        }
        bytes[i] = bytes_of(lanes);
    }
    return mask_of(bytes);
}

static uint64_t screen_scores(const float *scores, float threshold) {
    uint8x16_t bytes[4];
    for (int i = 0; i < 4; i++) {
        uint32x4_t lanes[4];
        for (int l = 0; l < 4; l++)
            lanes[l] = vcgeq_f32(vld1q_f32(scores + 16 * i + 4 * l), vdupq_n_f32(threshold));
        bytes[i] = bytes_of(lanes);
    }
    return mask_of(bytes);
}

void thr_kernels_fill_neon_screen(thr_kernels *kernels) {
    kernels->block_bounds = block_bounds;
    kernels->screen_distances = screen_distances;
    kernels->screen_cosine = screen_cosine;
    kernels->screen_factors = screen_factors;
    kernels->screen_leads = screen_leads;
    kernels->screen_scores = screen_scores;
}
