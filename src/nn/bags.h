/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bags.h - sparse bags of rows, summed: how words are made from their letter grams.
 *
 * A bag is a list of rows of a table; its value is their sum. The backward pass never writes a gradient of the table's
 * size: the bags are transposed, so that a touched row's whole gradient is summed in cache and handed to the optimiser
 * at once. Sums are in the order of the lists, so the bits do not depend on the number of threads.
 */
#ifndef THR_NN_BAGS_H
#define THR_NN_BAGS_H

#include "nn/optimiser.h"

/* A view: bag i holds rows[offsets[i]] to rows[offsets[i + 1] - 1]; a row may be there more than once. */
typedef struct thr_bags {
    size_t n_bags;
    const size_t *offsets; /* n_bags + 1, from 0 */
    const uint32_t *rows;
    const float *weights; /* what each row is multiplied by; NULL: as it is */
} thr_bags;

/* out[i] = sum of table's rows in bag i, n_columns floats each, each times its weight; an empty bag is 0. */
void thr_nn_bags_forward(thr_context *context, const float *table, size_t n_columns, const thr_bags *bags, float *out);

/* Bags seen from the rows: touched row i is rows[i], ascending, and bags[offsets[i]] to bags[offsets[i + 1] - 1]
 * hold it, ascending. Owns its memory, which is kept from one batch to the next. */
typedef struct thr_bags_transposed {
    size_t n_rows;
    uint32_t *rows;
    size_t *offsets;
    uint32_t *bags;
    float *weights; /* of each of bags, where has_weights */
    bool has_weights;
    uint32_t *counts; /* scratch: one of every row of the table, all 0 between calls */
    size_t rows_capacity, offsets_capacity, bags_capacity, weights_capacity, counts_capacity;
} thr_bags_transposed;

/* The touched rows as bags of what were bags: their sums are the gradient of each row's. */
static inline thr_bags thr_bags_of_rows(const thr_bags_transposed *transposed) {
    return (thr_bags){.n_bags = transposed->n_rows,
                      .offsets = transposed->offsets,
                      .rows = transposed->bags,
                      .weights = transposed->has_weights ? transposed->weights : NULL};
}

/* Transpose bags over a table of n_table_rows rows. *transposed starts zeroed. Cost: the table's rows and the entries.
 * THR_OK or THR_ENOMEM. */
thr_status thr_nn_bags_transpose(thr_context *context, const thr_bags *bags, size_t n_table_rows,
                                 thr_bags_transposed *transposed, thr_error *err);
void thr_nn_bags_transposed_free(thr_context *context, thr_bags_transposed *transposed);

/* A table that is learned, and the optimiser's state beside it, arrays as large as the table (optimiser.h). */
typedef struct thr_bags_table {
    float *weights;
    float *const *slots;
    size_t n_columns;
} thr_bags_table;

/*
 * The gradient of every touched row is the sum of d_out over its bags, times the weights; the optimiser takes its
 * step on it. Rows untouched do not move. THR_OK or THR_ENOMEM.
 */
thr_status thr_nn_bags_backward(thr_context *context, const thr_bags_transposed *transposed, const float *d_out,
                                const thr_optimiser *optimiser, const thr_bags_table *table, thr_error *err);

#endif
