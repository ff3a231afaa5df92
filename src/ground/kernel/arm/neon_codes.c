/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plane code kernels with NEON: 32 items at a time, two registers of a byte row, so that all sums stay in registers.
 * A block is traversed twice; the second half of its cache lines is in the L1 cache by then.
 *
 * CNT counts the bits of sixteen bytes. As with AVX-512, pairs of planes of equal weight share an 8-bit accumulator,
 * a "level" (level l has weight 2^l), which is emptied into 32-bit sums before it can overflow.
 *
 * TBL with one register looks up four dimensions, as PSHUFB does. A table of 64 bytes would fit in four registers,
 * but that form of TBL needs its index masked and is reported to be about three times as slow.
 */
#include "base/minmax.h"
#include "kernel/arm/neon.h"
#include "kernel/planes.h"

#include <arm_neon.h>

enum { ITEMS = 64, HALF = 32, MAX_PLANES = 8, MAX_LEVELS = 14, ROWS_A_ROUND = 546 /* 546 * 120 fit 16 bits; even */ };

#define INLINE static inline __attribute__((always_inline))

/* Set sums[0..7] to words, or add words to them. */
INLINE void store_words(uint32_t *sums, uint16x8_t low, uint16x8_t high, int first) {
    /* low + 256 high, 16 bits each */
    uint32x4_t a = vaddw_u16(vshll_n_u16(vget_low_u16(high), 8), vget_low_u16(low));
    uint32x4_t b = vaddw_high_u16(vshll_high_n_u16(high, 8), low);
    vst1q_u32(sums, first ? a : vaddq_u32(a, vld1q_u32(sums)));
    vst1q_u32(sums + 4, first ? b : vaddq_u32(b, vld1q_u32(sums + 4)));
}

/*
 * Set sums to the weighted levels of 32 items, or add them, and clear the levels. Eight levels of bytes fit 16 bits:
 * 255 (2^8 - 1) < 2^16.
 */
INLINE void empty_levels(uint32_t *sums, uint8x16_t levels[][2], const uint32_t n_levels, int first) {
    for (int v = 0; v < 2; v++) {
        uint16x8_t words[2][2]; /* [levels 8 and up, levels below][first eight items, other eight] */
        for (int group = 0; group < 2; group++) {
            words[group][0] = words[group][1] = vdupq_n_u16(0);
            const uint32_t from = group == 0 ? 8 : 0, to = THR_MIN(n_levels, from + 8);
            for (uint32_t l = to; l-- > from;) {
                words[group][0] = vaddw_u8(vaddq_u16(words[group][0], words[group][0]), vget_low_u8(levels[l][v]));
                words[group][1] = vaddw_high_u8(vaddq_u16(words[group][1], words[group][1]), levels[l][v]);
            }
        }
        store_words(sums + 16 * v, words[1][0], words[0][0], first);
        store_words(sums + 16 * v + 8, words[1][1], words[0][1], first);
    }
    for (uint32_t l = 0; l < n_levels; l++)
        levels[l][0] = levels[l][1] = vdupq_n_u8(0);
}

INLINE uint8x16_t count(uint8x16_t sum, uint8x16_t x, uint8x16_t y) {
    return vaddq_u8(sum, vcntq_u8(veorq_u8(x, y)));
}

