/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows of three words and their maximum (nn/windows.h), forward and backward.
 *
 * In the backward pass each word gathers the gradients of its positions, so no two threads add to one number. The
 * window around word t of a text propagates its gradient to word t - 1 (its left part), word t and word t + 1; so a
 * part of the word at position p of a text takes the gradient of those columns whose maximum came from window p + 1 -
 * part. In every column a text contributes at most one number to a part, and positions ascend as texts do: the CPU's
 * order.
 */
#include "cuda/backend.cuh"
#include "cuda/grid.cuh"
#include "kernel/elementwise.h"

enum { LEFT, MIDDLE, RIGHT, PARTS }; /* parts of a word's vector */

/* ---------------------------------------------------------------------------------------------- forward */

__device__ __forceinline__ float part_of(const thr_windows_op &op, uint32_t word, uint32_t part, uint32_t column) {
    return op.vectors[((size_t)word * PARTS + part) * op.n_columns + column];
}

static __global__ void __launch_bounds__(COLUMN_THREADS) pool_texts(const thr_windows_op op) {
    const uint32_t text = blockIdx.x, column = column_of_thread();
    if (column >= op.n_columns)
        return;
    const uint32_t first = op.texts.offsets[text], n_words = op.texts.offsets[text + 1] - first;
    const uint32_t *words = op.texts.words + first;
    const float bias = op.bias[column];
    float best = bias;
    uint32_t where = 0;
#pragma unroll 4
    for (uint32_t t = 0; t < n_words; t++) {
        float z = part_of(op, words[t], MIDDLE, column);
        if (t > 0)
            z = part_of(op, words[t - 1], LEFT, column) + z;
        if (t + 1 < n_words)
            z += part_of(op, words[t + 1], RIGHT, column);
        z += bias;
        if (t == 0 || z > best) {
            best = z;
            where = t;
        }
    }
    op.pooled[(size_t)text * op.n_columns + column] = thr_kernel_tanh_one(best);
    op.where[(size_t)text * op.n_columns + column] = (uint16_t)where;
}

thr_status thr_cuda_windows(thr_stream *stream, const thr_windows_op *op, thr_error *err) {
    return THR_RUN(pool_texts, column_blocks(op->texts.n_texts, op->n_columns), COLUMN_THREADS, stream,
                   "pooling windows", err, *op);
}

/* ------------------------------------------------------------------------------------------------- backward */

static __global__ void __launch_bounds__(ELEMENT_THREADS)
    through_tanh(float *d_pooled, const float *pooled, uint64_t n) {
    const uint64_t i = element_of_thread();
    if (i < n)
        d_pooled[i] = d_pooled[i] * (1.0f - pooled[i] * pooled[i]);
}

/*
 * Three blocks for each word and run of columns, one for each part. Positions are looked up COLUMN_THREADS at a time,
 * one by each thread. This leaves only two loads in the loop over the positions of frequent words. Gradients are
 * loaded unconditionally, so that no load depends on another.
 */
static __global__ void __launch_bounds__(COLUMN_THREADS) gather_words(const thr_windows_back_op op) {
    THR_SHARED(uint32_t, texts, COLUMN_THREADS);
    THR_SHARED(uint32_t, windows, COLUMN_THREADS);
    const uint32_t word = blockIdx.x / PARTS, part = blockIdx.x % PARTS, column = column_of_thread();
    const uint32_t end = op.first[word + 1];
    const bool there = column < op.n_columns;
    float *out = op.d_vectors + (size_t)blockIdx.x * op.n_columns + column;
    float sum = there ? *out : 0.0f;
    for (uint32_t from = op.first[word]; from < end; from += COLUMN_THREADS) {
        const uint32_t n = min(end - from, COLUMN_THREADS);
        __syncthreads();
        if (threadIdx.x < n) {
            const uint32_t position = op.positions[from + threadIdx.x], text = op.text_of[position];
            texts[threadIdx.x] = text;
            /* may be -1, which matches no window */
            windows[threadIdx.x] = position - op.texts.offsets[text] + 1 - part;
        }
        __syncthreads();
        if (!there)
            continue;
#pragma unroll 8
        for (uint32_t k = 0; k < n; k++) {
            const uint32_t text = texts[k], window = windows[k];
            const size_t at = (size_t)text * op.n_columns + column;
            const float gradient = op.d_pooled[at];
            sum = op.where[at] == window ? sum + gradient : sum;
        }
    }
    if (there)
        *out = sum;
}

thr_status thr_cuda_windows_back(thr_stream *stream, const thr_windows_back_op *op, thr_error *err) {
    const uint64_t n_pooled = (uint64_t)op->texts.n_texts * op->n_columns;
    if (n_pooled == 0)
        return THR_OK;
    THR_TRY(THR_RUN(through_tanh, element_blocks(n_pooled), ELEMENT_THREADS, stream, "the backward pass of tanh", err,
                    op->d_pooled, op->pooled, n_pooled));
    return THR_RUN(gather_words, column_blocks(PARTS * op->n_words, op->n_columns), COLUMN_THREADS, stream,
                   "gathering words' gradients", err, *op);
}
