/* SPDX-License-Identifier: Apache-2.0 */
/*
 * products.h - multithreaded matrix products, and transposition, for the layers of this room.
 */
#pragma once

#include "kernel/kernel.h"

/* C += A B: n_rows x n_columns += n_rows x n_inner by n_inner x n_columns, all row-major without gaps. */
static inline thr_product thr_nn_product(float *c, const float *a, const float *b, size_t n_rows, size_t n_inner,
                                         size_t n_columns) {
    return (thr_product){.c = c,
                         .a = a,
                         .b = b,
                         .c_row = n_columns,
                         .a_row = n_inner,
                         .a_step = 1,
                         .b_row = n_columns,
                         .n_rows = n_rows,
                         .n_columns = n_columns,
                         .n_inner = n_inner};
}

/* Kernel matmul on all threads, split by rows of C: the bits do not depend on the number of threads. */
void thr_nn_matmul(thr_context *context, const thr_product *product);

/* out (n_columns x n_rows) = in (n_rows x n_columns) transposed, both dense. */
void thr_nn_transpose(const float *in, size_t n_rows, size_t n_columns, float *out);

/*
 * Return the size of a work item of a loop over n: a multiple of unit, at most `most`, small enough that all threads
 * have some. With one thread it is `most`.
 */
size_t thr_nn_piece_size(const thr_context *context, size_t n, size_t unit, size_t most);