INLINE void distance_xor(uint32_t *distances, const uint8_t *blocks, size_t n_blocks, const thr_query_part *part,
                         const uint32_t item_bits, const uint32_t query_bits) {
    const uint32_t pairs = THR_MIN(item_bits, query_bits); /* maximum number of pairs in one level */
    const uint32_t rows_a_round = 255 / (8 * pairs), n_levels = item_bits + query_bits - 1;
    const size_t row_size = (size_t)ITEMS * item_bits;
    for (size_t b = 0; b < n_blocks; b++, blocks += row_size * part->n_rows, distances += ITEMS)
        for (int half = 0; half < 2; half++) {
            uint8x16_t levels[MAX_LEVELS][2];
            for (uint32_t l = 0; l < n_levels; l++)
                levels[l][0] = levels[l][1] = vdupq_n_u8(0);
            const uint8_t *row = blocks + HALF * half;
            const uint32_t *query = part->planes;
            for (uint32_t r = 0; r < part->n_rows;) {
                const int first = r == 0;
                const uint32_t end = part->n_rows - r > rows_a_round ? r + rows_a_round : part->n_rows;
                for (; r < end; r++, row += row_size, query += query_bits)
                    for (uint32_t i = 0; i < item_bits; i++) {
                        const uint8x16_t x = vld1q_u8(row + ITEMS * i), y = vld1q_u8(row + ITEMS * i + 16);
                        for (uint32_t j = 0; j < query_bits; j++) {
                            const uint8x16_t q = vreinterpretq_u8_u32(vdupq_n_u32(query[j]));
                            uint8x16_t *level = levels[item_bits - 1 - i + query_bits - 1 - j];
                            level[0] = count(level[0], x, q);
                            level[1] = count(level[1], y, q);
                        }
                    }
                empty_levels(distances + HALF * half, levels, n_levels, first);
            }
        }
}

void thr_kernel_distance_xor_neon(uint32_t *distances, const uint8_t *blocks, size_t n_blocks,
                                  const thr_query_part *part){
    THR_CALL_PLANES_BITS(part->item_bits, part->bits, distance_xor, distances, blocks, n_blocks, part)}

INLINE
    void code_squares(uint32_t *squares, const uint8_t *blocks, size_t n_blocks, uint32_t n_dims, const uint32_t bits) {
    const uint32_t n_rows = (n_dims + 7) / 8, top = (1u << bits) - 1;
    const uint32_t rows_a_round = 255 / (8 * (bits / 2 + (bits < 2)));
    const uint32_t n_levels = 2 * bits - 2; /* level 0 stays empty: two different planes weigh at least 2 */
    const size_t row_size = (size_t)ITEMS * bits;
    for (size_t b = 0; b < n_blocks; b++, blocks += row_size * n_rows, squares += ITEMS) {
        for (int half = 0; half < 2; half++) {
            uint8x16_t levels[MAX_LEVELS][2];
            for (uint32_t l = 0; l < n_levels; l++)
                levels[l][0] = levels[l][1] = vdupq_n_u8(0);
            const uint8_t *row = blocks + HALF * half;
            for (uint32_t r = 0; r < n_rows;) {
                const int first = r == 0;
                const uint32_t end = n_rows - r > rows_a_round ? r + rows_a_round : n_rows;
                for (; r < end; r++, row += row_size)
                    for (uint32_t i = 0; i < bits; i++)
                        for (uint32_t j = i + 1; j < bits; j++) {
                            const uint8_t *x = row + ITEMS * i, *y = row + ITEMS * j;
                            uint8x16_t *level = levels[2 * bits - 2 - i - j];
                            level[0] = count(level[0], vld1q_u8(x), vld1q_u8(y));
                            level[1] = count(level[1], vld1q_u8(x + 16), vld1q_u8(y + 16));
                        }
                empty_levels(squares + HALF * half, levels, n_levels, first);
            }
        }
        const uint32x4_t most = vdupq_n_u32(n_dims * top * top);
        for (int i = 0; i < ITEMS; i += 4)
            vst1q_u32(squares + i, vsubq_u32(most, vshlq_n_u32(vld1q_u32(squares + i), 2)));
    }
}

void thr_kernel_code_squares_neon(uint32_t *squares, const uint8_t *blocks, size_t n_blocks, uint32_t n_dims,
                                  uint32_t bits){THR_CALL_PLANES(bits, code_squares, squares, blocks, n_blocks, n_dims)}

/* ----------------------------------------------------------------------------------------------- look-ups */

INLINE uint8x16_t look_up(const uint8_t *at, uint8x16_t low, uint8x16_t high) {
    const uint8x16_t x = vld1q_u8(at);
    return vaddq_u8(vqtbl1q_u8(low, vandq_u8(x, vdupq_n_u8(15))), vqtbl1q_u8(high, vshrq_n_u8(x, 4)));
}

