/* SPDX-License-Identifier: Apache-2.0 */
/* nn_bags_support.h - random bags over a small table, with all that sums and steps of rows read. */
#pragma once

#include "nn/bags.h"

#include "nn_support.h"

enum { NN_TABLE_ROWS = 50, NN_MOST_BAGS = 300, NN_MOST_ENTRIES = 12 };

typedef struct nn_bags {
    size_t n_columns;
    thr_bags bags;
    size_t offsets[NN_MOST_BAGS + 1];
    uint32_t rows[NN_MOST_BAGS * NN_MOST_ENTRIES];
    float *table, *slots[2]; /* the second slot's numbers are squares */
    float *d_out;
} nn_bags;

/* Rows near 0 are in many bags, the last one in none; bags may be empty, or have a row twice; some numbers are -0. */
static inline nn_bags *nn_make_bags(size_t n_bags, size_t n_columns, uint64_t *rng) {
    const size_t n_table = NN_TABLE_ROWS * n_columns;
    nn_bags *b = test_new(1, sizeof *b);
    b->n_columns = n_columns;
    for (size_t i = 0; i < n_bags; i++) {
        b->offsets[i + 1] = b->offsets[i] + (size_t)thr_rng_below(rng, NN_MOST_ENTRIES + 1);
        for (size_t e = b->offsets[i]; e < b->offsets[i + 1]; e++)
            b->rows[e] = (uint32_t)thr_rng_below(rng, 1 + thr_rng_below(rng, NN_TABLE_ROWS - 2));
    }
    b->bags = (thr_bags){.n_bags = n_bags, .offsets = b->offsets, .rows = b->rows};
    b->table = nn_normal(rng, n_table);
    b->slots[0] = nn_normal(rng, n_table);
    b->slots[1] = nn_normal(rng, n_table);
    for (size_t i = 0; i < n_table; i++) {
        b->slots[1][i] *= b->slots[1][i];
        if (i % 7 == 0)
            b->table[i] = -0.0f;
    }
    b->d_out = nn_normal(rng, n_bags * n_columns);
    return b;
}
