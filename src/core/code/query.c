/* SPDX-License-Identifier: Apache-2.0 */
#include "code/query.h"

#include "base/minmax.h"
#include "code/encode.h"

#include <math.h>
#include <string.h>

enum { PART_BITS = 4, NIBBLES_A_ROW = 32, SEXTETS_A_TRIPLE = 256 };

static const uint64_t ALL_BYTES = 0x0101010101010101; /* times a byte: eight copies of it */
static const uint64_t GATHER = 0x0102040810204080;    /* moves bit 0 of byte i to bit 56 + i of the product */

static size_t round_up_64(size_t n) {
    return (n + 63) & ~(size_t)63;
}

static size_t planes_size(uint32_t n_rows) {
    return round_up_64(sizeof(uint32_t) * PART_BITS * n_rows);
}

static size_t nibbles_size(uint32_t n_rows) {
    return round_up_64((size_t)NIBBLES_A_ROW * n_rows);
}

static size_t sextets_size(uint32_t n_rows) {
    return (size_t)SEXTETS_A_TRIPLE * ((n_rows + 2) / 3);
}

size_t thr_code_query_size(uint32_t n_dims) {
    uint32_t n_rows = thr_code_rows(n_dims);
    return 2 * (planes_size(n_rows) + nibbles_size(n_rows) + sextets_size(n_rows)) + thr_code_query_levels_size(n_dims);
}

size_t thr_code_query_levels_size(uint32_t n_dims) {
    return 8 * (size_t)thr_code_rows(n_dims);
}

/*
 * Fill a look-up table for n_bits dimensions, 4 to 6. table[m] is a sum over the dimensions i: of values[i] if bit i of
 * m is clear, else of top - values[i], or of 0 if the dimension is not present. Eight entries are computed at once, as
 * the bytes of a word: sums are at most 6 x 15.
 */
static void fill_table(uint8_t *table, const uint8_t *values, const uint8_t *present, uint32_t n_bits, uint8_t top) {
    static const uint64_t set[3] = {0xff00ff00ff00ff00, 0xffff0000ffff0000, 0xffffffff00000000}; /* bit i of m */
    uint64_t low = 0; /* of the first three dimensions, the same for all others */
    for (uint32_t i = 0; i < 3; i++) {
        const uint64_t clear = values[i] * ALL_BYTES, other = present[i] ? (top - values[i]) * ALL_BYTES : 0;
        low += (clear & ~set[i]) | (other & set[i]);
    }
    for (uint32_t high = 0; high < 1u << (n_bits - 3); high++) {
        uint64_t word = low;
        for (uint32_t i = 3; i < n_bits; i++)
            word += (uint64_t)((high >> (i - 3) & 1) == 0 ? values[i] : present[i] ? top - values[i] : 0) * ALL_BYTES;
        memcpy(table + 8 * (size_t)high, &word, sizeof word);
    }
}

/* Collect bit j of eight bytes: bit i of the result is bit j of byte i. */
static uint32_t bits_of_bytes(uint64_t bytes, uint32_t j) {
    return (uint32_t)((bytes >> j & ALL_BYTES) * GATHER >> 56);
}

/*
 * Make the planes and tables of one part: bits `shift` to shift + bits - 1 of values, in memory. values: one byte per
 * dimension, 8 a row, 0 after the last dimension.
 */
