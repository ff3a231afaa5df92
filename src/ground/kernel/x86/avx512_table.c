/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XOR distances by look-up in registers. VPERMB reads a table of 64 bytes with the low six bits of each index and
 * ignores the other two. So the byte of a row is its own index into the sums over dimensions 0 to 5, and the two
 * remaining bits of each of three rows form a fourth index. Per 24 dimensions and plane that is 4 look-ups and 5
 * operations to build the fourth index, against 12 XORs, popcounts and adds times the query's bits.
 *
 * The looked-up bytes are at most 90 and are added in pairs.
 */
#include "kernel/planes.h"
#include "kernel/x86/avx512_words.h"

/* Up to three byte rows of one plane, and the two bits of each that the rows' tables ignore. */
typedef struct row_triple {
    __m512i rows[3], rest;
} row_triple;

/* Load all planes in memory order, which makes a scan faster. */
INLINE void load_rows(row_triple *x, const uint8_t *blocks, const uint32_t planes, const uint32_t rows,
                      size_t read_ahead) {
    const uint8_t *ahead = thr_kernel_ahead_of(blocks, read_ahead);
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t p = 0; p < planes; p++, blocks += ITEMS, ahead += ITEMS) {
            thr_kernel_request(ahead);
            x[p].rows[r] = load_once(blocks);
        }
}

/*
 * Move bits 6-7 of the rows to bits 0-1, 2-3, 4-5; ternary function 0xca selects by the first operand's bits. Word
 * shifts bring bits of neighbouring bytes into the ignored positions. For missing rows, the table gives the same
 * result for all bits.
 */
INLINE __m512i rest_of(const row_triple *x, const uint32_t rows) {
    __m512i rest = _mm512_srli_epi16(x->rows[0], 6);
    if (rows > 1)
        rest = _mm512_ternarylogic_epi64(_mm512_set1_epi8(3), rest, _mm512_srli_epi16(x->rows[1], 4), 0xca);
    if (rows > 2)
        rest = _mm512_ternarylogic_epi64(_mm512_set1_epi8(15), rest, _mm512_srli_epi16(x->rows[2], 2), 0xca);
    return rest;
}

/* One part's tables for three rows. */
typedef struct table_four {
    __m512i rows[3], rest;
} table_four;

INLINE table_four load_tables(const uint8_t *sextets) {
    return (table_four){{_mm512_load_si512(sextets), _mm512_load_si512(sextets + 64), _mm512_load_si512(sextets + 128)},
                        _mm512_load_si512(sextets + 192)};
}

INLINE void look_up_rows(word_sums *sum, const row_triple *x, const table_four *table, const uint32_t rows) {
    __m512i found = _mm512_permutexvar_epi8(x->rows[0], table->rows[0]);
    if (rows > 1)
        found = _mm512_add_epi8(found, _mm512_permutexvar_epi8(x->rows[1], table->rows[1]));
    if (rows > 2) {
        add_bytes(sum, found); /* three rows and the rest could be 360, so they are added in two steps */
        found = _mm512_permutexvar_epi8(x->rows[2], table->rows[2]);
    }
    add_bytes(sum, _mm512_add_epi8(found, _mm512_permutexvar_epi8(x->rest, table->rest)));
}

/* One triple of rows, or the rest of one, for all planes and one part or two. */
INLINE void look_up_triple(word_sums *a, word_sums *b, const uint8_t *blocks, const uint8_t *a_sextets,
                           const uint8_t *b_sextets, const uint32_t planes, const uint32_t rows) {
    row_triple x[MAX_PLANES];
    load_rows(x, blocks, planes, rows, b != NULL ? THR_READ_AHEAD : thr_kernel_read_ahead);
    const table_four a_tables = load_tables(a_sextets), b_tables = load_tables(b_sextets);
    for (uint32_t p = 0; p < planes; p++) {
        x[p].rest = rest_of(&x[p], rows);
        look_up_rows(&a[p], &x[p], &a_tables, rows);
        if (b != NULL)
            look_up_rows(&b[p], &x[p], &b_tables, rows);
    }
}

/* One part, or two (b not NULL), which share the loading and splitting of each plane's rows. */
INLINE void distance_table(uint32_t *a_distances, uint32_t *b_distances, const uint8_t *blocks, size_t n_blocks,
                           const thr_query_part *a, const thr_query_part *b, const uint32_t planes) {
    const size_t row_size = (size_t)ITEMS * planes;
    for (size_t block = 0; block < n_blocks; block++)
        for (uint32_t start = 0; start < a->n_rows; start += ROWS_A_ROUND) {
            const uint32_t end = a->n_rows - start > ROWS_A_ROUND ? start + ROWS_A_ROUND : a->n_rows;
            word_sums a_sums[MAX_PLANES], b_sums[MAX_PLANES];
            clear(a_sums, planes);
            if (b != NULL)
                clear(b_sums, planes);
            const uint8_t *a_sextets = a->sextets + (size_t)256 * (start / 3);
            const uint8_t *b_sextets = b != NULL ? b->sextets + (size_t)256 * (start / 3) : a_sextets;
#define LOOK_UP(rows) look_up_triple(a_sums, b != NULL ? b_sums : NULL, blocks, a_sextets, b_sextets, planes, rows)
            uint32_t r = start;
            for (; r + 3 <= end; r += 3, blocks += 3 * row_size, a_sextets += 256, b_sextets += 256)
                LOOK_UP(3);
            if (end - r == 2)
                LOOK_UP(2);
            else if (end - r == 1)
                LOOK_UP(1);
#undef LOOK_UP
            blocks += (end - r) * row_size;
            store_some(a_distances + ITEMS * block, a_sums, a, planes, start > 0);
            if (b != NULL)
                store_some(b_distances + ITEMS * block, b_sums, b, planes, start > 0);
        }
}

void thr_kernel_distance_table_avx512(uint32_t *distances, const uint8_t *blocks, size_t n_blocks,
                                      const thr_query_part *part) {
    THR_CALL_PLANES(part->item_bits, distance_table, distances, NULL, blocks, n_blocks, part, NULL)
}

/* Two parts of up to four planes: their sums and tables take 24 registers. */
static void distance_two(uint32_t *const *distances, const uint8_t *blocks, size_t n_blocks,
                         const thr_query_part *const *parts) {
    switch (parts[0]->item_bits) {
#define CASE(planes)                                                                                                   \
    case planes:                                                                                                       \
        distance_table(distances[0], distances[1], blocks, n_blocks, parts[0], parts[1], planes);                      \
        break;
        CASE(1)
        CASE(2)
        CASE(3)
        CASE(4)
#undef CASE
    default:
        thr_kernel_distance_table_avx512(distances[0], blocks, n_blocks, parts[0]);
        thr_kernel_distance_table_avx512(distances[1], blocks, n_blocks, parts[1]);
        break;
    }
}

void thr_kernel_distance_tables_avx512(uint32_t *const *distances, const uint8_t *blocks, size_t n_blocks,
                                       const thr_query_part *const *parts, size_t n_parts) {
    for (; n_parts >= 2; n_parts -= 2, distances += 2, parts += 2)
        distance_two(distances, blocks, n_blocks, parts);
    if (n_parts > 0)
        thr_kernel_distance_table_avx512(distances[0], blocks, n_blocks, parts[0]);
}
