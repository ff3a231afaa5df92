/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense.h - y = x W + b for a batch, tanh and sign, forward and backward.
 *
 * Matrices are row-major: x is n_rows x n_in, W n_in x n_out, y n_rows x n_out. All sums are in order of the index
 * summed over, by kernel matmul: a row's result does not depend on the batch it is in, the threads or the CPU level.
 */
#ifndef THR_NN_DENSE_H
#define THR_NN_DENSE_H

#include <thresher/tower.h>

#include "kernel/kernel.h"

/* y = x W + b. b NULL: zeros. */
void thr_dense_forward(thr_context *context, const float *x, const float *weights, const float *bias, size_t n_rows,
                       size_t n_in, size_t n_out, float *y);

/*
 * d_x = d_y W^T (NULL: not wanted; with add it is added to what is there), d_weights = x^T d_y, d_bias = sum of d_y
 * over rows; the last two are added to what is there. scratch: thr_dense_scratch floats.
 */
void thr_dense_backward(thr_context *context, const float *x, const float *weights, const float *d_y, size_t n_rows,
                        size_t n_in, size_t n_out, bool add, float *d_x, float *d_weights, float *d_bias,
                        float *scratch);
size_t thr_dense_scratch(size_t n_rows, size_t n_in, size_t n_out);

/* y = tanh(x); may be in place. */
void thr_tanh_forward(thr_context *context, const float *x, size_t n, float *y);
/* d_x = d_y (1 - y^2); may be in place. */
void thr_tanh_backward(thr_context *context, const float *y, const float *d_y, size_t n, float *d_x);

/* y = 1 where x > 0, else -1 (RBE (12), errata 2). */
void thr_sign_forward(thr_context *context, const float *x, size_t n, float *y);
/* d_x from d_y at x, by an estimator of RBE 4.2 (tower.h); slope: of THR_ESTIMATOR_TANH. May be in place. */
void thr_sign_backward(thr_context *context, thr_estimator estimator, float slope, const float *x, const float *d_y,
                       size_t n, float *d_x);

#endif
