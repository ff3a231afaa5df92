/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check of distance_tile: any number of queries, with places between their distances that must stay as they were.
 */
#include "kcheck.h"

#include "code/group.h"

#include <string.h>

enum { ITEMS = 64, MOST_QUERIES = 64 };

typedef struct tile_input {
    thr_query_tile tile;
    const uint8_t *blocks;
    size_t n_blocks, stride;
    size_t n_calls; /* one after the other, all writing to the same places as in a scan */
} tile_input;

static void run_tile(const thr_kernels *kernels, void *out, void *arg) {
    const tile_input *in = arg;
    const size_t size = in->n_blocks * ITEMS * in->tile.item_bits * in->tile.n_rows;
    for (size_t call = 0; call < in->n_calls; call++)
        kernels->distance_tile(out, in->stride, in->blocks + call * size, in->n_blocks, &in->tile);
}

typedef struct tile_shape {
    uint32_t n_dims, item_bits, query_bits, n_queries;
    size_t n_blocks, n_calls;
} tile_shape;

/* The largest products of both signs, or anything. */
static void fill_tile(kcheck *check, const tile_shape *shape, thr_query_tile *tile) {
    uint8_t levels[MOST_QUERIES][300 + 5000 + 8];
    thr_query_code codes[MOST_QUERIES];
    const thr_query_code *pointers[MOST_QUERIES];
    const uint32_t extreme = kcheck_below(check, 8), top = (1u << shape->query_bits) - 1;
    for (uint32_t q = 0; q < shape->n_queries; q++) {
        for (uint32_t d = 0; d < shape->n_dims; d++)
            levels[q][d] = (uint8_t)(extreme == 0 ? 0 : extreme == 1 ? top : kcheck_below(check, top + 1));
        codes[q] = (thr_query_code){.n_dims = shape->n_dims,
                                    .item_bits = shape->item_bits,
                                    .query_bits = shape->query_bits,
                                    .levels = levels[q]};
        pointers[q] = &codes[q];
    }
    thr_query_group group;
    thr_code_query_group_make(
        &group, THR_WAY_TILE, pointers, shape->n_queries,
        kcheck_buffer(check, (thr_code_query_group_size(shape->n_dims, shape->n_queries) + 63) / 64 * 64));
    *tile = group.tile;
}

static void check_shape(kcheck *check, const tile_shape *shape) {
    tile_input in = {.n_blocks = shape->n_blocks, .stride = shape->n_blocks * ITEMS, .n_calls = shape->n_calls};
    fill_tile(check, shape, &in.tile);
    const size_t n_items = shape->n_blocks * ITEMS,
                 bytes = shape->n_calls * n_items * shape->item_bits * in.tile.n_rows;
    uint8_t *blocks = kcheck_buffer(check, bytes);
    if (kcheck_below(check, 8) == 0)
        memset(blocks, 0xff, bytes);
    else
        kcheck_fill(check, blocks, bytes);
    in.blocks = blocks;
    if (!kcheck_timed(check))
        in.stride += kcheck_below(check, 3);
    const size_t places = (shape->n_queries - 1) * in.stride + n_items;
    kcheck_call(check, run_tile, &in, places * sizeof(uint32_t), shape->n_calls * n_items * shape->n_queries, bytes,
                "%u d, %u x %u bits, %u q", shape->n_dims, shape->item_bits, shape->query_bits, shape->n_queries);
}

void check_distance_tile(kcheck *check) {
    if (kcheck_timed(check)) {
        /* Codes that stay in the second level cache, distances in the first. */
        static const tile_shape shapes[] = {{64, 2, 4, 8, 4, 16},  {64, 2, 4, 64, 4, 16}, {96, 3, 4, 8, 4, 8},
                                            {96, 3, 4, 64, 4, 8},  {200, 3, 4, 4, 2, 8},  {200, 3, 4, 8, 2, 8},
                                            {200, 3, 4, 64, 2, 8}, {200, 3, 8, 64, 2, 8}, {200, 8, 8, 64, 2, 4}};
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            check_shape(check, &shapes[i]);
        return;
    }
    const bool wide = kcheck_below(check, 16) == 0;
    const tile_shape shape = {.n_dims = wide ? 4000 + kcheck_below(check, 1000) : 1 + kcheck_below(check, 300),
                              .item_bits = 1 + kcheck_below(check, 8),
                              .query_bits = 1 + kcheck_below(check, 8),
                              .n_queries = 1 + kcheck_below(check, wide ? 3 : 11),
                              .n_blocks = wide ? 1 : kcheck_below(check, 3),
                              .n_calls = 1};
    check_shape(check, &shape);
}
