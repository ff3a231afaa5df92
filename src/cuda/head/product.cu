/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logits of listed words. The matrix W' of the paper (WTA-LSH table 4, "construct W'") is never built: rows of
 * weights are read in place by word number. A row is longer than a cache line, so the same bytes are read, and a copy
 * would only add a write and another read.
 *
 * Half a warp handles a word: lane l sums dimensions l, l + 16, ..., and the sums are added in halves as in kernel
 * dot_f32, so logits have the same bits. It processes WORDS words and STATES states of a group at once, whose
 * products share loads: of weights 1 / STATES a product, of states 1 / WORDS.
 */
#include "base/minmax.h"
#include "cuda/backend.cuh"
#include "cuda/half.cuh"
#include "cuda/head/lists.cuh"

#include <thresher/matrix.h>

static const uint32_t PRODUCT_THREADS = 256, HALF_WARP = 16, PRODUCT_BLOCKS_A_SM = 8, MOST_STATES = 8;
static const uint32_t PRODUCT_WORDS = 2; /* that half a warp processes at once */
static const uint32_t WARP_WORDS = PRODUCT_WORDS * THR_WARP / HALF_WARP;

template <int KEEP> __device__ __forceinline__ float weight_of(const thr_head_product_op &op, size_t row, uint32_t d) {
    const size_t at = row * op.n_dims + d;
    if constexpr (KEEP == THR_DTYPE_F16)
        return half_value(((const uint16_t *)op.weights)[at]);
    else if constexpr (KEEP == THR_DTYPE_BF16)
        return __uint_as_float((uint32_t)((const uint16_t *)op.weights)[at] << 16);
    else if constexpr (KEEP == THR_DTYPE_I8)
        return (float)((const int8_t *)op.weights)[at];
    else
        return ((const float *)op.weights)[at];
}

/* Convert a word's product to its logit. */
__device__ __forceinline__ float finish(const thr_head_product_op &op, float product, uint32_t word) {
    if (op.scales != nullptr)
        product = __fmul_rn(product, op.scales[word]);
    return op.bias == nullptr ? product : __fadd_rn(product, op.bias[word]);
}

/* Multiply some words with the states [first, first + n_states), n_states <= STATES. */
template <int KEEP, uint32_t STATES>
__device__ __forceinline__ void multiply(const thr_head_product_op &op, const uint32_t (&words)[PRODUCT_WORDS],
                                         uint32_t first, uint32_t n_states, uint32_t lane,
                                         float (&sums)[PRODUCT_WORDS][STATES]) {
    const float *states[STATES];
#pragma unroll
    for (uint32_t s = 0; s < STATES; s++) {
        states[s] = op.states + (size_t)(first + (s < n_states ? s : n_states - 1)) * op.n_dims;
#pragma unroll
        for (uint32_t w = 0; w < PRODUCT_WORDS; w++)
            sums[w][s] = 0;
    }
#pragma unroll 4
    for (uint32_t d = lane; d < op.n_dims; d += HALF_WARP) {
        float x[PRODUCT_WORDS];
#pragma unroll
        for (uint32_t w = 0; w < PRODUCT_WORDS; w++)
            x[w] = weight_of<KEEP>(op, words[w], d);
#pragma unroll
        for (uint32_t s = 0; s < STATES; s++) {
            const float q = states[s][d];
#pragma unroll
            for (uint32_t w = 0; w < PRODUCT_WORDS; w++)
                sums[w][s] = __fadd_rn(sums[w][s], __fmul_rn(q, x[w]));
        }
    }
#pragma unroll
    for (uint32_t half = HALF_WARP / 2; half > 0; half /= 2)
#pragma unroll
        for (uint32_t w = 0; w < PRODUCT_WORDS; w++)
#pragma unroll
            for (uint32_t s = 0; s < STATES; s++)
                sums[w][s] = __fadd_rn(sums[w][s], __shfl_down_sync(THR_ALL_LANES, sums[w][s], half, (int)HALF_WARP));
}

