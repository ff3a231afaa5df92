/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adam steps with the formula of kernel/elementwise.h, for contiguous weights and for rows of a table. The thread of
 * a column sums the row's gradient right before its step, so the gradient is never stored.
 */
#include "cuda/backend.cuh"
#include "cuda/grid.cuh"
#include "kernel/elementwise.h"

static thr_adam_step step_of(const thr_device_adam *a) {
    return {a->scale, a->beta1, a->rest1, a->beta2, a->rest2, a->rate, a->root, a->epsilon, a->decay};
}

static __global__ void __launch_bounds__(ELEMENT_THREADS) step_weights(const thr_adam_op op, const thr_adam_step step) {
    const uint64_t i = element_of_thread();
    if (i < op.n)
        thr_kernel_adam_one(op.weights + i, op.m + i, op.v + i, op.gradient[i], &step);
}

static __global__ void __launch_bounds__(COLUMN_THREADS)
    step_rows(const thr_adam_rows_op op, const thr_adam_step step) {
    const uint32_t i = blockIdx.x, column = column_of_thread();
    if (column >= op.n_columns)
        return;
    const uint32_t first = op.offsets[i], n = op.offsets[i + 1] - first;
    const float gradient = sum_listed(op.d_out, op.n_columns, column, op.bags + first, nullptr, n);
    const size_t at = (size_t)op.rows[i] * op.n_columns + column;
    thr_kernel_adam_one(op.table + at, op.m + at, op.v + at, gradient, &step);
}

thr_status thr_cuda_adam(thr_stream *stream, const thr_adam_op *op, thr_error *err) {
    THR_TRY(thr_cuda_use(stream->device, err));
    if (op->n == 0)
        return THR_OK;
    THR_LAUNCH(step_weights, element_blocks(op->n), ELEMENT_THREADS, stream->stream, *op, step_of(&op->adam));
    return thr_cuda_launched(stream, "stepping weights", err);
}

thr_status thr_cuda_adam_rows(thr_stream *stream, const thr_adam_rows_op *op, thr_error *err) {
    THR_TRY(thr_cuda_use(stream->device, err));
    if (op->n_rows == 0 || op->n_columns == 0)
        return THR_OK;
    THR_LAUNCH(step_rows, column_blocks(op->n_rows, op->n_columns), COLUMN_THREADS, stream->stream, *op,
               step_of(&op->adam));
    return thr_cuda_launched(stream, "stepping rows", err);
}
