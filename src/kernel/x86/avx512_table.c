/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XOR distances by look-up in registers. VPERMB reads a table of 64 bytes with the low six bits of each index and
 * ignores the other two, so the byte of a row is its own index into the sums over dimensions 0 to 5; the two bits left
 * over in each of three rows make a fourth index. Per 24 dimensions and plane that is 4 look-ups and 5 operations to
 * build the fourth index, against 12 XORs, popcounts and adds times the query's bits.
 *
 * The bytes looked up are at most 90, added in pairs. Pairs of items are then 16-bit words: `both` sums whole words and
 * `odd` the words' high bytes; the even items' sum is both - 256 odd, exact modulo 2^16 as long as a sum fits 16 bits.
 */
#include "kernel/planes.h"
#include "kernel/x86/avx512_codes.h"

#include <immintrin.h>

enum { ITEMS = 64, MAX_PLANES = 8, ROWS_A_ROUND = 510 /* 510 rows * 120 fit 16 bits; a multiple of 3 */ };

typedef struct word_sums {
    __m512i both, odd;
} word_sums;

static inline __attribute__((always_inline)) void add_bytes(word_sums *sum, __m512i bytes) {
    sum->both = _mm512_add_epi16(sum->both, bytes);
    sum->odd = _mm512_add_epi16(sum->odd, _mm512_srli_epi16(bytes, 8));
}

/*
 * Look up `rows` byte rows (1 to 3) of one plane. Word shifts bring bits of neighbouring bytes in above the bits wanted;
 * a table gives the same whatever the bits of rows that are not there.
 */
static inline __attribute__((always_inline)) void look_up_rows(word_sums *sum, const __m512i *x, const __m512i *table,
                                                               const uint32_t rows) {
    __m512i found = _mm512_permutexvar_epi8(x[0], table[0]);
    __m512i rest = _mm512_srli_epi16(x[0], 6);
    if (rows > 1) {
        /* Bits 6-7 of the rows to bits 0-1, 2-3, 4-5; 0xca picks by the first operand's bits. */
        found = _mm512_add_epi8(found, _mm512_permutexvar_epi8(x[1], table[1]));
        rest = _mm512_ternarylogic_epi64(_mm512_set1_epi8(3), rest, _mm512_srli_epi16(x[1], 4), 0xca);
    }
    if (rows > 2) {
        add_bytes(sum, found); /* three rows and the rest could be 360 */
        found = _mm512_permutexvar_epi8(x[2], table[2]);
        rest = _mm512_ternarylogic_epi64(_mm512_set1_epi8(15), rest, _mm512_srli_epi16(x[2], 2), 0xca);
    }
    add_bytes(sum, _mm512_add_epi8(found, _mm512_permutexvar_epi8(rest, table[3])));
}

/* One triple of rows, or what is left of it, for all planes; loaded in the order of memory. */
static inline __attribute__((always_inline)) void look_up_triple(word_sums *sums, const uint8_t *blocks,
                                                                 const uint8_t *sextets, const uint32_t planes,
                                                                 const uint32_t rows) {
    __m512i table[4], x[MAX_PLANES][3];
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t p = 0; p < planes; p++)
            x[p][r] = _mm512_loadu_si512(blocks + (size_t)ITEMS * (p + planes * r));
    for (int t = 0; t < 4; t++)
        table[t] = _mm512_load_si512(sextets + 64 * t);
    for (uint32_t p = 0; p < planes; p++)
        look_up_rows(&sums[p], x[p], table, rows);
}

/* 32 words of even items, 32 of odd ones -> 64 numbers in order, times 2^0, added to or put into distances. */
static inline __attribute__((always_inline)) void store_sums(uint32_t *distances, const word_sums *sums,
                                                             const uint32_t planes, int narrow, int add) {
    __m512i order[2];
    for (int half = 0; half < 2; half++) {
        uint16_t index[32];
        for (int i = 0; i < 32; i++)
            index[i] = (uint16_t)((i & 1) * 32 + i / 2 + 16 * half);
        order[half] = _mm512_loadu_si512(index);
    }
    __m512i total[4];
    for (int i = 0; i < 4; i++)
        total[i] = _mm512_setzero_si512();
    __m512i even = _mm512_setzero_si512(), odd = even;
    for (uint32_t p = 0; p < planes; p++) {
        __m512i e = _mm512_sub_epi16(sums[p].both, _mm512_slli_epi16(sums[p].odd, 8)), o = sums[p].odd;
        if (narrow) {
            even = _mm512_add_epi16(_mm512_add_epi16(even, even), e);
            odd = _mm512_add_epi16(_mm512_add_epi16(odd, odd), o);
            if (p + 1 < planes)
                continue;
            e = even;
            o = odd;
        }
        for (int half = 0; half < 2; half++) {
            __m512i words = _mm512_permutex2var_epi16(e, order[half], o);
            __m512i *t = total + 2 * half;
            t[0] = _mm512_add_epi32(_mm512_add_epi32(t[0], t[0]), _mm512_cvtepu16_epi32(_mm512_castsi512_si256(words)));
            t[1] = _mm512_add_epi32(_mm512_add_epi32(t[1], t[1]),
                                    _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(words, 1)));
        }
    }
    for (int i = 0; i < 4; i++) {
        if (add)
            total[i] = _mm512_add_epi32(total[i], _mm512_loadu_si512(distances + 16 * i));
        _mm512_storeu_si512(distances + 16 * i, total[i]);
    }
}

static inline __attribute__((always_inline)) void distance_table(uint32_t *distances, const uint8_t *blocks,
                                                                 size_t n_blocks, const thr_query_part *part,
                                                                 const uint32_t planes) {
    const size_t row_size = (size_t)ITEMS * planes;
    /* All planes' weighted sum fits 16 bits when 8 n_rows (2^bits - 1)(2^planes - 1) does. */
    const int narrow =
        part->n_rows * 8 * ((1u << part->bits) - 1) * ((1u << planes) - 1) < 65536 && part->n_rows <= ROWS_A_ROUND;
    for (size_t b = 0; b < n_blocks; b++, distances += ITEMS) {
        for (uint32_t start = 0; start < part->n_rows; start += ROWS_A_ROUND) {
            uint32_t end = part->n_rows - start > ROWS_A_ROUND ? start + ROWS_A_ROUND : part->n_rows;
            word_sums sums[MAX_PLANES];
            for (uint32_t p = 0; p < planes; p++)
                sums[p] = (word_sums){_mm512_setzero_si512(), _mm512_setzero_si512()};
            uint32_t r = start;
            const uint8_t *sextets = part->sextets + (size_t)256 * (start / 3);
            for (; r + 3 <= end; r += 3, blocks += 3 * row_size, sextets += 256)
                look_up_triple(sums, blocks, sextets, planes, 3);
            if (end - r == 2)
                look_up_triple(sums, blocks, sextets, planes, 2);
            else if (end - r == 1)
                look_up_triple(sums, blocks, sextets, planes, 1);
            blocks += (end - r) * row_size;
            if (narrow)
                store_sums(distances, sums, planes, 1, 0);
            else
                store_sums(distances, sums, planes, 0, start > 0);
        }
    }
}

void thr_distance_table_avx512(uint32_t *distances, const uint8_t *blocks, size_t n_blocks,
                               const thr_query_part *part) {
    switch (part->item_bits) {
#define CASE(planes)                                                                                                   \
    case planes:                                                                                                       \
        distance_table(distances, blocks, n_blocks, part, planes);                                                     \
        break;
        THR_EACH_PLANES(CASE)
#undef CASE
    default:
        break;
    }
}