static void make_part(thr_query_part *part, const uint8_t *values, uint32_t n_dims, uint32_t bits, uint32_t shift,
                      uint32_t item_bits, uint8_t *memory) {
    const uint32_t n_rows = thr_code_rows(n_dims), n_triples = (n_rows + 2) / 3;
    const uint8_t top = (uint8_t)((1u << bits) - 1);
    uint32_t *planes = (uint32_t *)(void *)memory;
    uint8_t *nibbles = memory + planes_size(n_rows), *sextets = nibbles + nibbles_size(n_rows);
    for (uint32_t t = 0; t < n_triples; t++) {
        uint8_t rest[6] = {0}, rest_present[6] = {0};
        for (uint32_t k = 0; k < 3; k++) {
            const uint32_t r = 3 * t + k, first = 8 * r;
            uint8_t v[8] = {0}, present[8];
            for (uint32_t i = 0; i < 8; i++)
                present[i] = first + i < n_dims;
            if (r < n_rows) {
                uint64_t row;
                memcpy(&row, values + first, sizeof row);
                row = row >> shift & top * ALL_BYTES;
                memcpy(v, &row, sizeof row);
                for (uint32_t j = 0; j < bits; j++)
                    planes[r * bits + j] = bits_of_bytes(row, bits - 1 - j) * 0x01010101u;
                fill_table(nibbles + (size_t)NIBBLES_A_ROW * r, v, present, 4, top);
                fill_table(nibbles + (size_t)NIBBLES_A_ROW * r + 16, v + 4, present + 4, 4, top);
            }
            fill_table(sextets + (size_t)SEXTETS_A_TRIPLE * t + 64 * k, v, present, 6, top);
            memcpy(rest + 2 * k, v + 6, 2);
            memcpy(rest_present + 2 * k, present + 6, 2);
        }
        fill_table(sextets + (size_t)SEXTETS_A_TRIPLE * t + 192, rest, rest_present, 6, top);
    }
    *part = (thr_query_part){.bits = bits,
                             .item_bits = item_bits,
                             .n_rows = n_rows,
                             .planes = planes,
                             .nibbles = nibbles,
                             .sextets = sextets};
}

void thr_code_query_make_levels(thr_query_code *code, const thr_quantiser *quantiser, uint32_t item_bits,
                                const float *query, double norm, uint32_t query_bits, uint8_t *levels) {
    const uint32_t n_dims = quantiser->n_dims;
    const uint32_t item_top = (1u << item_bits) - 1, query_top = (1u << query_bits) - 1;
    const int half = 1 << (query_bits - 1);
    const float scale = (float)(half / (norm * (double)quantiser->ranges[query_bits - 1]));
    memset(levels, 0, thr_code_query_levels_size(n_dims));
    uint64_t square = 0;
    for (uint32_t d = 0; d < n_dims; d++) {
        const int u = thr_code_cell(query[d] * scale, (float)half) + half;
        levels[d] = (uint8_t)u;
        int v = 2 * u + 1 - 2 * half;
        square += (uint64_t)(v * v);
    }
    *code = (thr_query_code){.shifts = {0, PART_BITS},
                             .n_dims = n_dims,
                             .item_bits = item_bits,
                             .query_bits = query_bits,
                             .levels = levels,
                             .total = (int32_t)(n_dims * item_top * query_top),
                             .gain = (float)(1.0 / sqrt((double)square))};
}

void thr_code_query_make(thr_query_code *code, const thr_quantiser *quantiser, uint32_t item_bits, const float *query,
                         double norm, uint32_t query_bits, void *memory) {
    const uint32_t n_dims = quantiser->n_dims, n_rows = thr_code_rows(n_dims);
    const size_t part_size = planes_size(n_rows) + nibbles_size(n_rows) + sextets_size(n_rows);
    uint8_t *levels = (uint8_t *)memory + 2 * part_size;
    thr_code_query_make_levels(code, quantiser, item_bits, query, norm, query_bits, levels);
    code->n_parts = query_bits > PART_BITS ? 2 : 1;
    for (uint32_t p = 0; p < code->n_parts; p++) {
        uint32_t bits = THR_MIN(PART_BITS, query_bits - p * PART_BITS);
        make_part(&code->parts[p], levels, n_dims, bits, code->shifts[p], item_bits, (uint8_t *)memory + p * part_size);
    }
}

void thr_code_query_distances(const thr_query_code *code, thr_distance_kernel kernel, const uint8_t *blocks,
                              size_t n_blocks, uint32_t *distances, uint32_t *scratch) {
    kernel(distances, blocks, n_blocks, &code->parts[0]);
    if (code->n_parts == 1)
        return;
    kernel(scratch, blocks, n_blocks, &code->parts[1]);
    for (size_t i = 0; i < n_blocks * THR_BLOCK_ITEMS; i++)
        distances[i] += scratch[i] << code->shifts[1];
}
