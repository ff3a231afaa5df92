/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bags.h - sums of sparse bags of rows: the embeddings of words from their letter trigrams.
 *
 * A bag is a list of rows of a table; its value is their sum. The backward pass never writes a gradient of the
 * table's size: the bags are transposed, so that a touched row's whole gradient is summed in cache and passed to the
 * optimiser at once. Sums are in the order of the lists, so the bits do not depend on the number of threads.
 */
#pragma once

#include "nn/optimiser.h"

/* A view: bag i holds rows[offsets[i]] to rows[offsets[i + 1] - 1]; rows may repeat. */
typedef struct thr_bags {
    size_t n_bags;
    const size_t *offsets; /* n_bags + 1, from 0 */
    const uint32_t *rows;
    const float *weights; /* multiplier of each row; NULL: 1 */
} thr_bags;

/* out[i] = sum of table's rows in bag i, n_columns floats each, each times its weight; an empty bag is 0. */
void thr_nn_bags_forward(thr_context *context, const float *table, size_t n_columns, const thr_bags *bags, float *out);

/*
 * Transposed bags: touched row i is rows[i], ascending; the bags that contain it are bags[offsets[i]] to
 * bags[offsets[i + 1] - 1], ascending. Owns its memory, which is reused from batch to batch.
 */
typedef struct thr_bags_transposed {
    size_t n_rows;
    uint32_t *rows;
    size_t *offsets;
    uint32_t *bags;
    float *weights; /* one a bag entry, if has_weights */
    bool has_weights;
    uint32_t *counts; /* scratch: one per row of the table, all 0 between calls */
    size_t rows_capacity, offsets_capacity, bags_capacity, weights_capacity, counts_capacity;
} thr_bags_transposed;

/* View the touched rows as bags over the original bags: the sum of such a bag is the gradient of its row. */
static inline thr_bags thr_bags_of_rows(const thr_bags_transposed *transposed) {
    return (thr_bags){.n_bags = transposed->n_rows,
                      .offsets = transposed->offsets,
                      .rows = transposed->bags,
                      .weights = transposed->has_weights ? transposed->weights : NULL};
}

/*
 * Transpose bags over a table of n_table_rows rows. *transposed starts zeroed. Time is linear in the table's rows and
 * the entries. THR_OK or THR_ENOMEM.
 */
thr_status thr_nn_bags_transpose(thr_context *context, const thr_bags *bags, size_t n_table_rows,
                                 thr_bags_transposed *transposed, thr_error *err);
void thr_nn_bags_transposed_free(thr_context *context, thr_bags_transposed *transposed);

/* A trainable table, and the optimiser's state, arrays of the table's size (optimiser.h). */
typedef struct thr_bags_table {
    float *weights;
    float *const *slots;
    size_t n_columns;
} thr_bags_table;

/*
 * Sum the gradient of every touched row, d_out over its bags times the weights, and make the optimiser's step. Other
 * rows do not change. THR_OK or THR_ENOMEM.
 */
thr_status thr_nn_bags_backward(thr_context *context, const thr_bags_transposed *transposed, const float *d_out,
                                const thr_optimiser *optimiser, const thr_bags_table *table, thr_error *err);