/* Row y of the grid is a list and up to STATES states that share it. */
template <int KEEP, uint32_t STATES>
static __global__ void __launch_bounds__(PRODUCT_THREADS) find_logits(const thr_head_product_op op, uint32_t n_parts) {
    const uint32_t lane = threadIdx.x % HALF_WARP, half = threadIdx.x % THR_WARP / HALF_WARP;
    const uint32_t list = blockIdx.y / n_parts, begin = list * op.lists.group;
    const uint32_t first = begin + blockIdx.y % n_parts * STATES, left = op.lists.n_states - begin;
    const uint32_t end = begin + THR_MIN(left, op.lists.group);
    if (first >= end)
        return;
    const uint32_t n_states = THR_MIN(end - first, STATES);
    const uint32_t n = n_of_list(op.lists, list), *listed = words_of_list(op.lists, list);
    const uint32_t warp = blockIdx.x * (PRODUCT_THREADS / THR_WARP) + threadIdx.x / THR_WARP;
    const uint32_t apart = gridDim.x * (PRODUCT_THREADS / THR_WARP) * WARP_WORDS;
    for (uint32_t at = warp * WARP_WORDS; at < n; at += apart) {
        uint32_t words[PRODUCT_WORDS];
        float sums[PRODUCT_WORDS][STATES];
#pragma unroll
        for (uint32_t w = 0; w < PRODUCT_WORDS; w++) {
            const uint32_t place = at + half * PRODUCT_WORDS + w, there = place < n ? place : n - 1;
            words[w] = listed == nullptr ? there : listed[there];
        }
        multiply<KEEP, STATES>(op, words, first, n_states, lane, sums);
#pragma unroll
        for (uint32_t w = 0; w < PRODUCT_WORDS; w++) {
            const uint32_t place = at + half * PRODUCT_WORDS + w;
#pragma unroll
            for (uint32_t s = 0; s < STATES; s++)
                if (lane == 0 && s < n_states && place < n)
                    logits_of(op.lists, first + s)[place] = finish(op, sums[w][s], words[w]);
        }
    }
}

template <int KEEP, uint32_t STATES>
static thr_status run(thr_stream *stream, const thr_head_product_op *op, thr_error *err) {
    const uint32_t n_states = op->lists.n_states, group = THR_MIN(op->lists.group, n_states);
    const uint32_t n_parts = THR_CEIL_DIV(group, STATES), n_across = THR_CEIL_DIV(n_states, group) * n_parts;
    const uint32_t a_block = PRODUCT_THREADS / THR_WARP * WARP_WORDS;
    const uint32_t wanted = THR_CEIL_DIV(op->lists.n_words, a_block);
    const uint32_t room = PRODUCT_BLOCKS_A_SM * stream->device->n_multiprocessors / n_across,
                   most = room > 0 ? room : 1;
    const dim3 blocks(THR_MIN(wanted, most), n_across);
    return THR_RUN((find_logits<KEEP, STATES>), blocks, PRODUCT_THREADS, stream, "finding logits", err, *op, n_parts);
}

/* Choose the smallest STATES that holds a group, up to MOST_STATES. */
template <int KEEP> static thr_status run_kind(thr_stream *stream, const thr_head_product_op *op, thr_error *err) {
    static thr_status (*const runs[])(thr_stream *, const thr_head_product_op *,
                                      thr_error *) = {run<KEEP, 1>, run<KEEP, 2>, run<KEEP, 4>, run<KEEP, MOST_STATES>};
    const uint32_t group = THR_MIN(op->lists.group, op->lists.n_states);
    return runs[group > 4 ? 3 : group > 2 ? 2 : group - 1](stream, op, err);
}

thr_status thr_cuda_head_product(thr_stream *stream, const thr_head_product_op *op, thr_error *err) {
    if (op->lists.n_states == 0)
        return THR_OK;
    if (op->keep == THR_DTYPE_F16)
        return run_kind<THR_DTYPE_F16>(stream, op, err);
    if (op->keep == THR_DTYPE_BF16)
        return run_kind<THR_DTYPE_BF16>(stream, op, err);
    if (op->keep == THR_DTYPE_I8)
        return run_kind<THR_DTYPE_I8>(stream, op, err);
    return run_kind<THR_DTYPE_F32>(stream, op, err);
}
