/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many queries with AVX2: VPMADDUBSW multiplies unpacked codes with digits and adds pairs of products to 16-bit
 * words, which is exact as long as twice the largest product fits. With few bits, many pairs are added before words
 * are widened.
 *
 * Codes are unpacked without bit transposition instructions: masked shifts gather the planes' bits of dimensions i
 * and i + 4 into the nibbles of a byte, four such bytes are interleaved, and the nibbles are separated.
 */
#include "base/minmax.h"
#include "kernel/planes.h"
#include "kernel/level_codes.h"

#include <immintrin.h>
#include <string.h>

enum {
    ITEMS = 64,
    HALF = 32,         /* items per register of plane bytes */
    QUERIES = 4,       /* in a pass */
    DIGITS_A_ROW = 32, /* 8 dimensions of 4 queries */
    BYTES_A_ROW = 512, /* dimensions 0 to 3 of 64 items, then dimensions 4 to 7 */
    ROWS_A_ROUND = 32  /* 16 KiB of unpacked bytes */
};

#define INLINE static inline __attribute__((always_inline))

INLINE __m256i load(const void *at) {
    return _mm256_loadu_si256((const __m256i *)at);
}

INLINE __m256i mask(__m256i x, int byte) {
    return _mm256_and_si256(x, _mm256_set1_epi8((char)byte));
}

/* Select the bits in `byte` from x, the others from y. */
INLINE __m256i pick(int byte, __m256i x, __m256i y) {
    return _mm256_or_si256(mask(x, byte), mask(y, ~byte));
}

/*
 * Gather up to four planes x, the most significant first: byte i gets dimension i in its lower nibble and i + 4 in
 * its upper.
 */
INLINE void gather_nibbles(__m256i bytes[4], const __m256i *x, const int planes) {
    if (planes == 1) {
        for (int i = 0; i < 4; i++)
            bytes[i] = mask(_mm256_srli_epi16(x[0], i), 0x11);
        return;
    }
    const __m256i c = x[planes - 2], d = x[planes - 1];
    const __m256i even = pick(0xaa, _mm256_slli_epi16(c, 1), d), odd = pick(0xaa, c, _mm256_srli_epi16(d, 1));
    __m256i upper_even = _mm256_setzero_si256(), upper_odd = upper_even;
    if (planes == 3) {
        upper_even = mask(x[0], 0x55);
        upper_odd = mask(_mm256_srli_epi16(x[0], 1), 0x55);
    } else if (planes == 4) {
        upper_even = pick(0xaa, _mm256_slli_epi16(x[0], 1), x[1]);
        upper_odd = pick(0xaa, x[0], _mm256_srli_epi16(x[1], 1));
    }
    bytes[0] = pick(0xcc, _mm256_slli_epi16(upper_even, 2), even);
    bytes[1] = pick(0xcc, _mm256_slli_epi16(upper_odd, 2), odd);
    bytes[2] = pick(0xcc, upper_even, _mm256_srli_epi16(even, 2));
    bytes[3] = pick(0xcc, upper_odd, _mm256_srli_epi16(odd, 2));
}

/* Unpack up to four planes of 32 items to nibbles: words[k] holds those of items 8 k to 8 k + 7, four bytes each. */
INLINE void nibbles_of_items(__m256i words[4], const uint8_t *planes, const int n_planes) {
    /* Pre-permuted, because interleaving works within halves of a register and would reorder items. */
    const __m256i order = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
    __m256i x[4], bytes[4];
    for (int p = 0; p < n_planes; p++)
        x[p] = _mm256_permutevar8x32_epi32(load(planes + ITEMS * p), order);
    gather_nibbles(bytes, x, n_planes);
    const __m256i low01 = _mm256_unpacklo_epi8(bytes[0], bytes[1]), high01 = _mm256_unpackhi_epi8(bytes[0], bytes[1]);
    const __m256i low23 = _mm256_unpacklo_epi8(bytes[2], bytes[3]), high23 = _mm256_unpackhi_epi8(bytes[2], bytes[3]);
    words[0] = _mm256_unpacklo_epi16(low01, low23);
    words[1] = _mm256_unpackhi_epi16(low01, low23);
    words[2] = _mm256_unpacklo_epi16(high01, high23);
    words[3] = _mm256_unpackhi_epi16(high01, high23);
}

