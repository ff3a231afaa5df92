/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plane code kernels with AVX2: half a byte row (32 items) a register, PSHUFB for look-ups and for counting bits.
 *
 * A block is walked once, in memory order, with the sums of both halves in registers. Per plane and half the sums of
 * even and odd items are 16-bit words: `both` adds whole words, `odd` their high bytes; even = both - 256 odd.
 */
#include "kernel/x86/avx2_codes.h"

#include <immintrin.h>

enum { ITEMS = 64, HALF = 32, MAX_PLANES = 8, ROWS_A_ROUND = 510 /* 510 rows * 120 fit 16 bits */ };

typedef struct word_sums {
    __m256i both, odd;
} word_sums;

static inline __m256i load(const uint8_t *at) {
    return _mm256_loadu_si256((const __m256i *)(const void *)at);
}

static inline void add_bytes(word_sums *sum, __m256i bytes) {
    sum->both = _mm256_add_epi16(sum->both, bytes);
    sum->odd = _mm256_add_epi16(sum->odd, _mm256_srli_epi16(bytes, 8));
}

static inline __m256i look_up(__m256i x, __m256i low, __m256i high) {
    const __m256i mask = _mm256_set1_epi8(15);
    return _mm256_add_epi8(_mm256_shuffle_epi8(low, _mm256_and_si256(x, mask)),
                           _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi16(x, 4), mask)));
}

static inline __m256i popcount_bytes(__m256i x) {
    const __m256i counts = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1,
                                            2, 2, 3, 2, 3, 3, 4);
    return look_up(x, counts, counts);
}

/* out[0..31] = 2 out + the words of even and odd items in order, or just the words where first. */
static inline void fold_words(uint32_t *out, const word_sums *sum, int first) {
    __m256i even = _mm256_sub_epi16(sum->both, _mm256_slli_epi16(sum->odd, 8));
    __m256i words[2] = {_mm256_unpacklo_epi16(even, sum->odd), _mm256_unpackhi_epi16(even, sum->odd)};
    /* words[h], lane l: items 16 l + 8 h to 16 l + 8 h + 7 */
    for (int lane = 0; lane < 2; lane++)
        for (int h = 0; h < 2; h++) {
            __m128i eight = lane == 0 ? _mm256_castsi256_si128(words[h]) : _mm256_extracti128_si256(words[h], 1);
            __m256i wide = _mm256_cvtepu16_epi32(eight);
            __m256i *at = (__m256i *)(void *)(out + 16 * lane + 8 * h);
            if (!first) {
                __m256i old = _mm256_loadu_si256(at);
                wide = _mm256_add_epi32(wide, _mm256_add_epi32(old, old));
            }
            _mm256_storeu_si256(at, wide);
        }
}

/* Adds to distances the sum over planes of 2^(planes - 1 - p) times the plane's sums. */
static inline void store_planes(uint32_t *distances, word_sums sums[][2], uint32_t planes, int add) {
    uint32_t total[ITEMS];
    for (uint32_t p = 0; p < planes; p++)
        for (int half = 0; half < 2; half++)
            fold_words(total + HALF * half, &sums[p][half], p == 0);
    for (int i = 0; i < ITEMS; i++)
        distances[i] = total[i] + (add ? distances[i] : 0);
}

static inline __attribute__((always_inline)) void distance_table(uint32_t *distances, const uint8_t *blocks,
                                                                 size_t n_blocks, const thr_query_part *part,
                                                                 const uint32_t planes) {
    for (size_t b = 0; b < n_blocks; b++, distances += ITEMS)
        for (uint32_t r = 0; r < part->n_rows;) {
            uint32_t start = r, end = part->n_rows - r > ROWS_A_ROUND ? r + ROWS_A_ROUND : part->n_rows;
            word_sums sums[MAX_PLANES][2];
            for (uint32_t p = 0; p < planes; p++)
                for (int half = 0; half < 2; half++)
                    sums[p][half] = (word_sums){_mm256_setzero_si256(), _mm256_setzero_si256()};
            for (; r < end; r++, blocks += (size_t)ITEMS * planes) {
                const __m128i *nibbles = (const __m128i *)(const void *)(part->nibbles + (size_t)32 * r);
                __m256i low = _mm256_broadcastsi128_si256(_mm_load_si128(nibbles));
                __m256i high = _mm256_broadcastsi128_si256(_mm_load_si128(nibbles + 1));
                for (uint32_t p = 0; p < planes; p++)
                    for (int half = 0; half < 2; half++)
                        add_bytes(&sums[p][half], look_up(load(blocks + ITEMS * p + HALF * half), low, high));
            }
            store_planes(distances, sums, planes, start > 0);
        }
}

