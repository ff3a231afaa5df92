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

void thr_kernels_fill_neon_postings(thr_kernels *kernels) {
    kernels->add_bitmaps = add_bitmaps;
}
