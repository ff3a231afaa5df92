/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unpacking for VPDPBUSD with a transposition of bits by VGF2P8AFFINEQB: multiplying by the identity transposes each
 * 64-bit lane as a matrix of 8 x 8 bits. A lane receives four planes of item a in bits 0 to 3 of the result and four
 * of item b in bits 4 to 7. The lower four bytes of the result are used for a, the upper four for b. With at most four
 * planes the rest is masked off, and b's sums are 16 times too large; with more, a second matrix holds the other
 * planes.
 */
#include "base/minmax.h"
#include "kernel/planes.h"
#include "kernel/x86/avx512_products.h"

/* Four planes of 32 items, preceded by zeros for missing planes: slots 0 and 1, slots 2 and 3. */
typedef struct plane_slots {
    __m512i low, high;
} plane_slots;

#define INLINE static inline __attribute__((always_inline))

INLINE __m512i load_slots(const uint8_t *planes, const int first) {
    __m512i slots = _mm512_setzero_si512();
    if (first >= 0)
        slots = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)(const void *)(planes + ITEMS * first)));
    if (first >= -1)
        slots = _mm512_inserti64x4(
            slots, _mm256_loadu_si256((const __m256i *)(const void *)(planes + ITEMS * (first + 1))), 1);
    return slots;
}

INLINE plane_slots load_planes(const uint8_t *planes, const int n_planes) {
    return (plane_slots){load_slots(planes, n_planes - 4), load_slots(planes, n_planes - 2)};
}

/* Slot i of 4, of which the last n hold planes: n is 1 to 4 and no constant. */
INLINE __m256i load_slot(const uint8_t *planes, const int n, const int i) {
    static const uint8_t none[32];
    const int plane = i - (4 - n);
    return _mm256_loadu_si256((const __m256i *)(const void *)(plane < 0 ? none : planes + ITEMS * plane));
}

INLINE plane_slots load_upper_planes(const uint8_t *planes, const int n) {
    return (plane_slots){
        _mm512_inserti64x4(_mm512_castsi256_si512(load_slot(planes, n, 0)), load_slot(planes, n, 1), 1),
        _mm512_inserti64x4(_mm512_castsi256_si512(load_slot(planes, n, 2)), load_slot(planes, n, 3), 1)};
}

/* Matrices of items 2 l (bytes 4 to 7) and 2 l + 1 (bytes 0 to 3) in lane l, or the other way round if swapped. */
INLINE __m512i matrices(plane_slots x, const int first_item, const int swapped) {
    const __m512i lanes =
        _mm512_setr_epi64(0, 0x0202020202020202, 0x0404040404040404, 0x0606060606060606, 0x0808080808080808,
                          0x0a0a0a0a0a0a0a0a, 0x0c0c0c0c0c0c0c0c, 0x0e0e0e0e0e0e0e0e);
    const __m512i bytes = _mm512_set1_epi64(swapped ? 0x6141210160402000 : 0x6040200061412101);
    const __m512i index = _mm512_add_epi8(_mm512_add_epi8(lanes, bytes), _mm512_set1_epi8((char)first_item));
    return _mm512_permutex2var_epi8(x.low, index, x.high);
}

/* The matrices from which 16 items' bytes are computed; with at most four planes only the first is used. */
typedef struct item_matrices {
    __m512i first, second;
} item_matrices;

INLINE item_matrices load_matrices(const uint8_t *row, const int first_item, const int planes) {
    const uint8_t *half = row + first_item / 32 * 32;
    const int low_planes = THR_MIN(planes, 4), item = first_item % 32;
    const plane_slots low = load_planes(half + ITEMS * (planes - low_planes), low_planes);
    item_matrices of = {matrices(low, item, 0), _mm512_setzero_si512()};
    if (planes > 4) {
        const plane_slots high = load_upper_planes(half, planes - 4);
        const __mmask64 upper = 0x0f0f0f0f0f0f0f0f; /* bytes 0 to 3 produce bits 4 to 7 */
        of.first = _mm512_mask_mov_epi8(of.first, upper, matrices(high, item, 0));
        of.second = _mm512_mask_mov_epi8(matrices(low, item, 1), upper, matrices(high, item, 1));
    }
    return of;
}

/*
 * Unpack four dimensions of 16 items, the lower or the upper four. Odd items are 16 times too large with at most four
 * planes.
 */
INLINE __m512i unpack(const item_matrices *of, const int upper_dims, const int planes) {
    const __m512i dims = _mm512_set1_epi64((int64_t)(upper_dims ? 0x8040201080402010 : 0x0804020108040201));
    const __m512i wanted = _mm512_set1_epi64((int64_t)0xf0f0f0f00f0f0f0f);
    const __m512i u = _mm512_gf2p8affine_epi64_epi8(dims, of->first, 0);
    if (planes <= 4)
        return _mm512_and_si512(u, wanted);
    /* Bits set in `wanted` select the first matrix. */
    return _mm512_ternarylogic_epi64(wanted, u, _mm512_gf2p8affine_epi64_epi8(dims, of->second, 0), 0xca);
}

INLINE void unpack_row(uint8_t *bytes, const uint8_t *codes, const int planes, size_t read_ahead) {
    const uint8_t *ahead = thr_kernel_ahead_of(codes, read_ahead);
    for (int p = 0; p < planes; p++)
        thr_kernel_request(ahead + ITEMS * p);
    for (int k = 0; k < 4; k++) {
        const item_matrices of = load_matrices(codes, 16 * k, planes);
        _mm512_store_si512(bytes + 64 * k, unpack(&of, 0, planes));
        _mm512_store_si512(bytes + 256 + 64 * k, unpack(&of, 1, planes));
    }
    /* Forces later uses to load the bytes: together with the accumulators they would exceed the registers. */
    __asm__ volatile("" : : : "memory");
}

INLINE void distance_tile(uint32_t *distances, size_t stride, const uint8_t *blocks, size_t n_blocks,
                          const thr_query_tile *tile, uint8_t *bytes, const int planes) {
    const tile_rows all = {.codes = blocks, .bytes = bytes, .n_rows = tile->n_rows, .odd_shift = planes > 4 ? 0 : 4};
    multiply_tile(distances, stride, &all, n_blocks, tile, unpack_row, planes);
}

void thr_kernel_distance_tile_avx512(uint32_t *distances, size_t stride, const uint8_t *blocks, size_t n_blocks,
                                     const thr_query_tile *tile) {
    uint8_t bytes[ROWS_A_ROUND * BYTES_A_ROW] __attribute__((aligned(64)));
    const int planes = (int)tile->item_bits;
    THR_CALL_FEW_PLANES(planes, distance_tile, distances, stride, blocks, n_blocks, tile, bytes)
}
