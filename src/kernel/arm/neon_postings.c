/* SPDX-License-Identifier: Apache-2.0 */
/* A quarter of a block's sums stays in 16 registers for all bitmaps; lane masks separate the bits of a byte. */
#include "kernel/kernel.h"
#include "kernel/unroll.h"

#include <arm_neon.h>

enum { BYTES = 8 };

static void add_quarter(int32_t *sums, const uint8_t *const *bitmaps, size_t first, const int32_t *weights, size_t n) {
    static const int32_t lanes[] = {1, 2, 4, 8, 16, 32, 64, 128};
    const int32x4_t low = vld1q_s32(lanes), high = vld1q_s32(lanes + 4);
    int32x4_t all[2 * BYTES];
    THR_UNROLL
    for (size_t v = 0; v < 2 * BYTES; v++)
        all[v] = vld1q_s32(sums + 4 * v);
    for (size_t b = 0; b < n; b++) {
        const int32x4_t weight = vdupq_n_s32(weights[b]);
        THR_UNROLL
        for (size_t v = 0; v < BYTES; v++) {
            const int32x4_t byte = vdupq_n_s32(bitmaps[b][first + v]);
            all[2 * v] = vaddq_s32(all[2 * v], vandq_s32(vreinterpretq_s32_u32(vtstq_s32(byte, low)), weight));
            all[2 * v + 1] = vaddq_s32(all[2 * v + 1], vandq_s32(vreinterpretq_s32_u32(vtstq_s32(byte, high)), weight));
        }
    }
    THR_UNROLL
    for (size_t v = 0; v < 2 * BYTES; v++)
        vst1q_s32(sums + 4 * v, all[v]);
}

static void add_bitmaps(int32_t *sums, const uint8_t *const *bitmaps, const int32_t *weights, size_t n) {
    for (size_t first = 0; first < 32; first += BYTES)
        add_quarter(sums + 8 * first, bitmaps, first, weights, n);
}

static void add_run(int32_t *sums, size_t n, int32_t weight) {
    const int32x4_t weights = vdupq_n_s32(weight);
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        vst1q_s32(sums + i, vaddq_s32(vld1q_s32(sums + i), weights));
    for (; i < n; i++)
        sums[i] = thr_add_wrapping(sums[i], weight);
}

/* Convert four lanes of all ones or zeros to four bits. */
static uint64_t screen_sums(const int32_t *sums, int32_t least) {
    static const uint32_t powers[] = {1, 2, 4, 8};
    const int32x4_t bound = vdupq_n_s32(least);
    const uint32x4_t bits = vld1q_u32(powers);
    uint64_t mask = 0;
    for (size_t v = 0; v < 16; v++)
        mask |= (uint64_t)vaddvq_u32(vandq_u32(vcgeq_s32(vld1q_s32(sums + 4 * v), bound), bits)) << 4 * v;
    return mask;
}

static uint64_t screen_values(float *scores, const int32_t *sums, const thr_value_line *line, const float *multipliers,
                              const float *offsets, float threshold) {
    static const uint32_t powers[] = {1, 2, 4, 8};
    const float32x4_t gain = vdupq_n_f32(line->gain), bias = vdupq_n_f32(line->bias);
    const float32x4_t unit = vdupq_n_f32(line->unit), bound = vdupq_n_f32(threshold);
    const uint32x4_t bits = vld1q_u32(powers);
    uint64_t mask = 0;
    for (size_t i = 0; i < 64; i += 4) {
        float32x4_t value = vaddq_f32(vmulq_f32(vld1q_f32(scores + i), gain), bias);
        value = vaddq_f32(value, vmulq_f32(vcvtq_f32_s32(vld1q_s32(sums + i)), unit));
        if (multipliers != NULL)
            value = vmulq_f32(value, vld1q_f32(multipliers + i));
        if (offsets != NULL)
            value = vaddq_f32(value, vld1q_f32(offsets + i));
        vst1q_f32(scores + i, value);
        mask |= (uint64_t)vaddvq_u32(vandq_u32(vcgeq_f32(value, bound), bits)) << i;
    }
    return mask;
}

void thr_kernels_fill_neon_postings(thr_kernels *kernels) {
    kernels->add_bitmaps = add_bitmaps;
    kernels->add_run = add_run;
    kernels->screen_sums = screen_sums;
    kernels->screen_values = screen_values;
}
