/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Look-ups for several query parts with AVX2: four parts share the nibbles extracted from a plane.
 *
 * A plane of half a block is processed at a time, so that the sums of four parts take eight registers. The tables are
 * operands of broadcasts, of which two a cycle run beside the arithmetic.
 */
#include "kernel/x86/avx2_words.h"

enum { AT_ONCE = 4 };

typedef const uint8_t *table_pointer;

/* One row: at most 120 an item. */
INLINE __m256i look_up_row(const uint8_t *nibbles, __m256i low, __m256i high) {
    return _mm256_add_epi8(_mm256_shuffle_epi8(table(nibbles), low), _mm256_shuffle_epi8(table(nibbles + 16), high));
}

/* Sum n_rows rows of a plane, 32 items each, `stride` bytes apart, with the tables of n parts. */
INLINE void look_up_rows(word_sums *sums, const uint8_t *codes, size_t stride, uint32_t n_rows, const int half,
                         const table_pointer *nibbles, const int n) {
    for (int i = 0; i < n; i++)
        sums[i] = no_words();
    uint32_t r = 0;
    for (; r + 2 <= n_rows; r += 2, codes += 2 * stride) { /* the sums of two rows, at most 240, fit a byte */
        const __m256i x = load_half(codes, half), y = load_half(codes + stride, half);
        const __m256i x_low = low_nibbles(x), x_high = high_nibbles(x);
        const __m256i y_low = low_nibbles(y), y_high = high_nibbles(y);
#pragma GCC unroll 4
        for (int i = 0; i < n; i++) {
            const uint8_t *at = nibbles[i] + (size_t)32 * r;
            add_bytes(&sums[i], _mm256_add_epi8(look_up_row(at, x_low, x_high), look_up_row(at + 32, y_low, y_high)));
        }
    }
    if (r < n_rows) {
        const __m256i x = load_half(codes, half);
#pragma GCC unroll 4
        for (int i = 0; i < n; i++)
            add_bytes(&sums[i], look_up_row(nibbles[i] + (size_t)32 * r, low_nibbles(x), high_nibbles(x)));
    }
}

/* A block's distances over rows [first, end), added to the previous ones if first > 0. */
INLINE void look_up_block(uint32_t *const *distances, const uint8_t *block, uint32_t planes, uint32_t first,
                          uint32_t end, const thr_query_part *const *parts, const int n) {
    uint32_t totals[AT_ONCE][ITEMS];
    table_pointer nibbles[AT_ONCE];
    word_sums sums[AT_ONCE];
    for (int i = 0; i < n; i++)
        nibbles[i] = parts[i]->nibbles + (size_t)32 * first;
    block += (size_t)ITEMS * planes * first;
    for (uint32_t p = 0; p < planes; p++)
#pragma GCC unroll 2
        for (int half = 0; half < 2; half++) {
            look_up_rows(sums, block + ITEMS * p, (size_t)ITEMS * planes, end - first, half, nibbles, n);
            for (int i = 0; i < n; i++)
                fold_words(totals[i] + HALF * half, &sums[i], p == 0);
        }
    for (int i = 0; i < n; i++)
        for (int item = 0; item < ITEMS; item++)
            distances[i][item] = totals[i][item] + (first > 0 ? distances[i][item] : 0);
}

INLINE void look_up_blocks(uint32_t *const *distances, const uint8_t *blocks, size_t n_blocks,
                           const thr_query_part *const *parts, const int n) {
    const uint32_t planes = parts[0]->item_bits, n_rows = parts[0]->n_rows;
    uint32_t *places[AT_ONCE];
    for (size_t b = 0; b < n_blocks; b++, blocks += (size_t)ITEMS * planes * n_rows) {
        for (int i = 0; i < n; i++)
            places[i] = distances[i] + b * ITEMS;
        for (uint32_t r = 0; r < n_rows; r += ROWS_A_ROUND)
            look_up_block(places, blocks, planes, r, n_rows - r > ROWS_A_ROUND ? r + ROWS_A_ROUND : n_rows, parts, n);
    }
}

/* A single part uses distance_table, which reads memory in order. */
void thr_kernel_distance_tables_avx2(uint32_t *const *distances, const uint8_t *blocks, size_t n_blocks,
                                     const thr_query_part *const *parts, size_t n_parts) {
    for (; n_parts >= AT_ONCE; n_parts -= AT_ONCE, distances += AT_ONCE, parts += AT_ONCE)
        look_up_blocks(distances, blocks, n_blocks, parts, AT_ONCE);
    if (n_parts == 3)
        look_up_blocks(distances, blocks, n_blocks, parts, 3);
    else if (n_parts == 2)
        look_up_blocks(distances, blocks, n_blocks, parts, 2);
    else if (n_parts == 1)
        thr_kernel_distance_table_avx2(*distances, blocks, n_blocks, *parts);
}
