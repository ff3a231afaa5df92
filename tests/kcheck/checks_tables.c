/* SPDX-License-Identifier: Apache-2.0 */
/* The check of distance_tables: any number of parts, each of its own bits, to places in any order. */
#include "kcheck.h"

#include "code/query.h"

#include <string.h>

enum { ITEMS = 64, MOST_PARTS = 8 };

typedef struct tables_input {
    thr_query_part parts[MOST_PARTS];
    const uint8_t *blocks;
    size_t n_parts, n_blocks;
    size_t n_calls; /* one after the other, all writing to the same places as in a scan */
    size_t turn;    /* part i writes to place (i + turn) % n_parts */
} tables_input;

static void run_tables(const thr_kernels *kernels, void *out, void *arg) {
    const tables_input *in = arg;
    uint32_t *distances[MOST_PARTS];
    const thr_query_part *parts[MOST_PARTS];
    for (size_t i = 0; i < in->n_parts; i++) {
        distances[i] = (uint32_t *)out + (i + in->turn) % in->n_parts * in->n_blocks * ITEMS;
        parts[i] = &in->parts[i];
    }
    const size_t size = in->n_blocks * ITEMS * in->parts->item_bits * in->parts->n_rows;
    for (size_t call = 0; call < in->n_calls; call++)
        kernels->distance_tables(distances, in->blocks + call * size, in->n_blocks, parts, in->n_parts);
}

static void check_shape(kcheck *check, tables_input *in, uint32_t n_dims, uint32_t item_bits, uint32_t query_bits) {
    thr_quantiser quantiser = {.n_dims = n_dims, .item_bits = item_bits};
    const bool extreme = kcheck_below(check, 8) == 0;
    for (int b = 0; b < THR_MAX_BITS; b++)
        quantiser.ranges[b] = extreme ? 1e-6f : 0.3f;
    float *query = kcheck_buffer(check, n_dims * sizeof(float));
    for (size_t i = 0; i < in->n_parts; i++) {
        double square = 1e-9;
        for (uint32_t d = 0; d < n_dims; d++) {
            query[d] = extreme ? -1.0f : kcheck_float(check);
            square += (double)query[d] * (double)query[d];
        }
        thr_query_code code;
        thr_code_query_make(&code, &quantiser, item_bits, query, square,
                            query_bits != 0 ? query_bits : 1 + kcheck_below(check, 4),
                            kcheck_buffer(check, (thr_code_query_size(n_dims) + 63) / 64 * 64));
        in->parts[i] = code.parts[0];
    }
    const size_t n_items = in->n_calls * in->n_blocks * ITEMS, bytes = n_items * item_bits * ((n_dims + 7) / 8);
    uint8_t *blocks = kcheck_buffer(check, bytes);
    if (kcheck_below(check, 8) == 0)
        memset(blocks, 0xff, bytes);
    else
        kcheck_fill(check, blocks, bytes);
    in->blocks = blocks;
    kcheck_call(check, run_tables, in, in->n_parts * in->n_blocks * ITEMS * sizeof(uint32_t), n_items * in->n_parts,
                bytes, "%u d, %u x %u bits, %zu q", n_dims, item_bits, query_bits, in->n_parts);
}

void check_distance_tables(kcheck *check) {
    if (kcheck_timed(check)) {
        /* Codes that stay in the second level cache, distances in the first. */
        static const uint32_t shapes[][4] = {{64, 1, 8, 16},  {64, 2, 4, 16},  {96, 3, 2, 16}, {200, 1, 4, 16},
                                             {200, 2, 2, 16}, {200, 3, 2, 16}, {200, 4, 2, 16}};
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            tables_input in = {.n_parts = 4, .n_blocks = shapes[i][2], .n_calls = shapes[i][3]};
            check_shape(check, &in, shapes[i][0], shapes[i][1], 4);
        }
        return;
    }
    const bool wide = kcheck_below(check, 16) == 0;
    tables_input in = {.n_parts = 1 + kcheck_below(check, wide ? 2 : MOST_PARTS),
                       .n_blocks = wide ? 1 : kcheck_below(check, 4),
                       .n_calls = 1};
    in.turn = kcheck_below(check, (uint32_t)in.n_parts);
    check_shape(check, &in, wide ? 4000 + kcheck_below(check, 5000) : 1 + kcheck_below(check, 300),
                1 + kcheck_below(check, 8), 0);
}