INLINE void unpack(uint8_t *bytes, const uint8_t *codes, uint32_t n_rows, const int planes) {
    const int low_planes = THR_MIN(planes, 4);
    for (uint32_t r = 0; r < n_rows; r++, codes += ITEMS * planes, bytes += BYTES_A_ROW)
        for (int half = 0; half < 2; half++) {
            __m256i low[4], high[4];
            nibbles_of_items(low, codes + ITEMS * (planes - low_planes) + HALF * half, low_planes);
            if (planes > 4)
                nibbles_of_items(high, codes + HALF * half, planes - 4);
            for (int k = 0; k < 4; k++) {
                __m256i first = mask(low[k], 15), second = mask(_mm256_srli_epi16(low[k], 4), 15);
                if (planes > 4) {
                    first = pick(15, first, _mm256_slli_epi16(high[k], 4));
                    second = pick(15, second, high[k]);
                }
                _mm256_store_si256((__m256i *)(void *)(bytes + 128 * half + 32 * k), first);
                _mm256_store_si256((__m256i *)(void *)(bytes + 256 + 128 * half + 32 * k), second);
            }
        }
}

INLINE __m256i four_digits(const int8_t *digits) {
    int32_t four;
    memcpy(&four, digits, sizeof four);
    return _mm256_set1_epi32(four);
}

INLINE __m256i widen(__m256i words) {
    return _mm256_madd_epi16(words, _mm256_set1_epi16(1));
}

/*
 * Sums of 16 items for one query, and for four. Named fields instead of arrays: gcc 12 keeps arrays of registers in
 * memory.
 */
typedef struct query_sums {
    __m256i items0, items8;
} query_sums;

typedef struct four_sums {
    query_sums a, b, c, d;
} four_sums;

INLINE four_sums no_sums(void) {
    const query_sums none = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    return (four_sums){none, none, none, none};
}

/* Add 16-bit sums of two products each. */
INLINE void add_pairs(query_sums *words, __m256i items0, __m256i items8, __m256i digits) {
    words->items0 = _mm256_add_epi16(words->items0, _mm256_maddubs_epi16(items0, digits));
    words->items8 = _mm256_add_epi16(words->items8, _mm256_maddubs_epi16(items8, digits));
}

INLINE void add_widened(query_sums *sums, const query_sums *words) {
    sums->items0 = _mm256_add_epi32(sums->items0, widen(words->items0));
    sums->items8 = _mm256_add_epi32(sums->items8, widen(words->items8));
}

/* Add products that are widened individually, even and odd dimensions separately. */
INLINE void add_apart(query_sums *sums, __m256i items0, __m256i items8, __m256i digits) {
    const __m256i even = _mm256_set1_epi16(255);
    query_sums words = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    add_pairs(&words, _mm256_and_si256(items0, even), _mm256_and_si256(items8, even), digits);
    add_widened(sums, &words);
    words = (query_sums){_mm256_setzero_si256(), _mm256_setzero_si256()};
    add_pairs(&words, _mm256_andnot_si256(even, items0), _mm256_andnot_si256(even, items8), digits);
    add_widened(sums, &words);
}

typedef void add_fn(query_sums *sums, __m256i items0, __m256i items8, __m256i digits);

/* Add the products of 8 dimensions for four queries. */
INLINE void add_row(four_sums *sums, const uint8_t *bytes, const int8_t *digits, add_fn *const add) {
    for (int h = 0; h < 2; h++) {
        const __m256i items0 = load(bytes + 256 * h), items8 = load(bytes + 256 * h + 32);
        add(&sums->a, items0, items8, four_digits(digits + 16 * h));
        add(&sums->b, items0, items8, four_digits(digits + 16 * h + 4));
        add(&sums->c, items0, items8, four_digits(digits + 16 * h + 8));
        add(&sums->d, items0, items8, four_digits(digits + 16 * h + 12));
    }
}

/* Sums of u_d times digit for 16 items and four queries. Pairs of products of rows_a_round rows fit 16 bits. */
INLINE four_sums multiply(const uint8_t *bytes, const int8_t *digits, uint32_t n_rows, uint32_t rows_a_round) {
    four_sums sums = no_sums();
    for (uint32_t r = 0; r < n_rows;) {
        four_sums words = no_sums();
        const uint32_t end = rows_a_round < n_rows - r ? r + rows_a_round : n_rows;
        for (; r < end; r++, bytes += BYTES_A_ROW, digits += DIGITS_A_ROW)
            add_row(&words, bytes, digits, add_pairs);
        add_widened(&sums.a, &words.a);
        add_widened(&sums.b, &words.b);
        add_widened(&sums.c, &words.c);
        add_widened(&sums.d, &words.d);
    }
    return sums;
}

/* The same for products so large that not even two fit 16 bits. */
INLINE four_sums multiply_apart(const uint8_t *bytes, const int8_t *digits, uint32_t n_rows) {
    four_sums sums = no_sums();
    for (uint32_t r = 0; r < n_rows; r++, bytes += BYTES_A_ROW, digits += DIGITS_A_ROW)
        add_row(&sums, bytes, digits, add_apart);
    return sums;
}

