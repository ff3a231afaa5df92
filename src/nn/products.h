/* SPDX-License-Identifier: Apache-2.0 */
/*
 * products.h - multithreaded matrix products, and transposition, for the layers of this room.
 */
#pragma once

#include "kernel/kernel.h"

/* Kernel matmul on all threads, split by rows of C: the bits do not depend on the number of threads. */
void thr_nn_matmul(thr_context *context, const thr_product *product);

/* out (n_columns x n_rows) = in (n_rows x n_columns) transposed, both dense. */
void thr_nn_transpose(const float *in, size_t n_rows, size_t n_columns, float *out);

/*
 * Return the size of a work item of a loop over n: a multiple of unit, at most `most`, small enough that all threads
 * have some. With one thread it is `most`.
 */
size_t thr_nn_piece_size(const thr_context *context, size_t n, size_t unit, size_t most);
