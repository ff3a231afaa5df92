/* SPDX-License-Identifier: Apache-2.0 */
/* dense_op.h - a dense layer as an operation of a GPU (device/learn_ops.h), with the bits of thr_nn_dense_forward. */
#pragma once

#include "device/learn_ops.h"
#include "nn/dense.h"

/* y = x W + b; pointers are to device memory, and rows of x are x_row floats apart. */
static inline thr_layer_op thr_nn_dense_op(const thr_dense *layer, const float *x, size_t x_row, size_t n_rows,
                                           float *y) {
    return (thr_layer_op){.c = y,
                          .a = x,
                          .b = layer->weights,
                          .bias = layer->bias,
                          .c_row = (uint32_t)layer->n_out,
                          .a_row = (uint32_t)x_row,
                          .a_step = 1,
                          .b_step = (uint32_t)layer->n_out,
                          .b_column = 1,
                          .n_rows = (uint32_t)n_rows,
                          .n_columns = (uint32_t)layer->n_out,
                          .n_inner = (uint32_t)layer->n_in};
}
