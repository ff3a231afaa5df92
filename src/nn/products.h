/* SPDX-License-Identifier: Apache-2.0 */
/*
 * products.h - products of matrices on all threads, and transposition: what the layers of this room are made of.
 */
#ifndef THR_NN_PRODUCTS_H
#define THR_NN_PRODUCTS_H

#include "kernel/kernel.h"

/* Kernel matmul on all threads, rows of C apart: the bits do not depend on how many there are. */
void thr_nn_matmul(thr_context *context, const thr_product *product);

/* out (n_columns x n_rows) = in (n_rows x n_columns) transposed, both dense. */
void thr_nn_transpose(const float *in, size_t n_rows, size_t n_columns, float *out);

/*
 * Items of one piece of a loop over n: few enough that all threads have some, and a multiple of unit, which is most
 * where the context has one thread.
 */
size_t thr_nn_piece_size(const thr_context *context, size_t n, size_t unit, size_t most);

#endif