/* A plane's XORs with all query planes, weighted: at most 8 * 15 a row, so it is summed like a look-up. */
static inline __attribute__((always_inline)) void distance_xor(uint32_t *distances, const uint8_t *blocks,
                                                               size_t n_blocks, const thr_query_part *part,
                                                               const uint32_t planes) {
    for (size_t b = 0; b < n_blocks; b++, distances += ITEMS)
        for (uint32_t r = 0; r < part->n_rows;) {
            uint32_t start = r, end = part->n_rows - r > ROWS_A_ROUND ? r + ROWS_A_ROUND : part->n_rows;
            word_sums sums[MAX_PLANES][2];
            for (uint32_t p = 0; p < planes; p++)
                for (int half = 0; half < 2; half++)
                    sums[p][half] = (word_sums){_mm256_setzero_si256(), _mm256_setzero_si256()};
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

#define PLANES_SWITCH(planes, CALL)                                                                                    \
    switch (planes) {                                                                                                  \
    case 1:                                                                                                            \
        CALL(1);                                                                                                       \
        break;                                                                                                         \
    case 2:                                                                                                            \
        CALL(2);                                                                                                       \
        break;                                                                                                         \
    case 3:                                                                                                            \
        CALL(3);                                                                                                       \
        break;                                                                                                         \
    case 4:                                                                                                            \
        CALL(4);                                                                                                       \
        break;                                                                                                         \
    default:                                                                                                           \
        CALL(planes);                                                                                                  \
        break;                                                                                                         \
    }

void thr_distance_table_avx2(uint32_t *distances, const uint8_t *blocks, size_t n_blocks, const thr_query_part *part) {
#define CALL(p) distance_table(distances, blocks, n_blocks, part, p)
    PLANES_SWITCH(part->item_bits, CALL)
#undef CALL
}

/* One part after the other: the sums of two are more than sixteen registers hold. */
void thr_distance_tables_avx2(uint32_t *const *distances, const uint8_t *blocks, size_t n_blocks,
                              const thr_query_part *const *parts, size_t n_parts) {
    for (size_t i = 0; i < n_parts; i++)
        thr_distance_table_avx2(distances[i], blocks, n_blocks, parts[i]);
}

void thr_distance_xor_avx2(uint32_t *distances, const uint8_t *blocks, size_t n_blocks, const thr_query_part *part) {
#define CALL(p) distance_xor(distances, blocks, n_blocks, part, p)
    PLANES_SWITCH(part->item_bits, CALL)
#undef CALL
}

/* Pair by pair of planes: the weights reach 2^13 and would not fit 16-bit words. This kernel only sees blocks that hold
 * a possible survivor, so it need not be the fastest. */
void thr_code_squares_avx2(uint32_t *squares, const uint8_t *blocks, size_t n_blocks, uint32_t n_dims, uint32_t bits) {
    const uint32_t n_rows = (n_dims + 7) / 8, top = (1u << bits) - 1;
    for (size_t b = 0; b < n_blocks; b++, squares += ITEMS, blocks += (size_t)ITEMS * bits * n_rows) {
        for (int i = 0; i < ITEMS; i++)
            squares[i] = n_dims * top * top;
        for (uint32_t i = 0; i < bits; i++)
            for (uint32_t j = i + 1; j < bits; j++)
                for (int half = 0; half < 2; half++)
                    for (uint32_t r = 0; r < n_rows;) {
                        uint32_t end = n_rows - r > ROWS_A_ROUND ? r + ROWS_A_ROUND : n_rows;
                        word_sums sum = {_mm256_setzero_si256(), _mm256_setzero_si256()};
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
