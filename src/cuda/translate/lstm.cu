/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of an LSTM layer (nn/lstm.h), a thread per unit. */
#include "cuda/backend.cuh"
#include "cuda/grid.cuh"
#include "kernel/elementwise.h"

static __global__ void __launch_bounds__(COLUMN_THREADS) run_cells(const thr_lstm_op op) {
    const uint32_t row = blockIdx.x, unit = column_of_thread(), n = op.n_units;
    if (unit >= n)
        return;
    const float *gates = op.gates + (size_t)row * 4 * n + unit;
    float *h = op.h + (size_t)row * op.h_row + unit, *c = op.c + (size_t)row * op.c_row + unit;
    const float in = thr_kernel_exp_one(-gates[0]), forget = thr_kernel_exp_one(-gates[n]);
    const float fresh = thr_kernel_tanh_one(gates[2 * n]), out = thr_kernel_exp_one(-gates[3 * n]);
    const float old = row < op.n_old ? *c : 0.0f;
    const float cell = old / (1.0f + forget) + fresh / (1.0f + in);
    *c = cell;
    *h = thr_kernel_tanh_one(cell) / (1.0f + out);
}

thr_status thr_cuda_lstm(thr_stream *stream, const thr_lstm_op *op, thr_error *err) {
    return THR_RUN(run_cells, column_blocks(op->n_rows, op->n_units), COLUMN_THREADS, stream, "cells", err, *op);
}
