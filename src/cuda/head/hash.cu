/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Winner-take-all hashes of states (WTA-LSH 4.2.1): a thread computes one permutation, and a block handles whole
 * bands, whose hashes are concatenated when all are ready. Permutations are stored so that a warp reads their j-th
 * dimensions contiguously; the components they refer to are the state's, which stay in cache.
 *
 * Among equal components the first wins, as in lsh/wta.c.
 */
#include "base/minmax.h"
#include "cuda/backend.cuh"

static const uint32_t HASH_THREADS = 256, HASH_BLOCKS_A_SM = 16;

/* Return the position of the largest of a permutation's components. */
__device__ __forceinline__ uint32_t winner_of(const thr_head_hash_op &op, const float *state, uint32_t permutation) {
    const uint32_t *places = op.places + permutation, n = op.n_bands * op.n_hashes;
    float best = state[places[0]];
    uint32_t winner = 0;
#pragma unroll 4
    for (uint32_t j = 1; j < op.n_places; j++) {
        const float now = state[places[(size_t)j * n]];
        winner = now > best ? j : winner;
        best = THR_MAX(now, best);
    }
    return winner;
}

static __global__ void __launch_bounds__(HASH_THREADS) hash_states(const thr_head_hash_op op) {
    THR_SHARED(uint32_t, winners, HASH_THREADS);
    const uint32_t a_block = HASH_THREADS / op.n_hashes, n_pieces = THR_CEIL_DIV(op.n_bands, a_block);
    const uint64_t n_tasks = (uint64_t)op.n_states * n_pieces;
    for (uint64_t task = blockIdx.x; task < n_tasks; task += gridDim.x) {
        const uint32_t first = (uint32_t)(task % n_pieces) * a_block, left = op.n_bands - first, t = threadIdx.x;
        const uint32_t n = THR_MIN(left, a_block);
        const size_t state = (size_t)(task / n_pieces);
        if (t < n * op.n_hashes)
            winners[t] = winner_of(op, op.states + state * op.n_dims, first * op.n_hashes + t);
        __syncthreads();
        if (t < n) {
            uint32_t code = 0;
            for (uint32_t i = 0; i < op.n_hashes; i++)
                code = code << op.bits | winners[t * op.n_hashes + i];
            op.codes[state * op.n_bands + first + t] = code;
        }
        __syncthreads();
    }
}

thr_status thr_cuda_head_hash(thr_stream *stream, const thr_head_hash_op *op, thr_error *err) {
    const uint32_t a_block = HASH_THREADS / op->n_hashes;
    const uint64_t wanted = (uint64_t)op->n_states * THR_CEIL_DIV(op->n_bands, a_block);
    return THR_RUN(hash_states, loop_blocks(stream, wanted, 1, HASH_BLOCKS_A_SM), HASH_THREADS, stream,
                   "hashing states", err, *op);
}
