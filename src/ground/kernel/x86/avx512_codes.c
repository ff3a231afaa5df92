/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XOR and popcount over byte rows: one register holds 64 items' byte of one plane, and VPOPCNTB counts all 64.
 *
 * Pairs of planes of equal weight share an 8-bit accumulator, a "level" (level l has weight 2^l), which leaves one XOR,
 * one popcount and one add per pair. A level grows by at most 8 per pair and row, so after some rows the levels are
 * emptied into 32-bit sums, from the heaviest down: sum = 2 sum + level.
 */
#include "base/minmax.h"
#include "kernel/planes.h"
#include "kernel/read_ahead.h"
#include "kernel/level_codes.h"

#include <immintrin.h>

enum { ITEMS = 64, MAX_LEVELS = 9, ROWS_A_COUNT = 255 / 8 };

static inline __attribute__((always_inline)) void empty_levels(__m512i sums[4], __m512i *levels, uint32_t n_levels) {
    for (int quarter = 0; quarter < 4; quarter++) {
        __m512i sum = _mm512_setzero_si512();
        for (uint32_t l = n_levels; l-- > 0;) {
            __m128i bytes = quarter == 0   ? _mm512_castsi512_si128(levels[l])
                            : quarter == 1 ? _mm512_extracti32x4_epi32(levels[l], 1)
                            : quarter == 2 ? _mm512_extracti32x4_epi32(levels[l], 2)
                                           : _mm512_extracti32x4_epi32(levels[l], 3);
            sum = _mm512_add_epi32(_mm512_add_epi32(sum, sum), _mm512_cvtepu8_epi32(bytes));
        }
        sums[quarter] = _mm512_add_epi32(sums[quarter], sum);
    }
    for (uint32_t l = 0; l < n_levels; l++)
        levels[l] = _mm512_setzero_si512();
}

/* The part's planes from `first` on, one or two. The distances of the planes before them count four times. */
static inline __attribute__((always_inline)) void distance_xor(uint32_t *distances, const uint8_t *blocks,
                                                               size_t n_blocks, const thr_query_part *part,
                                                               uint32_t first, const uint32_t query_bits,
                                                               const uint32_t item_bits) {
    const uint32_t pairs = THR_MIN(item_bits, query_bits); /* maximum number of pairs in one level */
    const uint32_t rows_a_round = 255 / (8 * pairs);
    const uint32_t n_levels = item_bits + query_bits - 1;
    for (size_t b = 0; b < n_blocks; b++, distances += ITEMS) {
        __m512i levels[MAX_LEVELS], sums[4];
        for (int i = 0; i < 4; i++)
            sums[i] = _mm512_setzero_si512();
        for (uint32_t l = 0; l < n_levels; l++)
            levels[l] = _mm512_setzero_si512();
        const uint32_t *query = part->planes + first;
        for (uint32_t r = 0; r < part->n_rows;) {
            uint32_t end = THR_MIN(r + rows_a_round, part->n_rows);
            for (; r < end; r++, blocks += (size_t)ITEMS * item_bits, query += part->bits)
                for (uint32_t i = 0; i < item_bits; i++) {
                    thr_kernel_request(thr_kernel_ahead_of(blocks, thr_kernel_read_ahead) + (size_t)ITEMS * i);
                    __m512i x = _mm512_loadu_si512(blocks + (size_t)ITEMS * i);
                    for (uint32_t j = 0; j < query_bits; j++) {
                        __m512i bits = _mm512_xor_si512(x, _mm512_set1_epi32((int)query[j]));
                        uint32_t l = item_bits - 1 - i + query_bits - 1 - j;
                        levels[l] = _mm512_add_epi8(levels[l], _mm512_popcnt_epi8(bits));
                    }
                }
            empty_levels(sums, levels, n_levels);
        }
        for (int i = 0; i < 4; i++) {
            if (query_bits > 1 && first > 0)
                sums[i] = _mm512_add_epi32(sums[i], _mm512_slli_epi32(_mm512_loadu_si512(distances + 16 * i), 2));
            _mm512_storeu_si512(distances + 16 * i, sums[i]);
        }
    }
}

/* Queries of more bits are scored two planes at a time: other ways are faster for them. */
void thr_kernel_distance_xor_avx512(uint32_t *distances, const uint8_t *blocks, size_t n_blocks,
                                    const thr_query_part *part) {
    for (uint32_t first = 0, n; first < part->bits; first += n) {
        n = (part->bits - first) % 2 == 0 ? 2 : 1;
        if (n == 1) {
            THR_CALL_PLANES(part->item_bits, distance_xor, distances, blocks, n_blocks, part, first, 1)
        } else {
            THR_CALL_PLANES(part->item_bits, distance_xor, distances, blocks, n_blocks, part, first, 2)
        }
    }
}

/* Subtract each item's count times 2^shift. */
static inline __attribute__((always_inline)) void subtract_counts(__m512i sums[4], __m512i counts, uint32_t shift) {
    const __m128i by = _mm_cvtsi32_si128((int)shift);
    const __m128i bytes[4] = {_mm512_castsi512_si128(counts), _mm512_extracti32x4_epi32(counts, 1),
                              _mm512_extracti32x4_epi32(counts, 2), _mm512_extracti32x4_epi32(counts, 3)};
    for (int i = 0; i < 4; i++)
        sums[i] = _mm512_sub_epi32(sums[i], _mm512_sll_epi32(_mm512_cvtepu8_epi32(bytes[i]), by));
}

/*
 * Pairs of equal weight are counted in one register, which is emptied before it can overflow. Only blocks with a
 * possible survivor are processed, so this is not compiled for every number of planes.
 */
void thr_kernel_code_squares_avx512(uint32_t *squares, const uint8_t *blocks, size_t n_blocks, uint32_t n_dims,
                                    uint32_t bits) {
    const uint32_t n_rows = (n_dims + 7) / 8, top = (1u << bits) - 1;
    const size_t row_size = (size_t)ITEMS * bits;
    for (size_t b = 0; b < n_blocks; b++, squares += ITEMS, blocks += row_size * n_rows) {
        __m512i sums[4];
        for (int i = 0; i < 4; i++)
            sums[i] = _mm512_set1_epi32((int)(n_dims * top * top));
        for (uint32_t both = 1; both < 2 * bits - 2; both++) { /* the sum of two planes' numbers */
            __m512i counts = _mm512_setzero_si512();
            uint32_t left = ROWS_A_COUNT;
            for (uint32_t i = both < bits ? 0 : both - bits + 1; 2 * i < both; i++) {
                const uint8_t *x = blocks + (size_t)ITEMS * i, *y = blocks + (size_t)ITEMS * (both - i);
                for (uint32_t r = 0, end; r < n_rows; left -= end) {
                    if (left == 0) {
                        subtract_counts(sums, counts, 2 * bits - both);
                        counts = _mm512_setzero_si512();
                        left = ROWS_A_COUNT;
                    }
                    end = THR_MIN(n_rows - r, left);
#pragma GCC unroll 4
                    for (uint32_t n = 0; n < end; n++, x += row_size, y += row_size)
                        counts = _mm512_add_epi8(
                            counts, _mm512_popcnt_epi8(_mm512_xor_si512(_mm512_loadu_si512(x), _mm512_loadu_si512(y))));
                    r += end;
                }
            }
            subtract_counts(sums, counts, 2 * bits - both);
        }
        for (int i = 0; i < 4; i++)
            _mm512_storeu_si512(squares + 16 * i, sums[i]);
    }
}

void thr_kernels_fill_avx512(thr_kernels *kernels) {
    THR_FILL_CODE_KERNELS(kernels, avx512)
}
