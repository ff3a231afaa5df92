/* SPDX-License-Identifier: Apache-2.0 */
/* NEON with dot products: SDOT adds four byte products to each 32-bit lane. */
#include "kernel/arm/neon_tile.h"

/*
 * 64 plane bits become bytes of -1 or 0. Their products with the digits are the negated digits that the plane
 * selects. Planes are processed one by one: the digits are few and stay in the L1 cache.
 */
static int32_t rest_product(const uint8_t *planes, uint32_t n_planes, size_t n_rows, const int8_t *digits,
                            int32_t digit_sum) {
    const uint8x16_t places = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201));
    /* byte 0 for 8 dimensions, byte 1 for the next 8 */
    const uint8x16_t spread = vcombine_u8(vdup_n_u8(0), vdup_n_u8(1));
    int32_t sum = 0;
    for (uint32_t j = 0; j < n_planes; j++, planes += n_rows) {
        int32x4_t picked[4];
        for (int v = 0; v < 4; v++)
            picked[v] = vdupq_n_s32(0);
        for (size_t r = 0; r < n_rows; r += 8) {
            const uint8x8_t eight = vld1_u8(planes + r);
            const uint8x16_t bits = vcombine_u8(eight, eight);
            for (int v = 0; v < 4; v++) {
                const uint8x16_t byte = vqtbl1q_u8(bits, vaddq_u8(spread, vdupq_n_u8((uint8_t)(2 * v))));
                const int8x16_t minus = vreinterpretq_s8_u8(vtstq_u8(byte, places));
                picked[v] = vdotq_s32(picked[v], minus, vld1q_s8(digits + 8 * r + 16 * v));
            }
        }
        const int32x4_t all = vaddq_s32(vaddq_s32(picked[0], picked[1]), vaddq_s32(picked[2], picked[3]));
        sum = 2 * sum - vaddvq_s32(all);
    }
    return 2 * sum - ((1 << n_planes) - 1) * digit_sum;
}

/* Add the products of four dimensions of four queries and sixteen items. */
TILE_INLINE void add_products(tile_sums *sums, const int8_t *bytes, int8x16_t digits) {
    for (int k = 0; k < 4; k++) {
        const int8x16_t u = vld1q_s8(bytes + 16 * k);
        sums->of[0][k] = vdotq_laneq_s32(sums->of[0][k], u, digits, 0);
        sums->of[1][k] = vdotq_laneq_s32(sums->of[1][k], u, digits, 1);
        sums->of[2][k] = vdotq_laneq_s32(sums->of[2][k], u, digits, 2);
        sums->of[3][k] = vdotq_laneq_s32(sums->of[3][k], u, digits, 3);
    }
}

static void multiply(tile_sums *sums, const int8_t *bytes, const int8_t *digits, uint32_t n_rows, uint32_t most) {
    (void)most;
    tile_sums all;
    for (int q = 0; q < TILE_QUERIES; q++)
        for (int k = 0; k < 4; k++)
            all.of[q][k] = vdupq_n_s32(0);
    for (uint32_t h = 0; h < 2 * n_rows; h++, bytes += 64, digits += 16)
        add_products(&all, bytes, vld1q_s8(digits));
    *sums = all;
}

static void distance_tile(uint32_t *distances, size_t stride, const uint8_t *blocks, size_t n_blocks,
                          const thr_query_tile *tile) {
    tile_any_planes(distances, stride, blocks, n_blocks, tile, multiply);
}

void thr_kernels_fill_neon_dot(thr_kernels *kernels) {
    kernels->distance_tile = distance_tile;
    kernels->rest_product = rest_product;
}