/* Return how many rows' pairs of products, two per word and row, fit 16 bits. */
static uint32_t rows_that_fit(const thr_query_tile *tile) {
    const uint32_t largest_digit = tile->bits == 8 ? 128 : (1u << tile->bits) - 1;
    return INT16_MAX / (2 * 2 * ((1u << tile->item_bits) - 1) * largest_digit);
}

/* Output of a pass: distances are bases minus products, or the previous distances minus products. */
typedef struct tile_output {
    uint32_t *distances;
    size_t stride;
    const uint32_t *bases;
    bool go_on;
    const uint32_t *item_sums; /* for queries of 8 bits the sum of u_d of every item; else NULL */
} tile_output;

INLINE void finish_eight(const tile_output *to, uint32_t base, uint32_t *distances, size_t item, __m256i sum) {
    __m256i *at = (__m256i *)(void *)(distances + item);
    if (to->item_sums != NULL)
        sum = _mm256_add_epi32(_mm256_add_epi32(sum, sum), load(to->item_sums + item));
    const __m256i start = to->go_on ? _mm256_loadu_si256(at) : _mm256_set1_epi32((int)base);
    _mm256_storeu_si256(at, _mm256_sub_epi32(start, sum));
}

INLINE void finish(const tile_output *to, size_t query, size_t item, const query_sums *sums) {
    uint32_t *distances = to->distances + query * to->stride;
    finish_eight(to, to->bases[query], distances, item, sums->items0);
    finish_eight(to, to->bases[query], distances, item + 8, sums->items8);
}

/* Up to four queries and 64 items. */
static void pass(const tile_output *to, const uint8_t *bytes, const int8_t *digits, uint32_t n_rows, size_t n_queries,
                 uint32_t rows_a_round) {
    for (size_t item = 0; item < ITEMS; item += 16) {
        const four_sums sums = rows_a_round > 0 ? multiply(bytes + 4 * item, digits, n_rows, rows_a_round)
                                                : multiply_apart(bytes + 4 * item, digits, n_rows);
        finish(to, 0, item, &sums.a);
        if (n_queries > 1)
            finish(to, 1, item, &sums.b);
        if (n_queries > 2)
            finish(to, 2, item, &sums.c);
        if (n_queries > 3)
            finish(to, 3, item, &sums.d);
    }
}

static void sum_items(uint32_t item_sums[ITEMS], const uint8_t *bytes, uint32_t n_rows) {
    memset(item_sums, 0, ITEMS * sizeof *item_sums);
    for (uint32_t i = 0; i < 2 * n_rows; i++)
        for (size_t item = 0; item < ITEMS; item += 8) {
            __m256i *at = (__m256i *)(void *)(item_sums + item);
            const __m256i pairs = _mm256_maddubs_epi16(load(bytes + 256 * (size_t)i + 4 * item), _mm256_set1_epi8(1));
            _mm256_storeu_si256(at, _mm256_add_epi32(_mm256_loadu_si256(at), widen(pairs)));
        }
}

void thr_kernel_distance_tile_avx2(uint32_t *distances, size_t stride, const uint8_t *blocks, size_t n_blocks,
                                   const thr_query_tile *tile) {
    uint8_t bytes[ROWS_A_ROUND * BYTES_A_ROW] __attribute__((aligned(32)));
    uint32_t item_sums[ITEMS];
    const uint32_t rows_a_round = rows_that_fit(tile);
    for (size_t b = 0; b < n_blocks; b++)
        for (uint32_t r = 0; r < tile->n_rows; r += ROWS_A_ROUND) {
            const uint32_t n_rows = THR_MIN(tile->n_rows - r, ROWS_A_ROUND);
            const uint8_t *codes = blocks + (b * tile->n_rows + r) * ITEMS * tile->item_bits;
            THR_CALL_PLANES(tile->item_bits, unpack, bytes, codes, n_rows)
            if (tile->bits == 8)
                sum_items(item_sums, bytes, n_rows);
            for (size_t q = 0; q < tile->n_queries; q += QUERIES) {
                const size_t n = THR_MIN(tile->n_queries - q, QUERIES);
                const tile_output to = {.distances = distances + q * stride + b * ITEMS,
                                        .stride = stride,
                                        .bases = tile->bases + q,
                                        .go_on = r > 0,
                                        .item_sums = tile->bits == 8 ? item_sums : NULL};
                pass(&to, bytes, tile->digits + DIGITS_A_ROW * (q / QUERIES * tile->n_rows + r), n_rows, n,
                     rows_a_round);
            }
        }
}
