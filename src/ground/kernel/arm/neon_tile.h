/* SPDX-License-Identifier: Apache-2.0 */
/*
 * neon_tile.h - distance_tile of the ARM levels, except for the multiplication, in which they differ.
 *
 * The integers u_d of sixteen items are unpacked from their planes for some rows, then multiplied with all queries,
 * four at a time. Products are of signed bytes: with 8 planes u_d - 128 is multiplied, and 128 times the digits' sum
 * is added.
 */
#pragma once

#include "base/minmax.h"
#include "kernel/kernel.h"
#include "kernel/planes.h"

#include <arm_neon.h>
#include <string.h>

enum {
    TILE_BLOCK = 64,
    TILE_ITEMS = 16,        /* unpacked at a time: a register of plane bytes */
    TILE_QUERIES = 4,       /* multiplied at a time; their digits are interleaved */
    TILE_ROW_DIGITS = 32,   /* 8 dimensions of 4 queries */
    TILE_ROW_BYTES = 128,   /* dimensions 0 to 3 of 16 items, then dimensions 4 to 7 */
    TILE_ROWS_A_ROUND = 64, /* 8 KiB of unpacked bytes */
};

#define TILE_INLINE static inline __attribute__((always_inline))

/* Sums of products of four queries with sixteen items, four items per register. */
typedef struct tile_sums {
    int32x4_t of[TILE_QUERIES][4];
} tile_sums;

/* Compute the sums for n_rows rows. most: the largest absolute value of a product. */
typedef void (*tile_multiply)(tile_sums *sums, const int8_t *bytes, const int8_t *digits, uint32_t n_rows,
                              uint32_t most);

/*
 * Unpack up to four planes of sixteen items, the most significant first, to nibbles. words[k]: items 4 k to 4 k + 3,
 * four bytes each; byte i has dimension i in its lower nibble and dimension i + 4 in its upper one.
 */
TILE_INLINE void tile_nibbles(uint8x16_t words[4], const uint8_t *planes, const uint32_t n_planes) {
    const uint8x16_t alternate = vdupq_n_u8(0xaa), pairs = vdupq_n_u8(0xcc);
    uint8x16_t x[4] = {vdupq_n_u8(0), vdupq_n_u8(0), vdupq_n_u8(0), vdupq_n_u8(0)};
    for (uint32_t p = 0; p < n_planes; p++)
        x[4 - n_planes + p] = vld1q_u8(planes + TILE_BLOCK * p);
    /* First combine bits of two planes, even and odd dimensions separately; then of four planes. */
    const uint8x16_t even = vbslq_u8(alternate, vaddq_u8(x[2], x[2]), x[3]);
    const uint8x16_t odd = vbslq_u8(alternate, x[2], vshrq_n_u8(x[3], 1));
    const uint8x16_t upper_even = vbslq_u8(alternate, vaddq_u8(x[0], x[0]), x[1]);
    const uint8x16_t upper_odd = vbslq_u8(alternate, x[0], vshrq_n_u8(x[1], 1));
    const uint8x16_t dim0 = vbslq_u8(pairs, vshlq_n_u8(upper_even, 2), even);
    const uint8x16_t dim1 = vbslq_u8(pairs, vshlq_n_u8(upper_odd, 2), odd);
    const uint8x16_t dim2 = vbslq_u8(pairs, upper_even, vshrq_n_u8(even, 2));
    const uint8x16_t dim3 = vbslq_u8(pairs, upper_odd, vshrq_n_u8(odd, 2));
    const uint16x8_t low01 = vreinterpretq_u16_u8(vzip1q_u8(dim0, dim1));
    const uint16x8_t high01 = vreinterpretq_u16_u8(vzip2q_u8(dim0, dim1));
    const uint16x8_t low23 = vreinterpretq_u16_u8(vzip1q_u8(dim2, dim3));
    const uint16x8_t high23 = vreinterpretq_u16_u8(vzip2q_u8(dim2, dim3));
    words[0] = vreinterpretq_u8_u16(vzip1q_u16(low01, low23));
    words[1] = vreinterpretq_u8_u16(vzip2q_u16(low01, low23));
    words[2] = vreinterpretq_u8_u16(vzip1q_u16(high01, high23));
    words[3] = vreinterpretq_u8_u16(vzip2q_u16(high01, high23));
}

TILE_INLINE void tile_unpack(int8_t *bytes, const uint8_t *codes, uint32_t n_rows, const uint32_t planes) {
    const uint32_t low_planes = THR_MIN(planes, 4);
    const uint8x16_t less = vdupq_n_u8(planes == 8 ? 0x80 : 0); /* u XOR 128 is u - 128 */
    for (uint32_t r = 0; r < n_rows; r++, codes += TILE_BLOCK * planes, bytes += TILE_ROW_BYTES) {
        uint8x16_t low[4], high[4];
        tile_nibbles(low, codes + TILE_BLOCK * (planes - low_planes), low_planes);
        if (planes > 4)
            tile_nibbles(high, codes, planes - 4);
        for (int k = 0; k < 4; k++) {
            const uint8x16_t first = planes > 4 ? vsliq_n_u8(low[k], high[k], 4) : vandq_u8(low[k], vdupq_n_u8(15));
            const uint8x16_t second = planes > 4 ? vsriq_n_u8(high[k], low[k], 4) : vshrq_n_u8(low[k], 4);
            vst1q_s8(bytes + 16 * k, vreinterpretq_s8_u8(veorq_u8(first, less)));
            vst1q_s8(bytes + 64 + 16 * k, vreinterpretq_s8_u8(veorq_u8(second, less)));
        }
    }
}

