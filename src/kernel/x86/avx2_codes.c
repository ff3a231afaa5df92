/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plane code kernels with AVX2: half a byte row (32 items) a register, PSHUFB for look-ups and popcounts.
 *
 * A block is traversed once, in memory order, with the sums of both halves in registers.
 */
#include "kernel/planes.h"
#include "kernel/x86/avx2_words.h"

INLINE __m256i popcount_bytes(__m256i x) {
    const __m256i counts = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1,
                                            2, 2, 3, 2, 3, 3, 4);
    return look_up(x, counts, counts);
}

/* Add to distances the sum over planes of 2^(planes - 1 - p) times the plane's sums. */
INLINE void store_planes(uint32_t *distances, word_sums sums[][2], uint32_t planes, int add) {
    uint32_t total[ITEMS];
    for (uint32_t p = 0; p < planes; p++)
        for (int half = 0; half < 2; half++)
            fold_words(total + HALF * half, &sums[p][half], p == 0);
    for (int i = 0; i < ITEMS; i++)
        distances[i] = total[i] + (add ? distances[i] : 0);
}

/* The sums of two rows, at most 240, fit a byte and are widened together. */
INLINE void distance_table(uint32_t *distances, const uint8_t *blocks, size_t n_blocks, const thr_query_part *part,
                           const uint32_t planes) {
    const size_t row = (size_t)ITEMS * planes;
    for (size_t b = 0; b < n_blocks; b++, distances += ITEMS)
        for (uint32_t r = 0; r < part->n_rows;) {
            const uint32_t start = r, end = part->n_rows - r > ROWS_A_ROUND ? r + ROWS_A_ROUND : part->n_rows;
            word_sums sums[MAX_PLANES][2];
            for (uint32_t p = 0; p < planes; p++)
                for (int half = 0; half < 2; half++)
                    sums[p][half] = no_words();
            for (; r + 2 <= end; r += 2, blocks += 2 * row) {
                const uint8_t *nibbles = part->nibbles + (size_t)32 * r;
                const __m256i low = table(nibbles), high = table(nibbles + 16);
                const __m256i next_low = table(nibbles + 32), next_high = table(nibbles + 48);
                for (uint32_t p = 0; p < planes; p++)
                    for (int half = 0; half < 2; half++) {
                        const uint8_t *at = blocks + ITEMS * p;
                        add_bytes(&sums[p][half],
                                  _mm256_add_epi8(look_up(load_half(at, half), low, high),
                                                  look_up(load_half(at + row, half), next_low, next_high)));
                    }
            }
            for (; r < end; r++, blocks += row) {
                const uint8_t *nibbles = part->nibbles + (size_t)32 * r;
                for (uint32_t p = 0; p < planes; p++)
                    for (int half = 0; half < 2; half++)
                        add_bytes(&sums[p][half],
                                  look_up(load_half(blocks + ITEMS * p, half), table(nibbles), table(nibbles + 16)));
            }
            store_planes(distances, sums, planes, start > 0);
        }
}

/*
 * The weighted XORs of a plane with all query planes are at most 8 * 15 a row, so they are summed like look-ups, which
 * are faster for every number of bits.
 */
void thr_kernel_distance_xor_avx2(uint32_t *distances, const uint8_t *blocks, size_t n_blocks,
                                  const thr_query_part *part) {
    const uint32_t planes = part->item_bits;
    for (size_t b = 0; b < n_blocks; b++, distances += ITEMS)
        for (uint32_t r = 0; r < part->n_rows;) {
            uint32_t start = r, end = part->n_rows - r > ROWS_A_ROUND ? r + ROWS_A_ROUND : part->n_rows;
            word_sums sums[MAX_PLANES][2];
            for (uint32_t p = 0; p < planes; p++)
                for (int half = 0; half < 2; half++)
                    sums[p][half] = no_words();
            for (; r < end; r++, blocks += (size_t)ITEMS * planes)
                for (uint32_t p = 0; p < planes; p++)
                    for (int half = 0; half < 2; half++) {
                        __m256i x = load(blocks + ITEMS * p + HALF * half), sum = _mm256_setzero_si256();
                        for (uint32_t j = 0; j < part->bits; j++) {
                            __m256i q = _mm256_set1_epi32((int)part->planes[r * part->bits + j]);
                            sum = _mm256_add_epi8(_mm256_add_epi8(sum, sum), popcount_bytes(_mm256_xor_si256(x, q)));
                        }
                        add_bytes(&sums[p][half], sum);
                    }
            store_planes(distances, sums, planes, start > 0);
        }
}

void thr_kernel_distance_table_avx2(uint32_t *distances, const uint8_t *blocks, size_t n_blocks,
                                    const thr_query_part *part) {
    THR_CALL_FEW_PLANES(part->item_bits, distance_table, distances, blocks, n_blocks, part)
}

/*
 * Plane pair by plane pair: the weights reach 2^13 and would not fit 16-bit words. This kernel only processes blocks
 * with a possible survivor, so its speed matters less.
 */
void thr_kernel_code_squares_avx2(uint32_t *squares, const uint8_t *blocks, size_t n_blocks, uint32_t n_dims,
                                  uint32_t bits) {
    const uint32_t n_rows = (n_dims + 7) / 8, top = (1u << bits) - 1;
    for (size_t b = 0; b < n_blocks; b++, squares += ITEMS, blocks += (size_t)ITEMS * bits * n_rows) {
        for (int i = 0; i < ITEMS; i++)
            squares[i] = n_dims * top * top;
        for (uint32_t i = 0; i < bits; i++)
            for (uint32_t j = i + 1; j < bits; j++)
                for (int half = 0; half < 2; half++)
                    for (uint32_t r = 0; r < n_rows;) {
                        uint32_t end = n_rows - r > ROWS_A_ROUND ? r + ROWS_A_ROUND : n_rows;
                        word_sums sum = no_words();
                        for (; r < end; r++) {
                            const uint8_t *row = blocks + (size_t)ITEMS * bits * r + HALF * half;
                            add_bytes(&sum,
                                      popcount_bytes(_mm256_xor_si256(load(row + ITEMS * i), load(row + ITEMS * j))));
                        }
                        uint32_t counts[HALF];
                        fold_words(counts, &sum, 1);
                        for (int k = 0; k < HALF; k++)
                            squares[HALF * half + k] -= counts[k] << (2 * bits - i - j);
                    }
    }
}
