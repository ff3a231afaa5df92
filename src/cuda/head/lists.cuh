/* SPDX-License-Identifier: Apache-2.0 */
/* lists.cuh - the listed words of a state, and their logits (device/head_ops.h). */
#pragma once

#include "base/minmax.h"
#include "cuda/portable.cuh"
#include "device/head_ops.h"

/* Return the number of words in list l. */
__device__ __forceinline__ uint32_t n_of_list(const thr_head_lists &lists, uint32_t l) {
    return lists.words == nullptr ? lists.n_words : lists.n_listed[l];
}

/* Return the words of list l; nullptr: all words. */
__device__ __forceinline__ const uint32_t *words_of_list(const thr_head_lists &lists, uint32_t l) {
    return lists.words == nullptr ? nullptr : lists.words + (size_t)l * lists.n_words;
}

__device__ __forceinline__ float *logits_of(const thr_head_lists &lists, uint32_t state) {
    return lists.logits + (size_t)state * lists.n_words;
}

__device__ __forceinline__ uint32_t n_tiles_of(uint32_t n) {
    return THR_CEIL_DIV(n, THR_HEAD_OP_TILE);
}