/* Sum the digits of each of four queries. */
TILE_INLINE int32x4_t tile_digit_sums(const int8_t *digits, uint32_t n_rows) {
    int32x4_t sums = vdupq_n_s32(0);
    for (uint32_t h = 0; h < 2 * n_rows; h++)
        sums = vpadalq_s16(sums, vpaddlq_s8(vld1q_s8(digits + 16 * h)));
    return sums;
}

/* Add 128 times the digits' sums to the products of items of 8 planes. */
TILE_INLINE void tile_add_halves(tile_sums *sums, const int8_t *digits, uint32_t n_rows) {
    const int32x4_t more = vshlq_n_s32(tile_digit_sums(digits, n_rows), 7);
    for (int k = 0; k < 4; k++) {
        sums->of[0][k] = vaddq_s32(sums->of[0][k], vdupq_laneq_s32(more, 0));
        sums->of[1][k] = vaddq_s32(sums->of[1][k], vdupq_laneq_s32(more, 1));
        sums->of[2][k] = vaddq_s32(sums->of[2][k], vdupq_laneq_s32(more, 2));
        sums->of[3][k] = vaddq_s32(sums->of[3][k], vdupq_laneq_s32(more, 3));
    }
}

/* Some unpacked rows of sixteen items. */
typedef struct tile_rows {
    const int8_t *bytes;
    uint32_t n_rows, planes, most;
} tile_rows;

TILE_INLINE void tile_products(tile_sums *sums, const tile_rows *rows, const int8_t *digits, tile_multiply multiply) {
    multiply(sums, rows->bytes, digits, rows->n_rows, rows->most);
    if (rows->planes == 8)
        tile_add_halves(sums, digits, rows->n_rows);
}

/* Sum u_d of each item by multiplying with ones. */
TILE_INLINE void tile_item_sums(int32x4_t item_sums[4], const tile_rows *rows, tile_multiply multiply) {
    int8_t ones[TILE_ROWS_A_ROUND * TILE_ROW_DIGITS];
    tile_sums sums;
    memset(ones, 1, sizeof ones);
    tile_products(&sums, rows, ones, multiply);
    for (int k = 0; k < 4; k++)
        item_sums[k] = sums.of[0][k];
}

/* Store sixteen distances of a query: base minus products, or the previous distances minus products. */
TILE_INLINE void tile_store(uint32_t *distances, const int32x4_t sums[4], const int32x4_t *item_sums, uint32_t base,
                            int first) {
    for (int k = 0; k < 4; k++) {
        int32x4_t sum = sums[k];
        if (item_sums != NULL) /* 8-bit digits are (e_d - 1) / 2 */
            sum = vaddq_s32(vaddq_s32(sum, sum), item_sums[k]);
        const uint32x4_t from = first ? vdupq_n_u32(base) : vld1q_u32(distances + 4 * k);
        vst1q_u32(distances + 4 * k, vsubq_u32(from, vreinterpretq_u32_s32(sum)));
    }
}

TILE_INLINE void tile_distances(uint32_t *distances, size_t stride, const uint8_t *blocks, size_t n_blocks,
                                const thr_query_tile *tile, tile_multiply multiply, const uint32_t planes) {
    int8_t bytes[TILE_ROWS_A_ROUND * TILE_ROW_BYTES];
    const uint32_t n_rows = tile->n_rows, most_digit = tile->bits == 8 ? 128 : (1u << tile->bits) - 1;
    tile_rows rows = {bytes, 0, planes, most_digit * (planes == 8 ? 128 : (1u << planes) - 1)};
    for (size_t i = 0; i < n_blocks * TILE_BLOCK; i += TILE_ITEMS)
        for (uint32_t r = 0; r < n_rows; r += TILE_ROWS_A_ROUND) {
            const size_t row = i / TILE_BLOCK * n_rows + r;
            int32x4_t item_sums[4];
            rows.n_rows = THR_MIN(n_rows - r, TILE_ROWS_A_ROUND);
            tile_unpack(bytes, blocks + row * TILE_BLOCK * planes + i % TILE_BLOCK, rows.n_rows, planes);
            if (tile->bits == 8)
                tile_item_sums(item_sums, &rows, multiply);
            for (size_t q = 0; q < tile->n_queries; q += TILE_QUERIES) {
                tile_sums sums;
                tile_products(&sums, &rows, tile->digits + TILE_ROW_DIGITS * (q / TILE_QUERIES * n_rows + r), multiply);
                for (size_t j = 0; j < TILE_QUERIES && q + j < tile->n_queries; j++)
                    tile_store(distances + (q + j) * stride + i, sums.of[j], tile->bits == 8 ? item_sums : NULL,
                               tile->bases[q + j], r == 0);
            }
        }
}

/* distance_tile with the level's own multiplication. */
TILE_INLINE void tile_any_planes(uint32_t *distances, size_t stride, const uint8_t *blocks, size_t n_blocks,
                                 const thr_query_tile *tile, tile_multiply multiply) {
    THR_CALL_PLANES(tile->item_bits, tile_distances, distances, stride, blocks, n_blocks, tile, multiply)
}
