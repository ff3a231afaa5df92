/* SPDX-License-Identifier: Apache-2.0 */
/* Estimate a first threshold from a sample of scores (select/sampled_threshold.h), one block per query. */
#include "cuda/backend.cuh"
#include "cuda/rank/rank.cuh"
#include "device/keys.h"
#include "select/sampled_threshold.h"

static __global__ void __launch_bounds__(RANK_THREADS) find_thresholds(const thr_threshold_op op) {
    THR_SHARED(uint32_t, bins, RANK_BINS);
    THR_SHARED(uint32_t, words, RANK_WORDS);
    THR_SHARED(uint32_t, n_there, 1);
    const uint32_t *samples = op.samples + (size_t)blockIdx.x * op.n_samples;
    if (threadIdx.x == 0)
        n_there[0] = 0;
    __syncthreads();
    const auto key = [samples](uint32_t i) { return (uint64_t)samples[i]; };
    uint32_t own = 0;
    for_each_key(key, op.n_samples, [&own](uint64_t k) { own += k != 0; });
    atomicAdd(&n_there[0], own);
    __syncthreads();
    const uint32_t n = n_there[0];
    const double rank = thr_select_sample_rank(n, op.n_all, op.wanted);
    uint64_t threshold = 0;
    if (op.wanted < op.n_all && rank < (double)n)
        threshold =
            thr_device_key_make((uint32_t)key_of_rank(key, op.n_samples, (uint32_t)rank, bins, words), UINT32_MAX);
    if (threadIdx.x == 0)
        op.thresholds[blockIdx.x] = threshold;
}

thr_status thr_cuda_threshold(thr_stream *stream, const thr_threshold_op *op, thr_error *err) {
    return THR_RUN(find_thresholds, op->n_queries, RANK_THREADS, stream, "finding thresholds", err, *op);
}
