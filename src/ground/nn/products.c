/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/products.h"

#include "base/memory.h"
#include "base/minmax.h"
#include "parallel/pool.h"

/* Rows in a work item of a product: a multiple of every level's tile height, and enough to pay for a copy of B each. */
enum { ROW_UNIT = 24, ROWS_MOST = 192, TRANSPOSE_BLOCK = 16 };

size_t thr_nn_piece_size(const thr_context *context, size_t n, size_t unit, size_t most) {
    enum { PIECES_A_THREAD = 3 };
    if (context->n_threads <= 1)
        return most;
    const size_t share = n / ((size_t)context->n_threads * PIECES_A_THREAD);
    const size_t size = THR_ROUND_UP(share, unit);
    return size < unit ? unit : size > most ? most : size;
}

typedef struct rows_of_product {
    const thr_kernels *kernels;
    const thr_product *product;
    size_t n_rows; /* in a work item */
} rows_of_product;

static void multiply_rows(void *arg, size_t piece, uint32_t worker) {
    (void)worker;
    const rows_of_product *all = arg;
    thr_product part = *all->product;
    const size_t first = piece * all->n_rows;
    part.n_rows = THR_MIN(part.n_rows - first, all->n_rows);
    part.c += first * part.c_row;
    part.a += first * part.a_row;
    all->kernels->matmul(&part);
}

void thr_nn_matmul(thr_context *context, const thr_product *product) {
    rows_of_product all = {context->kernels, product, thr_nn_piece_size(context, product->n_rows, ROW_UNIT, ROWS_MOST)};
    if (product->n_rows <= all.n_rows)
        context->kernels->matmul(product);
    else
        thr_parallel_for(context, THR_CEIL_DIV(product->n_rows, all.n_rows), multiply_rows, &all);
}

/* Transpose in squares of one cache line per side, so that each line is used up while it is cached. */
void thr_nn_transpose(const float *in, size_t n_rows, size_t n_columns, float *out) {
    for (size_t i0 = 0; i0 < n_rows; i0 += TRANSPOSE_BLOCK)
        for (size_t j0 = 0; j0 < n_columns; j0 += TRANSPOSE_BLOCK) {
            const size_t i1 = n_rows - i0 < TRANSPOSE_BLOCK ? n_rows : i0 + TRANSPOSE_BLOCK;
            const size_t j1 = n_columns - j0 < TRANSPOSE_BLOCK ? n_columns : j0 + TRANSPOSE_BLOCK;
            for (size_t j = j0; j < j1; j++)
                for (size_t i = i0; i < i1; i++)
                    out[j * n_rows + i] = in[i * n_columns + j];
        }
}
