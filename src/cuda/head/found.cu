/* SPDX-License-Identifier: Apache-2.0 */
/* Mark words that were found elsewhere: one thread per word. */
#include "cuda/backend.cuh"
#include "cuda/grid.cuh"

static __global__ void __launch_bounds__(ELEMENT_THREADS) mark_found(const thr_head_found_op op) {
    const uint64_t i = element_of_thread();
    if (i >= (uint64_t)op.n_states * op.n_found)
        return;
    const uint32_t word = op.words[i], group = (uint32_t)(i / op.n_found) / op.group;
    atomicOr(op.marks + (size_t)group * op.n_marks + word / 32, 1u << word % 32);
}

thr_status thr_cuda_head_found(thr_stream *stream, const thr_head_found_op *op, thr_error *err) {
    const uint64_t n = (uint64_t)op->n_states * op->n_found;
    return THR_RUN(mark_found, element_blocks(n), ELEMENT_THREADS, stream, "marking words", err, *op);
}
