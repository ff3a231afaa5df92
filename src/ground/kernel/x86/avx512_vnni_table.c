/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XOR distances by look-up of four dimensions: VPSHUFB reads a table of 16 bytes, the same in each quarter of a
 * register, by the nibbles of 64 items. For AVX-512 without VBMI, whose VPERMB would look up six dimensions.
 *
 * A looked-up byte is at most 60: the sums of two rows, at most 240, fit a byte and are widened together.
 */
#include "kernel/planes.h"
#include "kernel/x86/avx512_words.h"

enum { AT_ONCE = 4 };

/* The tables of a row. */
typedef struct row_tables {
    __m512i low, high;
} row_tables;

/* The nibbles of a row. */
typedef struct row_nibbles {
    __m512i low, high;
} row_nibbles;

INLINE row_tables load_tables(const uint8_t *nibbles) {
    const __m128i *at = (const __m128i *)(const void *)nibbles;
    return (row_tables){_mm512_broadcast_i32x4(_mm_load_si128(at)), _mm512_broadcast_i32x4(_mm_load_si128(at + 1))};
}

INLINE row_nibbles load_nibbles(const uint8_t *row) {
    const __m512i x = load_once(row), low = _mm512_set1_epi8(15);
    return (row_nibbles){_mm512_and_si512(x, low), _mm512_and_si512(_mm512_srli_epi16(x, 4), low)};
}

INLINE __m512i look_up(row_nibbles x, row_tables tables) {
    return _mm512_add_epi8(_mm512_shuffle_epi8(tables.low, x.low), _mm512_shuffle_epi8(tables.high, x.high));
}

/* All planes of two rows or one, in memory order. */
INLINE void look_up_rows(word_sums *sums, const uint8_t *blocks, const uint8_t *nibbles, size_t read_ahead,
                         const uint32_t planes, const uint32_t rows) {
    const uint8_t *ahead = thr_kernel_ahead_of(blocks, read_ahead), *next = blocks + (size_t)ITEMS * planes;
    const row_tables x = load_tables(nibbles), y = rows > 1 ? load_tables(nibbles + 32) : x;
    for (uint32_t i = 0; i < planes * rows; i++)
        thr_kernel_request(ahead + (size_t)ITEMS * i);
    for (uint32_t p = 0; p < planes; p++, blocks += ITEMS, next += ITEMS) {
        __m512i found = look_up(load_nibbles(blocks), x);
        if (rows > 1)
            found = _mm512_add_epi8(found, look_up(load_nibbles(next), y));
        add_bytes(&sums[p], found);
    }
}

INLINE void distance_table(uint32_t *distances, const uint8_t *blocks, size_t n_blocks, const thr_query_part *part,
                           const uint32_t planes) {
    const size_t row_size = (size_t)ITEMS * planes, read_ahead = thr_kernel_read_ahead;
    for (size_t block = 0; block < n_blocks; block++, distances += ITEMS)
        for (uint32_t start = 0, end; start < part->n_rows; start = end) {
            word_sums sums[MAX_PLANES];
            const uint8_t *nibbles = part->nibbles + (size_t)32 * start;
            end = part->n_rows - start > ROWS_A_ROUND ? start + ROWS_A_ROUND : part->n_rows;
            clear(sums, planes);
            for (uint32_t r = start; r + 2 <= end; r += 2, blocks += 2 * row_size, nibbles += 64)
                look_up_rows(sums, blocks, nibbles, read_ahead, planes, 2);
            if ((end - start) % 2 != 0) {
                look_up_rows(sums, blocks, nibbles, read_ahead, planes, 1);
                blocks += row_size;
            }
            store_some(distances, sums, part, planes, start > 0);
        }
}

void thr_kernel_distance_table_avx512_vnni(uint32_t *distances, const uint8_t *blocks, size_t n_blocks,
                                           const thr_query_part *part){
    THR_CALL_PLANES(part->item_bits, distance_table, distances, blocks, n_blocks, part)}

