/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plane code kernels with AVX2: half a byte row (32 items) a register, PSHUFB for look-ups and popcounts.
 *
 * Loads go through a block plane by plane; requests ahead go through memory in order.
 */
#include "kernel/x86/avx2_words.h"

INLINE __m256i popcount_bytes(__m256i x) {
    const __m256i counts = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1,
                                            2, 2, 3, 2, 3, 3, 4);
    return look_up(x, counts, counts);
}

/* Sums of a block's halves, and the next line to request from memory. No array: gcc 12 keeps those in memory. */
typedef struct block_sums {
    word_sums first, second;
    const uint8_t *ahead;
} block_sums;

/* Request the line after the last requested one: in the order of memory, whatever the order of loads. */
INLINE void request_next(block_sums *sums) {
    thr_kernel_request(sums->ahead);
    sums->ahead += ITEMS;
}

INLINE void put_block(uint32_t *distances, const block_sums *sums, uint32_t shift, bool first) {
    if (first && shift == 0) { /* constants, for the shapes of most scans */
        put_words(distances, &sums->first, 0, 1);
        put_words(distances + HALF, &sums->second, 0, 1);
    } else {
        put_words(distances, &sums->first, shift, first);
        put_words(distances + HALF, &sums->second, shift, first);
    }
}

/* Add rows [first, end) of a plane, `stride` bytes apart. */
typedef void add_rows(block_sums *sums, const uint8_t *codes, size_t stride, const thr_query_part *part, uint32_t first,
                      uint32_t end);

/*
 * Plane by plane, because the sums of one plane and the tables of two rows fill the registers. The sums of a plane are
 * doubled before the next one of half its weight is added, and become distances once per round.
 */
INLINE void sum_blocks(uint32_t *distances, const uint8_t *blocks, size_t n_blocks, const thr_query_part *part,
                       add_rows *add) {
    const uint32_t planes = part->item_bits;
    const size_t stride = (size_t)ITEMS * planes;
    block_sums sums = {.ahead = thr_kernel_ahead_of(blocks, THR_READ_AHEAD)};
    for (size_t b = 0; b < n_blocks; b++, distances += ITEMS, blocks += stride * part->n_rows)
        for (uint32_t p = 0; p < planes; p += PLANES_A_ROUND) {
            const uint32_t n_planes = at_most(planes - p, PLANES_A_ROUND);
            for (uint32_t r = 0, end; r < part->n_rows; r = end) {
                end = r + at_most(part->n_rows - r, rows_a_round(n_planes));
                sums.first = sums.second = no_words();
                for (uint32_t i = 0; i < n_planes; i++) {
                    double_words(&sums.first);
                    double_words(&sums.second);
                    add(&sums, blocks + stride * r + ITEMS * (p + i), stride, part, r, end);
                }
                put_block(distances, &sums, planes - p - n_planes, p == 0 && r == 0);
            }
        }
}

/* The tables of a row. */
typedef struct row_tables {
    __m256i low, high;
} row_tables;

INLINE row_tables load_tables(const uint8_t *nibbles) {
    return (row_tables){table(nibbles), table(nibbles + 16)};
}

/* The sums of two rows, at most 240, fit a byte and are widened together. */
INLINE void look_up_two(word_sums *sums, const uint8_t *codes, size_t stride, row_tables x, row_tables y) {
    add_bytes(sums, _mm256_add_epi8(look_up(load(codes), x.low, x.high), look_up(load(codes + stride), y.low, y.high)));
}

INLINE void look_up_rows(block_sums *sums, const uint8_t *codes, size_t stride, const thr_query_part *part,
                         uint32_t first, uint32_t end) {
    const uint8_t *nibbles = part->nibbles + (size_t)32 * first;
    uint32_t r = first;
    for (; r + 2 <= end; r += 2, codes += 2 * stride, nibbles += 64) {
        const row_tables x = load_tables(nibbles), y = load_tables(nibbles + 32);
        request_next(sums);
        request_next(sums);
        look_up_two(&sums->first, codes, stride, x, y);
        look_up_two(&sums->second, codes + HALF, stride, x, y);
    }
    if (r < end) {
        const row_tables x = load_tables(nibbles);
        request_next(sums);
        add_bytes(&sums->first, look_up(load(codes), x.low, x.high));
        add_bytes(&sums->second, look_up(load(codes + HALF), x.low, x.high));
    }
}

/* At most 8 * 15. */
INLINE __m256i weighted_counts(__m256i x, const uint32_t *planes, uint32_t bits) {
    __m256i sum = _mm256_setzero_si256();
    for (uint32_t j = 0; j < bits; j++)
        sum = _mm256_add_epi8(_mm256_add_epi8(sum, sum),
                              popcount_bytes(_mm256_xor_si256(x, _mm256_set1_epi32((int)planes[j]))));
    return sum;
}

/* The weighted XORs of a plane with all query planes, summed like look-ups, which are faster for any number of bits. */
INLINE void count_rows(block_sums *sums, const uint8_t *codes, size_t stride, const thr_query_part *part,
                       uint32_t first, uint32_t end) {
    for (uint32_t r = first; r < end; r++, codes += stride) {
        const uint32_t *planes = part->planes + (size_t)r * part->bits;
        request_next(sums);
        add_bytes(&sums->first, weighted_counts(load(codes), planes, part->bits));
        add_bytes(&sums->second, weighted_counts(load(codes + HALF), planes, part->bits));
    }
}

void thr_kernel_distance_xor_avx2(uint32_t *distances, const uint8_t *blocks, size_t n_blocks,
                                  const thr_query_part *part) {
    sum_blocks(distances, blocks, n_blocks, part, count_rows);
}

void thr_kernel_distance_table_avx2(uint32_t *distances, const uint8_t *blocks, size_t n_blocks,
                                    const thr_query_part *part) {
    sum_blocks(distances, blocks, n_blocks, part, look_up_rows);
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
                        uint32_t end = r + at_most(n_rows - r, ROWS_OF_ONE_PLANE);
                        word_sums sum = no_words();
                        for (; r < end; r++) {
                            const uint8_t *row = blocks + (size_t)ITEMS * bits * r + HALF * half;
                            add_bytes(&sum,
                                      popcount_bytes(_mm256_xor_si256(load(row + ITEMS * i), load(row + ITEMS * j))));
                        }
                        uint32_t counts[HALF];
                        put_words(counts, &sum, 0, 1);
                        for (int k = 0; k < HALF; k++)
                            squares[HALF * half + k] -= counts[k] << (2 * bits - i - j);
                    }
    }
}
