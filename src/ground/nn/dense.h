/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense.h - y = x W + b for a batch, tanh and sign, forward and backward.
 *
 * Matrices are row-major: x is n_rows x n_in, W n_in x n_out, y n_rows x n_out. Kernel matmul sums in index order: a
 * row's result does not depend on its batch, the threads or the CPU level.
 */
#pragma once

#include <thresher/tower.h>

#include "kernel/kernel.h"

/* A layer's parameters: a view. */
typedef struct thr_dense {
    const float *weights; /* W */
    const float *bias;    /* b; NULL: zeros */
    size_t n_in, n_out;
} thr_dense;

/* y = x W + b. */
void thr_nn_dense_forward(thr_context *context, const thr_dense *layer, const float *x, size_t n_rows, float *y);

/* Outputs of the backward pass; NULL: not computed. */
typedef struct thr_dense_gradients {
    float *d_x;       /* d_y W^T, n_rows x n_in */
    bool add_to_d_x;  /* add to d_x instead of overwriting it */
    float *d_weights; /* += x^T d_y */
    float *d_bias;    /* += the sum of d_y over rows */
    float *scratch;   /* thr_nn_dense_scratch floats */
} thr_dense_gradients;

void thr_nn_dense_backward(thr_context *context, const thr_dense *layer, const float *x, const float *d_y,
                           size_t n_rows, const thr_dense_gradients *to);
size_t thr_nn_dense_scratch(size_t n_in, size_t n_out);

/* y = tanh(x); may be in place. */
void thr_nn_tanh_forward(thr_context *context, const float *x, size_t n, float *y);
/* d_x = d_y (1 - y^2); may be in place. */
void thr_nn_tanh_backward(thr_context *context, const float *y, const float *d_y, size_t n, float *d_x);

/* y = 1 where x > 0, else -1 (RBE (12), errata 2). */
void thr_nn_sign_forward(thr_context *context, const float *x, size_t n, float *y);
/* d_x from d_y at x, by an estimator of RBE 4.2 (tower.h). slope: for THR_ESTIMATOR_TANH. May be in place. */
void thr_nn_sign_backward(thr_context *context, thr_estimator estimator, float slope, const float *x, const float *d_y,
                          size_t n, float *d_x);
