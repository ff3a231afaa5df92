/* SPDX-License-Identifier: Apache-2.0 */
#include "code/group.h"

#include "base/minmax.h"
#include "code/encode.h"

#include <string.h>

enum {
    QUERIES = 4,       /* of a tile, interleaved */
    DIGITS_A_ROW = 32, /* 8 dimensions of 4 queries */
    PARTS = 16         /* looked up in one call */
};

static size_t digits_size(uint32_t n_dims, uint32_t n_queries) {
    const size_t n_fours = THR_CEIL_DIV((size_t)n_queries, QUERIES);
    return (n_fours * thr_code_rows(n_dims) * DIGITS_A_ROW + 63) & ~(size_t)63;
}

size_t thr_code_query_group_size(uint32_t n_dims, uint32_t n_queries) {
    return digits_size(n_dims, n_queries) + n_queries * sizeof(uint32_t);
}

/* Scatter one query's levels to its slots among the four interleaved queries; return the sum of its levels. */
static uint32_t place_digits(int8_t *digits, const thr_query_code *code) {
    const int middle = 1 << (code->query_bits - 1);
    uint32_t sum = 0;
    for (uint32_t d = 0; d < code->n_dims; d++) {
        const int digit = code->levels[d] - middle;
        digits[(size_t)d / 8 * DIGITS_A_ROW + d % 8 / 4 * 16 + d % 4] =
            (int8_t)(code->query_bits == 8 ? digit : 2 * digit + 1);
        sum += code->levels[d];
    }
    return sum;
}

void thr_code_query_group_make(thr_query_group *group, thr_way way, const thr_query_code *const *codes,
                               uint32_t n_queries, void *memory) {
    *group = (thr_query_group){.way = way, .n_queries = n_queries, .codes = codes};
    if (way != THR_WAY_TILE)
        return;
    const uint32_t n_dims = codes[0]->n_dims, n_rows = thr_code_rows(n_dims);
    const size_t size = digits_size(n_dims, n_queries);
    int8_t *digits = memory;
    uint32_t *bases = (uint32_t *)(void *)((uint8_t *)memory + size);
    memset(digits, 0, size);
    for (size_t q = 0; q < n_queries; q++) {
        int8_t *first = digits + q / QUERIES * n_rows * DIGITS_A_ROW + q % QUERIES * 4;
        bases[q] = ((1u << codes[q]->item_bits) - 1) * place_digits(first, codes[q]);
    }
    group->tile = (thr_query_tile){.n_queries = n_queries,
                                   .bits = codes[0]->query_bits,
                                   .item_bits = codes[0]->item_bits,
                                   .n_rows = n_rows,
                                   .digits = digits,
                                   .bases = bases};
}

/* Queries of one part: look up several at once. */
static void look_up_queries(const thr_query_group *group, const thr_kernels *kernels, const uint8_t *blocks,
                            size_t n_blocks, uint32_t *distances, size_t stride) {
    const thr_query_part *parts[PARTS];
    uint32_t *places[PARTS];
    for (size_t first = 0; first < group->n_queries; first += PARTS) {
        const size_t n = THR_MIN(group->n_queries - first, PARTS);
        for (size_t i = 0; i < n; i++) {
            parts[i] = &group->codes[first + i]->parts[0];
            places[i] = distances + (first + i) * stride;
        }
        kernels->distance_tables(places, blocks, n_blocks, parts, n);
    }
}

/* Queries of two parts: look up both parts at once. */
static void look_up_parts(const thr_query_code *code, const thr_kernels *kernels, const uint8_t *blocks,
                          size_t n_blocks, uint32_t *distances, uint32_t *scratch) {
    const thr_query_part *parts[2] = {&code->parts[0], &code->parts[1]};
    uint32_t *places[2] = {distances, scratch};
    kernels->distance_tables(places, blocks, n_blocks, parts, 2);
    for (size_t i = 0; i < n_blocks * THR_BLOCK_ITEMS; i++)
        distances[i] += scratch[i] << code->shifts[1];
}

void thr_code_query_group_distances(const thr_query_group *group, const thr_kernels *kernels, const uint8_t *blocks,
                                    size_t n_blocks, uint32_t *distances, size_t stride, uint32_t *scratch) {
    if (group->way == THR_WAY_TILE)
        kernels->distance_tile(distances, stride, blocks, n_blocks, &group->tile);
    else if (group->way == THR_WAY_TABLE && group->codes[0]->n_parts == 1)
        look_up_queries(group, kernels, blocks, n_blocks, distances, stride);
    else
        for (size_t q = 0; q < group->n_queries; q++, distances += stride) {
            if (group->way == THR_WAY_TABLE)
                look_up_parts(group->codes[q], kernels, blocks, n_blocks, distances, scratch);
            else
                thr_code_query_distances(group->codes[q], kernels->distance_xor, blocks, n_blocks, distances, scratch);
        }
}
