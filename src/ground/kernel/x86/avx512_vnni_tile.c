/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unpacking for VPDPBUSD without bit transposition instructions: masked shifts gather the planes' bits of dimensions i
 * and i + 4 into the nibbles of a byte, four such bytes are interleaved, and the nibbles are separated.
 */
#include "base/minmax.h"
#include "kernel/planes.h"
#include "kernel/x86/avx512_products.h"

INLINE __m512i mask(__m512i x, int byte) {
    return _mm512_and_si512(x, _mm512_set1_epi8((char)byte));
}

/* Select the bits in `byte` from x, the others from y. */
INLINE __m512i pick(int byte, __m512i x, __m512i y) {
    return _mm512_ternarylogic_epi64(_mm512_set1_epi8((char)byte), x, y, 0xca);
}

/*
 * Gather up to four planes x, the most significant first: byte i gets dimension i in its lower nibble and i + 4 in
 * its upper.
 */
INLINE void gather_nibbles(__m512i bytes[4], const __m512i *x, const int planes) {
    if (planes == 1) {
        bytes[0] = mask(x[0], 0x11);
        bytes[1] = mask(_mm512_srli_epi16(x[0], 1), 0x11);
        bytes[2] = mask(_mm512_srli_epi16(x[0], 2), 0x11);
        bytes[3] = mask(_mm512_srli_epi16(x[0], 3), 0x11);
        return;
    }
    const __m512i c = x[planes - 2], d = x[planes - 1];
    const __m512i even = pick(0xaa, _mm512_slli_epi16(c, 1), d), odd = pick(0xaa, c, _mm512_srli_epi16(d, 1));
    __m512i upper_even = _mm512_setzero_si512(), upper_odd = upper_even;
    if (planes == 3) {
        upper_even = mask(x[0], 0x55);
        upper_odd = mask(_mm512_srli_epi16(x[0], 1), 0x55);
    } else if (planes == 4) {
        upper_even = pick(0xaa, _mm512_slli_epi16(x[0], 1), x[1]);
        upper_odd = pick(0xaa, x[0], _mm512_srli_epi16(x[1], 1));
    }
    bytes[0] = pick(0xcc, _mm512_slli_epi16(upper_even, 2), even);
    bytes[1] = pick(0xcc, _mm512_slli_epi16(upper_odd, 2), odd);
    bytes[2] = pick(0xcc, upper_even, _mm512_srli_epi16(even, 2));
    bytes[3] = pick(0xcc, upper_odd, _mm512_srli_epi16(odd, 2));
}

/* Permute a plane, because interleaving works within quarters of a register and would reorder items. */
INLINE __m512i permute(__m512i plane) {
    return _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), plane);
}

/*
 * Unpack up to four permuted planes to nibbles: words[k] holds those of items 16 k to 16 k + 15, four bytes each.
 */
INLINE void nibbles_of_items(__m512i words[4], const __m512i *x, const int n_planes) {
    __m512i bytes[4];
    gather_nibbles(bytes, x, n_planes);
    const __m512i low01 = _mm512_unpacklo_epi8(bytes[0], bytes[1]), high01 = _mm512_unpackhi_epi8(bytes[0], bytes[1]);
    const __m512i low23 = _mm512_unpacklo_epi8(bytes[2], bytes[3]), high23 = _mm512_unpackhi_epi8(bytes[2], bytes[3]);
    words[0] = _mm512_unpacklo_epi16(low01, low23);
    words[1] = _mm512_unpackhi_epi16(low01, low23);
    words[2] = _mm512_unpacklo_epi16(high01, high23);
    words[3] = _mm512_unpackhi_epi16(high01, high23);
}

INLINE void unpack_row(uint8_t *bytes, const uint8_t *codes, const int planes, size_t read_ahead) {
    const uint8_t *ahead = thr_kernel_ahead_of(codes, read_ahead);
    const int low_planes = THR_MIN(planes, 4);
    static const uint8_t none[ITEMS];
    __m512i x[4], low[4], high[4];
    for (int p = 0; p < planes; p++)
        thr_kernel_request(ahead + ITEMS * p);
    for (int p = 0; p < low_planes; p++)
        x[p] = permute(_mm512_loadu_si512(codes + ITEMS * (planes - low_planes + p)));
    nibbles_of_items(low, x, low_planes);
    if (planes == 5) {
        x[0] = permute(_mm512_loadu_si512(codes));
        nibbles_of_items(high, x, 1);
    } else if (planes > 5) { /* the number is no constant: missing planes are zero */
        for (int p = 0; p < 4; p++) {
            const int plane = planes - 8 + p;
            x[p] = permute(_mm512_loadu_si512(plane < 0 ? none : codes + ITEMS * plane));
        }
        nibbles_of_items(high, x, 4);
    }
    for (int k = 0; k < 4; k++) {
        __m512i first = mask(low[k], 15), second = mask(_mm512_srli_epi16(low[k], 4), 15);
        if (planes > 4) {
            first = pick(15, first, _mm512_slli_epi16(high[k], 4));
            second = pick(15, second, high[k]);
        }
        _mm512_store_si512(bytes + 64 * k, first);
        _mm512_store_si512(bytes + 256 + 64 * k, second);
    }
    /* Forces later uses to load the bytes: together with the accumulators they would exceed the registers. */
    __asm__ volatile("" : : : "memory");
}

INLINE void distance_tile(uint32_t *distances, size_t stride, const uint8_t *blocks, size_t n_blocks,
                          const thr_query_tile *tile, uint8_t *bytes, const int planes) {
    const tile_rows all = {.codes = blocks, .bytes = bytes, .n_rows = tile->n_rows};
    multiply_tile(distances, stride, &all, n_blocks, tile, unpack_row, planes);
}

void thr_kernel_distance_tile_avx512_vnni(uint32_t *distances, size_t stride, const uint8_t *blocks, size_t n_blocks,
                                          const thr_query_tile *tile) {
    uint8_t bytes[ROWS_A_ROUND * BYTES_A_ROW] __attribute__((aligned(64)));
    const int planes = (int)tile->item_bits;
    THR_CALL_FEW_PLANES(planes, distance_tile, distances, stride, blocks, n_blocks, tile, bytes)
}
