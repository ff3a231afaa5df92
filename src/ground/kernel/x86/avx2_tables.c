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

/* Rows of one plane of half a block, `stride` bytes apart, and the next line to request from memory. */
typedef struct half_rows {
    const uint8_t *codes;
    size_t stride;
    uint32_t n_rows;
    const uint8_t *ahead;
} half_rows;

INLINE void request_next(half_rows *rows) {
    thr_kernel_request(rows->ahead);
    rows->ahead += ITEMS;
}

/* Add rows with the tables of n parts. */
INLINE void look_up_rows(word_sums *sums, half_rows *rows, const int half, const table_pointer *nibbles, const int n) {
    const uint8_t *codes = rows->codes;
    uint32_t r = 0;
    for (; r + 2 <= rows->n_rows; r += 2, codes += 2 * rows->stride) { /* two rows, at most 240, fit a byte */
        const __m256i x = load(codes), y = load(codes + rows->stride);
        const __m256i x_low = low_nibbles(x), x_high = high_nibbles(x);
        const __m256i y_low = low_nibbles(y), y_high = high_nibbles(y);
        request_next(rows); /* half as many lines as rows, as each is loaded twice */
#pragma GCC unroll 4
        for (int i = 0; i < n; i++) {
            const uint8_t *at = nibbles[i] + (size_t)32 * r;
            add_bytes(&sums[i], _mm256_add_epi8(look_up_row(at, x_low, x_high), look_up_row(at + 32, y_low, y_high)));
        }
    }
    if (r < rows->n_rows) {
        const __m256i x = load(codes);
        if (half == 0)
            request_next(rows);
#pragma GCC unroll 4
        for (int i = 0; i < n; i++)
            add_bytes(&sums[i], look_up_row(nibbles[i] + (size_t)32 * r, low_nibbles(x), high_nibbles(x)));
    }
}

/* What a round adds to the distances of a block: some planes of some rows. */
typedef struct round_shape {
    uint32_t n_planes, first_row, shift;
    int first; /* the block's first round */
} round_shape;

/* One round of a block: rows->codes is its first row, rows->n_rows as many rows as it has. */
INLINE void look_up_round(uint32_t *const *distances, half_rows *rows, const round_shape *round,
                          const thr_query_part *const *parts, const int n) {
    const uint8_t *codes = rows->codes;
    table_pointer nibbles[AT_ONCE];
    for (int i = 0; i < n; i++)
        nibbles[i] = parts[i]->nibbles + (size_t)32 * round->first_row;
#pragma GCC unroll 2
    for (int half = 0; half < 2; half++) {
        word_sums sums[AT_ONCE];
        for (int i = 0; i < n; i++)
            sums[i] = no_words();
        for (uint32_t p = 0; p < round->n_planes; p++) {
            for (int i = 0; i < n; i++)
                double_words(&sums[i]);
            rows->codes = codes + ITEMS * p + HALF * half;
            look_up_rows(sums, rows, half, nibbles, n);
        }
        for (int i = 0; i < n; i++)
            put_words(distances[i] + HALF * half, &sums[i], round->shift, round->first);
    }
}

INLINE void look_up_blocks(uint32_t *const *distances, const uint8_t *blocks, size_t n_blocks,
                           const thr_query_part *const *parts, const int n) {
    const uint32_t planes = parts[0]->item_bits, n_rows = parts[0]->n_rows;
    half_rows rows = {.stride = (size_t)ITEMS * planes, .ahead = thr_kernel_ahead_of(blocks, THR_READ_AHEAD)};
    uint32_t *places[AT_ONCE];
    for (size_t b = 0; b < n_blocks; b++, blocks += rows.stride * n_rows) {
        for (int i = 0; i < n; i++)
            places[i] = distances[i] + b * ITEMS;
        for (uint32_t p = 0; p < planes; p += PLANES_A_ROUND) {
            const uint32_t n_planes = at_most(planes - p, PLANES_A_ROUND);
            for (uint32_t r = 0; r < n_rows; r += rows.n_rows) {
                const round_shape round = {n_planes, r, planes - p - n_planes, p == 0 && r == 0};
                rows.codes = blocks + rows.stride * r + ITEMS * p;
                rows.n_rows = at_most(n_rows - r, rows_a_round(n_planes));
                look_up_round(places, &rows, &round, parts, n);
            }
        }
    }
}

/* A single part uses distance_table, which loads tables once for both halves of a block. */
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
