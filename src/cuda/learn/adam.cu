/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of Adam and FTRL with the formulas of kernel/elementwise.h, for contiguous weights and for rows of a table. The
 * thread of a column sums the row's gradient right before its step, so the gradient is never stored.
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

/* Step a row's column by `one`, the formula. */
template <typename One> __device__ __forceinline__ void step_row(const thr_adam_rows_op &op, One one) {
    const uint32_t i = blockIdx.x, column = column_of_thread();
    if (column >= op.n_columns)
        return;
    const uint32_t first = op.offsets[i], n = op.offsets[i + 1] - first;
    const float *weights = op.bag_weights != nullptr ? op.bag_weights + first : nullptr;
    const float gradient = sum_listed(op.d_out, op.n_columns, column, op.bags + first, weights, n);
    const size_t at = (size_t)op.rows[i] * op.n_columns + column;
    one(op.table + at, op.m + at, op.v + at, gradient);
}

static __global__ void __launch_bounds__(COLUMN_THREADS)
    step_rows(const thr_adam_rows_op op, const thr_adam_step step) {
    step_row(op, [&](float *w, float *m, float *v, float g) { thr_kernel_adam_one(w, m, v, g, &step); });
}

static __global__ void __launch_bounds__(COLUMN_THREADS)
    step_rows_ftrl(const thr_adam_rows_op op, const thr_ftrl_step step) {
    step_row(op, [&](float *w, float *z, float *n, float g) { thr_kernel_ftrl_one(w, z, n, g, &step); });
}

thr_status thr_cuda_adam(thr_stream *stream, const thr_adam_op *op, thr_error *err) {
    return THR_RUN(step_weights, element_blocks(op->n), ELEMENT_THREADS, stream, "stepping weights", err, *op,
                   step_of(&op->adam));
}

thr_status thr_cuda_adam_rows(thr_stream *stream, const thr_adam_rows_op *op, thr_error *err) {
    return THR_RUN(step_rows, column_blocks(op->n_rows, op->n_columns), COLUMN_THREADS, stream, "stepping rows", err,
                   *op, step_of(&op->adam));
}

thr_status thr_cuda_ftrl_rows(thr_stream *stream, const thr_ftrl_rows_op *op, thr_error *err) {
    const thr_ftrl_step step = {op->scale, op->alpha, op->beta, op->l1, op->l2};
    return THR_RUN(step_rows_ftrl, column_blocks(op->rows.n_rows, op->rows.n_columns), COLUMN_THREADS, stream,
                   "stepping rows", err, op->rows, step);
}
