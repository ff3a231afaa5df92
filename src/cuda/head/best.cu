/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The best k words of a state, one block per state. The k-th largest of the tiles' maxima is a bound that at least k
 * words reach; a tile whose maximum is below it contains none of the best. So one number per tile is read, then the
 * words of little more than k tiles. Among these words the key of rank k is found, and all words that reach it are
 * the best.
 */
#include "cuda/backend.cuh"
#include "cuda/head/lists.cuh"
#include "cuda/keys.cuh"
#include "cuda/rank/rank.cuh"

/* Return the key of a word; 0 for NaN, which sorts after all words. */
__device__ __forceinline__ uint64_t key_of_word(float logit, uint32_t word) {
    return isnan(logit) ? 0 : thr_device_key_make(order_score(logit), word);
}

static __global__ void __launch_bounds__(RANK_THREADS) find_best(const thr_head_best_op op) {
    THR_SHARED(uint32_t, bins, RANK_BINS);
    THR_SHARED(uint32_t, rank_words, RANK_WORDS);
    THR_SHARED(uint32_t, counted, 2); /* number of tiles that reach the bound; number of words */
    const uint32_t state = blockIdx.x, list = state / op.lists.group, n = n_of_list(op.lists, list);
    const uint32_t n_tiles = n_tiles_of(n), *words = words_of_list(op.lists, list);
    const thr_head_op_sum *tiles = op.tiles + (size_t)state * op.n_tiles;
    const float *logits = logits_of(op.lists, state);
    uint32_t *reached = op.reached + (size_t)state * op.n_tiles;
    uint64_t bound = 0, least = 0;
    if (threadIdx.x < 2)
        counted[threadIdx.x] = 0;
    __syncthreads();
    /* A tile whose maximum is NaN always passes, and does not contribute to the bound. */
    if (n_tiles > op.k)
        bound = key_of_rank([tiles](uint32_t i) { return key_of_word(tiles[i].largest, UINT32_MAX); }, n_tiles, op.k,
                            bins, rank_words);
    for (uint32_t i = threadIdx.x; i < n_tiles; i += RANK_THREADS)
        if (isnan(tiles[i].largest) || key_of_word(tiles[i].largest, UINT32_MAX) >= bound)
            reached[atomicAdd(&counted[0], 1u)] = i;
    __syncthreads();
    const uint32_t n_keys = counted[0] * THR_HEAD_OP_TILE;
    const auto key = [reached, logits, words, n](uint32_t i) {
        const uint32_t at = reached[i / THR_HEAD_OP_TILE] * THR_HEAD_OP_TILE + i % THR_HEAD_OP_TILE;
        return at >= n ? (uint64_t)0 : key_of_word(logits[at], words == nullptr ? at : words[at]);
    };
    if (n_keys > op.k)
        least = key_of_rank(key, n_keys, op.k, bins, rank_words);
    for (uint32_t i = threadIdx.x; i < n_keys; i += RANK_THREADS) {
        const uint64_t k = key(i);
        if (k == 0 || k < least)
            continue;
        const uint32_t at = reached[i / THR_HEAD_OP_TILE] * THR_HEAD_OP_TILE + i % THR_HEAD_OP_TILE;
        op.best[(size_t)state * op.k + atomicAdd(&counted[1], 1u)] = {thr_device_key_item(k),
                                                                      __float_as_uint(logits[at])};
    }
    __syncthreads();
    if (threadIdx.x == 0)
        op.n_best[state] = counted[1];
}

thr_status thr_cuda_head_best(thr_stream *stream, const thr_head_best_op *op, thr_error *err) {
    return THR_RUN(find_best, op->lists.n_states, RANK_THREADS, stream, "finding the best words", err, *op);
}
