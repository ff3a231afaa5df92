/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many queries without the dot product extension: SMLAL multiplies eight bytes and adds to 16-bit words, one per
 * dimension, which are added to 32-bit sums before they can overflow.
 */
#include "kernel/arm/neon_tile.h"

#include "kernel/arm/neon.h"

static inline int8x16_t digits_of(const int8_t *digits) {
    int32_t four;
    memcpy(&four, digits, sizeof four);
    return vreinterpretq_s8_s32(vdupq_n_s32(four));
}

/* One query. words[2 k] holds items 4 k and 4 k + 1, words[2 k + 1] the next two, two pairs of dimensions each. */
static inline void multiply_one(int32x4_t sums[4], const int8_t *bytes, const int8_t *digits, uint32_t n_rows,
                                uint32_t most) {
    const uint32_t n_halves = 2 * n_rows, halves_a_round = 32767 / most;
    int32x4_t pairs[8];
    for (int w = 0; w < 8; w++)
        pairs[w] = vdupq_n_s32(0);
    for (uint32_t h = 0; h < n_halves;) {
        const uint32_t end = n_halves - h < halves_a_round ? n_halves : h + halves_a_round;
        int16x8_t words[8];
        for (int w = 0; w < 8; w++)
            words[w] = vdupq_n_s16(0);
        for (; h < end; h++) {
            const int8x16_t digit = digits_of(digits + 16 * h);
            for (int k = 0; k < 4; k++) {
                const int8x16_t u = vld1q_s8(bytes + 64 * h + 16 * k);
                words[2 * k] = vmlal_s8(words[2 * k], vget_low_s8(u), vget_low_s8(digit));
                words[2 * k + 1] = vmlal_high_s8(words[2 * k + 1], u, digit);
            }
        }
        for (int w = 0; w < 8; w++)
            pairs[w] = vpadalq_s16(pairs[w], words[w]);
    }
    for (int k = 0; k < 4; k++)
        sums[k] = vpaddq_s32(pairs[2 * k], pairs[2 * k + 1]);
}

static void multiply(tile_sums *sums, const int8_t *bytes, const int8_t *digits, uint32_t n_rows, uint32_t most) {
    for (int q = 0; q < TILE_QUERIES; q++)
        multiply_one(sums->of[q], bytes, digits + 4 * q, n_rows, most);
}

void thr_kernel_distance_tile_neon(uint32_t *distances, size_t stride, const uint8_t *blocks, size_t n_blocks,
                                   const thr_query_tile *tile) {
    tile_any_planes(distances, stride, blocks, n_blocks, tile, multiply);
}
