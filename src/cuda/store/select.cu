/* SPDX-License-Identifier: Apache-2.0 */
/* Select the items with the largest keys, one block per query: find the key of that rank, then all that reach it. */
#include "base/minmax.h"
#include "cuda/backend.cuh"
#include "cuda/rank/rank.cuh"

static __global__ void __launch_bounds__(RANK_THREADS) select_items(const thr_select_op op) {
    THR_SHARED(uint32_t, bins, RANK_BINS);
    THR_SHARED(uint32_t, words, RANK_WORDS);
    THR_SHARED(uint32_t, n_chosen, 1);
    const uint32_t q = blockIdx.x, n = THR_MIN(op.counts[q], op.capacity);
    const thr_device_item *items = op.items + (size_t)q * op.capacity;
    thr_device_item *chosen = op.chosen + (size_t)q * op.wanted;
    uint64_t least = 0;
    if (threadIdx.x == 0)
        n_chosen[0] = 0;
    __syncthreads();
    if (n > op.wanted)
        least = key_of_rank([items](uint32_t i) { return items[i].key; }, n, op.wanted, bins, words);
    for (uint32_t i = threadIdx.x; i < n; i += RANK_THREADS)
        if (items[i].key >= least)
            chosen[atomicAdd(&n_chosen[0], 1u)] = items[i]; /* keys are distinct, so exactly the wanted number match */
    __syncthreads();
    if (threadIdx.x == 0)
        op.n_chosen[q] = n_chosen[0];
}

thr_status thr_cuda_select(thr_stream *stream, const thr_select_op *op, thr_error *err) {
    return THR_RUN(select_items, op->n_queries, RANK_THREADS, stream, "choosing items", err, *op);
}
