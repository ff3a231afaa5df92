/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Element-wise operations of a tower: planes and residuals, forward and backward, one thread per number. The operations
 * and their order are those of nn/dense.c and of text_tower/forward.c and backward.c.
 */
#include "cuda/backend.cuh"
#include "cuda/grid.cuh"
#include "kernel/elementwise.h"

/* ----------------------------------------------------------------------------------------------- planes */

static __global__ void __launch_bounds__(ELEMENT_THREADS) make_plane(const thr_plane_op op) {
    const uint32_t exponent = 0x7f800000;
    const uint64_t i = element_of_thread();
    if (i >= op.n)
        return;
    const float in = op.in[i];
    if ((__float_as_uint(in) & exponent) == exponent)
        *op.broken = 1; /* all threads write the same value */
    if (op.as_float)
        op.out[i] = thr_kernel_tanh_one(in);
    else
        op.out[i] = (op.last == nullptr ? 0.0f : op.last[i]) + (in > 0.0f ? op.weight : -op.weight);
}

thr_status thr_cuda_plane(thr_stream *stream, const thr_plane_op *op, thr_error *err) {
    return THR_RUN(make_plane, element_blocks(op->n), ELEMENT_THREADS, stream, "making a plane", err, *op);
}

static __global__ void __launch_bounds__(ELEMENT_THREADS) through_plane(const thr_plane_back_op op) {
    const uint64_t i = element_of_thread();
    if (i >= op.n)
        return;
    const float d_out = op.weight * op.d_out[i];
    float d_in = d_out;
    switch (op.estimator) {
    case THR_DEVICE_VARIANT:
        d_in = op.in[i] >= -1.0f && op.in[i] <= 1.0f ? d_out : 0.0f;
        break;
    case THR_DEVICE_STRAIGHT:
        break;
    case THR_DEVICE_ANNEALED: {
        const float t = thr_kernel_tanh_one(op.slope * op.in[i]);
        d_in = d_out * (op.slope * (1.0f - t * t));
        break;
    }
    case THR_DEVICE_TANH:
        d_in = d_out * (1.0f - op.out[i] * op.out[i]);
        break;
    }
    op.d_in[i] = d_in;
}

thr_status thr_cuda_plane_back(thr_stream *stream, const thr_plane_back_op *op, thr_error *err) {
    return THR_RUN(through_plane, element_blocks(op->n), ELEMENT_THREADS, stream, "the backward pass of a plane", err,
                   *op);
}

/* -------------------------------------------------------------------------------------------- residuals */

static __global__ void __launch_bounds__(ELEMENT_THREADS) leave_residual(const thr_residual_op op) {
    const uint64_t i = element_of_thread();
    if (i >= op.n)
        return;
    const float rebuilt = thr_kernel_tanh_one(op.rebuilt[i]);
    op.rebuilt[i] = rebuilt;
    op.residual[i] = op.pooled[i] - rebuilt;
}

thr_status thr_cuda_residual(thr_stream *stream, const thr_residual_op *op, thr_error *err) {
    return THR_RUN(leave_residual, element_blocks(op->n), ELEMENT_THREADS, stream, "taking a residual", err, *op);
}

static __global__ void __launch_bounds__(ELEMENT_THREADS) through_residual(const thr_residual_back_op op) {
    const uint64_t i = element_of_thread();
    if (i >= op.n)
        return;
    const float d_residual = op.d_residual[i];
    op.d_pooled[i] += d_residual;
    op.d_residual[i] = -d_residual * (1.0f - op.rebuilt[i] * op.rebuilt[i]);
}

thr_status thr_cuda_residual_back(thr_stream *stream, const thr_residual_back_op *op, thr_error *err) {
    return THR_RUN(through_residual, element_blocks(op->n), ELEMENT_THREADS, stream, "the backward pass of a residual",
                   err, *op);
}
