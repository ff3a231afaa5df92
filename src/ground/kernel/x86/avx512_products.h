/* SPDX-License-Identifier: Apache-2.0 */
/*
 * avx512_products.h - many queries with VPDPBUSD: a 32-bit lane holds four dimensions of one item, the accumulators of
 * four queries times a block's 64 items take 16 registers, and the number of planes matters only while codes are
 * unpacked to bytes.
 *
 * Bytes go to a buffer that fits in the L1 cache. The pass of the first four queries unpacks one row ahead of the
 * multiplication, on execution ports that the products leave idle.
 */
#ifndef THR_KERNEL_X86_AVX512_PRODUCTS_H
#define THR_KERNEL_X86_AVX512_PRODUCTS_H

#include <immintrin.h>
#include <string.h>

#include "base/minmax.h"
#include "kernel/level_codes.h"
#include "kernel/read_ahead.h"

#define INLINE static inline __attribute__((always_inline))

enum {
    ITEMS = 64,
    QUERIES = 4,       /* in a pass */
    DIGITS_A_ROW = 32, /* 8 dimensions of 4 queries */
    BYTES_A_ROW = 512,
    ROWS_A_ROUND = 32 /* 16 KiB of unpacked bytes */
};

/*
 * Unpack a row of so many planes: four registers of dimensions 0 to 3, 16 items each, then four of dimensions 4 to 7;
 * and request codes so many bytes ahead.
 */
typedef void unpack_kernel(uint8_t *bytes, const uint8_t *codes, int planes, size_t read_ahead);

/* Some rows of one block. */
typedef struct tile_rows {
    const uint8_t *codes;
    uint8_t *bytes; /* n_rows * BYTES_A_ROW; valid once unpacked */
    uint32_t n_rows;
    uint32_t odd_shift; /* right shift of odd items' sums, whose unpacked bytes are too large by so many bits */
} tile_rows;

/* Output of a pass: distances are bases minus products, or the previous distances minus products. */
typedef struct tile_output {
    uint32_t *distances;
    size_t stride;
    const uint32_t *bases;
    int go_on;
} tile_output;

/* Sums of 64 items for one query. Named fields instead of an array: gcc 12 keeps arrays of registers in memory. */
typedef struct query_sums {
    __m512i items0, items16, items32, items48;
} query_sums;

/* Add the products of four dimensions; u[k] holds items 16 k to 16 k + 15. */
INLINE void add_products(query_sums *sums, const __m512i *u, const int8_t *digits) {
    int32_t four;
    memcpy(&four, digits, sizeof four);
    __m512i digit = _mm512_set1_epi32(four);
    __asm__("" : "+v"(digit)); /* otherwise it is loaded again for every use */
    sums->items0 = _mm512_dpbusd_epi32(sums->items0, u[0], digit);
    sums->items16 = _mm512_dpbusd_epi32(sums->items16, u[1], digit);
    sums->items32 = _mm512_dpbusd_epi32(sums->items32, u[2], digit);
    sums->items48 = _mm512_dpbusd_epi32(sums->items48, u[3], digit);
}

/* Store sixteen distances computed from sums of products. item_sums: NULL except for queries of 8 bits. */
INLINE void store_sixteen(uint32_t *distances, __m512i sum, const tile_rows *rows, __m512i base, __mmask16 go_on,
                          const uint32_t *item_sums) {
    sum = _mm512_srav_epi32(sum, _mm512_set1_epi64((int64_t)rows->odd_shift << 32));
    if (item_sums != NULL)
        sum = _mm512_add_epi32(_mm512_add_epi32(sum, sum), _mm512_loadu_si512(item_sums));
    _mm512_storeu_si512(distances, _mm512_sub_epi32(_mm512_mask_loadu_epi32(base, go_on, distances), sum));
}

INLINE void finish(const tile_output *to, size_t query, const query_sums *sums, const tile_rows *rows,
                   const uint32_t *item_sums) {
    uint32_t *distances = to->distances + query * to->stride;
    const __m512i base = _mm512_set1_epi32((int)to->bases[query]);
    const __mmask16 go_on = to->go_on ? 0xffff : 0;
    store_sixteen(distances, sums->items0, rows, base, go_on, item_sums);
    store_sixteen(distances + 16, sums->items16, rows, base, go_on, item_sums == NULL ? NULL : item_sums + 16);
    store_sixteen(distances + 32, sums->items32, rows, base, go_on, item_sums == NULL ? NULL : item_sums + 32);
    store_sixteen(distances + 48, sums->items48, rows, base, go_on, item_sums == NULL ? NULL : item_sums + 48);
}