INLINE void add_bytes(uint16x8_t sums[2], uint8x16_t bytes) {
    sums[0] = vaddw_u8(sums[0], vget_low_u8(bytes));
    sums[1] = vaddw_high_u8(sums[1], bytes);
}

/* One or two rows of all planes: a look-up is at most 120, and two are added as bytes. */
INLINE void look_up_rows(uint16x8_t sums[][2][2], const uint8_t *row, const uint8_t *nibbles, const uint32_t planes,
                         const uint32_t rows) {
    const size_t row_size = (size_t)ITEMS * planes;
    uint8x16_t table[4];
    for (uint32_t t = 0; t < 2 * rows; t++)
        table[t] = vld1q_u8(nibbles + 16 * t);
    for (uint32_t p = 0; p < planes; p++)
        for (int v = 0; v < 2; v++) {
            const uint8_t *at = row + ITEMS * p + 16 * v;
            uint8x16_t found = look_up(at, table[0], table[1]);
            if (rows > 1)
                found = vaddq_u8(found, look_up(at + row_size, table[2], table[3]));
            add_bytes(sums[p][v], found);
        }
}

/* Set distances to the weighted sums of the planes, or add them. */
INLINE void store_planes(uint32_t *distances, uint16x8_t sums[][2][2], const uint32_t planes, int first) {
    for (int v = 0; v < 2; v++)
        for (int eight = 0; eight < 2; eight++) {
            uint32_t *at = distances + 16 * v + 8 * eight;
            uint32x4_t low = vdupq_n_u32(0), high = low;
            for (uint32_t p = 0; p < planes; p++) {
                low = vaddw_u16(vaddq_u32(low, low), vget_low_u16(sums[p][v][eight]));
                high = vaddw_high_u16(vaddq_u32(high, high), sums[p][v][eight]);
            }
            vst1q_u32(at, first ? low : vaddq_u32(low, vld1q_u32(at)));
            vst1q_u32(at + 4, first ? high : vaddq_u32(high, vld1q_u32(at + 4)));
        }
}

INLINE void distance_table(uint32_t *distances, const uint8_t *blocks, size_t n_blocks, const thr_query_part *part,
                           const uint32_t planes) {
    const size_t row_size = (size_t)ITEMS * planes;
    for (size_t b = 0; b < n_blocks; b++, blocks += row_size * part->n_rows, distances += ITEMS)
        for (int half = 0; half < 2; half++) {
            const uint8_t *row = blocks + HALF * half, *nibbles = part->nibbles;
            for (uint32_t r = 0; r < part->n_rows;) {
                const int first = r == 0;
                const uint32_t end = part->n_rows - r > ROWS_A_ROUND ? r + ROWS_A_ROUND : part->n_rows;
                uint16x8_t sums[MAX_PLANES][2][2];
                for (uint32_t p = 0; p < planes; p++)
                    for (int v = 0; v < 2; v++)
                        sums[p][v][0] = sums[p][v][1] = vdupq_n_u16(0);
                for (; r + 2 <= end; r += 2, row += 2 * row_size, nibbles += 64)
                    look_up_rows(sums, row, nibbles, planes, 2);
                for (; r < end; r++, row += row_size, nibbles += 32)
                    look_up_rows(sums, row, nibbles, planes, 1);
                store_planes(distances + HALF * half, sums, planes, first);
            }
        }
}

void thr_kernel_distance_table_neon(uint32_t *distances, const uint8_t *blocks, size_t n_blocks,
                                    const thr_query_part *part) {
    THR_CALL_PLANES(part->item_bits, distance_table, distances, blocks, n_blocks, part)
}

/* Parts run one after the other: the sums of two would not fit the registers. */
void thr_kernel_distance_tables_neon(uint32_t *const *distances, const uint8_t *blocks, size_t n_blocks,
                                     const thr_query_part *const *parts, size_t n_parts) {
    for (size_t i = 0; i < n_parts; i++)
        thr_kernel_distance_table_neon(distances[i], blocks, n_blocks, parts[i]);
}