/* Four parts share the nibbles extracted from a plane. sums: MAX_PLANES of the first part, then of the others. */
INLINE void look_up_plane(word_sums *sums, const uint8_t *plane, size_t row_size, const uint8_t *const *nibbles,
                          uint32_t n_rows) {
    word_sums a = {_mm512_setzero_si512(), _mm512_setzero_si512()}, b = a, c = a, d = a;
    uint32_t r = 0;
    for (; r + 2 <= n_rows; r += 2, plane += 2 * row_size) {
        const row_nibbles x = load_nibbles(plane), y = load_nibbles(plane + row_size);
        const size_t at = (size_t)32 * r;
        thr_kernel_request(thr_kernel_ahead_of(plane, THR_READ_AHEAD));
        thr_kernel_request(thr_kernel_ahead_of(plane + row_size, THR_READ_AHEAD));
#define LOOK_UP(sum, i)                                                                                                \
    add_bytes(&sum, _mm512_add_epi8(look_up(x, load_tables(nibbles[i] + at)),                                          \
                                    look_up(y, load_tables(nibbles[i] + at + 32))));
        LOOK_UP(a, 0)
        LOOK_UP(b, 1)
        LOOK_UP(c, 2)
        LOOK_UP(d, 3)
#undef LOOK_UP
    }
    if (r < n_rows) {
        const row_nibbles x = load_nibbles(plane);
        const size_t at = (size_t)32 * r;
        add_bytes(&a, look_up(x, load_tables(nibbles[0] + at)));
        add_bytes(&b, look_up(x, load_tables(nibbles[1] + at)));
        add_bytes(&c, look_up(x, load_tables(nibbles[2] + at)));
        add_bytes(&d, look_up(x, load_tables(nibbles[3] + at)));
    }
    sums[0] = a;
    sums[MAX_PLANES] = b;
    sums[2 * MAX_PLANES] = c;
    sums[3 * MAX_PLANES] = d;
}

INLINE void distance_four(uint32_t *const *distances, const uint8_t *blocks, size_t n_blocks,
                          const thr_query_part *const *parts, const uint32_t planes) {
    const size_t row_size = (size_t)ITEMS * planes;
    const uint32_t n_rows = parts[0]->n_rows;
    for (size_t block = 0; block < n_blocks; block++)
        for (uint32_t start = 0, end; start < n_rows; start = end) {
            word_sums sums[AT_ONCE * MAX_PLANES];
            const uint8_t *nibbles[AT_ONCE];
            end = n_rows - start > ROWS_A_ROUND ? start + ROWS_A_ROUND : n_rows;
            for (int i = 0; i < AT_ONCE; i++)
                nibbles[i] = parts[i]->nibbles + (size_t)32 * start;
            for (uint32_t p = 0; p < planes; p++)
                look_up_plane(sums + p, blocks + (size_t)ITEMS * p, row_size, nibbles, end - start);
            blocks += row_size * (end - start);
            for (int i = 0; i < AT_ONCE; i++)
                store_some(distances[i] + ITEMS * block, sums + MAX_PLANES * i, parts[i], planes, start > 0);
        }
}

void thr_kernel_distance_tables_avx512_vnni(uint32_t *const *distances, const uint8_t *blocks, size_t n_blocks,
                                            const thr_query_part *const *parts, size_t n_parts) {
    for (; n_parts >= AT_ONCE; n_parts -= AT_ONCE, distances += AT_ONCE, parts += AT_ONCE) {
        const uint32_t planes = parts[0]->item_bits;
        THR_CALL_FEW_PLANES(planes, distance_four, distances, blocks, n_blocks, parts)
    }
    for (; n_parts > 0; n_parts--, distances++, parts++)
        thr_kernel_distance_table_avx512_vnni(*distances, blocks, n_blocks, *parts);
}