/* One or four queries against rows that are unpacked in the same pass (planes > 0) or already are. */
INLINE void pass(const tile_output *to, const tile_rows *rows, const int8_t *digits, const int n_queries,
                 unpack_kernel *unpack, const int planes, const uint32_t *item_sums) {
    const uint8_t *codes = rows->codes;
    uint8_t *bytes = rows->bytes;
    query_sums a = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512()};
    query_sums b = a, c = a, d = a;
    if (planes > 0)
        unpack(bytes, codes, planes, THR_READ_AHEAD);
    for (uint32_t r = 0; r < rows->n_rows; r++, bytes += BYTES_A_ROW, digits += DIGITS_A_ROW) {
        codes += ITEMS * planes;
        if (planes > 0 && r + 1 < rows->n_rows)
            unpack(bytes + BYTES_A_ROW, codes, planes, THR_READ_AHEAD);
        for (int h = 0; h < 2; h++) {
            __m512i u[4];
            for (int k = 0; k < 4; k++)
                u[k] = _mm512_load_si512(bytes + 256 * h + 64 * k);
            add_products(&a, u, digits + 16 * h);
            if (n_queries == QUERIES) {
                add_products(&b, u, digits + 16 * h + 4);
                add_products(&c, u, digits + 16 * h + 8);
                add_products(&d, u, digits + 16 * h + 12);
            }
        }
    }
    finish(to, 0, &a, rows, item_sums);
    if (n_queries == QUERIES) {
        finish(to, 1, &b, rows, item_sums);
        finish(to, 2, &c, rows, item_sums);
        finish(to, 3, &d, rows, item_sums);
    }
}

/* Queries against unpacked bytes. The common number of queries is a compile-time constant. */
static void pass_bytes(const tile_output *to, const tile_rows *rows, const int8_t *digits, size_t n_queries,
                       const uint32_t *item_sums) {
    if (n_queries == QUERIES && item_sums == NULL)
        pass(to, rows, digits, QUERIES, NULL, 0, NULL);
    else if (n_queries == QUERIES)
        pass(to, rows, digits, QUERIES, NULL, 0, item_sums);
    else
        for (size_t q = 0; q < n_queries; q++) {
            tile_output one = *to;
            one.distances += q * to->stride;
            one.bases += q;
            pass(&one, rows, digits + 4 * q, 1, NULL, 0, item_sums);
        }
}

/* Sum u_d of each item: dot products with minus one, subtracted from 0. */
static void sum_items(uint32_t item_sums[ITEMS], const tile_rows *rows) {
    static const uint32_t base = 0;
    int8_t digits[ROWS_A_ROUND * DIGITS_A_ROW];
    memset(digits, -1, sizeof digits);
    const tile_output to = {.distances = item_sums, .bases = &base};
    pass(&to, rows, digits, 1, NULL, 0, NULL);
}

/* all: the rows of all blocks, and a buffer for the bytes of ROWS_A_ROUND of them. */
INLINE void multiply_tile(uint32_t *distances, size_t stride, const tile_rows *all, size_t n_blocks,
                          const thr_query_tile *tile, unpack_kernel *unpack, const int planes) {
    uint8_t *bytes = all->bytes;
    uint32_t item_sums[ITEMS];
    const int unpack_first = tile->bits == 8 || tile->n_queries < QUERIES;
    const size_t read_ahead = tile->n_queries < QUERIES ? thr_kernel_read_ahead : THR_READ_AHEAD;
    for (size_t b = 0; b < n_blocks; b++)
        for (uint32_t r = 0; r < all->n_rows; r += ROWS_A_ROUND) {
            const uint32_t left = all->n_rows - r;
            const tile_rows rows = {.codes = all->codes + (b * all->n_rows + r) * ITEMS * (size_t)planes,
                                    .bytes = bytes,
                                    .n_rows = THR_MIN(left, ROWS_A_ROUND),
                                    .odd_shift = all->odd_shift};
            for (uint32_t i = 0; i < rows.n_rows && unpack_first; i++)
                unpack(bytes + (size_t)i * BYTES_A_ROW, rows.codes + (size_t)i * ITEMS * (size_t)planes, planes,
                       read_ahead);
            if (tile->bits == 8)
                sum_items(item_sums, &rows);
            for (size_t q = 0; q < tile->n_queries; q += QUERIES) {
                const size_t n = THR_MIN(tile->n_queries - q, QUERIES);
                const int8_t *digits = tile->digits + DIGITS_A_ROW * (q / QUERIES * all->n_rows + r);
                const tile_output to = {.distances = distances + q * stride + b * ITEMS,
                                        .stride = stride,
                                        .bases = tile->bases + q,
                                        .go_on = r > 0};
                if (q == 0 && !unpack_first)
                    pass(&to, &rows, digits, QUERIES, unpack, planes, NULL);
                else
                    pass_bytes(&to, &rows, digits, n, tile->bits == 8 ? item_sums : NULL);
            }
        }
}

#endif
