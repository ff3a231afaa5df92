/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scores of requests' ads, the loss over them and its gradients (nn/rank_loss.h, dual_tower/scores.c), in three
 * kernels: the weights of the features that a history hits, a block of threads per request, and the gradients of the
 * history's words. Every sum has one thread, or the lanes of dot_f32, and the CPU's order; only the loss, which changes
 * no weight, is added ad by ad.
 */
#include "cuda/backend.cuh"
#include "cuda/dot.cuh"
#include "cuda/grid.cuh"
#include "kernel/elementwise.h"

static const uint32_t REQUEST_THREADS = 64;

/* Add up what the words of the history give to each feature. */
static __global__ void __launch_bounds__(ELEMENT_THREADS) open_slots(const thr_requests_op op) {
    const uint64_t slot = element_of_thread();
    if (slot >= op.n_slots)
        return;
    float sum = 0;
    for (uint32_t e = op.slot_offsets[slot]; e < op.slot_offsets[slot + 1]; e++) {
        const uint32_t h = op.slot_history[e], row = op.history_rows[h];
        const float own = row != THR_NO_HIT_ROW ? op.hits[row] : 0.0f;
        sum += (op.hits[op.history_fields[h]] + own) * op.history_x[h];
    }
    op.slots[slot] = sum;
}

static __global__ void __launch_bounds__(ELEMENT_THREADS) spread_to_history(const thr_requests_op op) {
    const uint64_t h = element_of_thread();
    if (h >= op.n_history)
        return;
    const uint32_t slot = op.history_slots[h];
    float sum = 0;
    for (uint32_t e = op.slot_ad_offsets[slot]; e < op.slot_ad_offsets[slot + 1]; e++)
        sum += op.d_scores[op.slot_ads[e]];
    op.d_history[h] = op.history_x[h] * sum;
}

/* ------------------------------------------------------------------------------------------------ a request */

/* The weight of the pair of ads i, the better one, and j: find_weights in nn/rank_loss.c. */
__device__ __forceinline__ float weight_of(const thr_requests_op &op, uint32_t i, uint32_t j) {
    const double places = fabs(op.ad_discounts[i] - op.ad_discounts[j]);
    const double ndcg = fabs(op.gains[i] - op.gains[j]) * places;
    if (!op.with_values)
        return (float)ndcg;
    const double apart = fabs(op.values[i] - op.values[j]), worth = op.swap ? apart * places : apart;
    return (float)(op.product ? ndcg * worth : ndcg + worth);
}

/* Write ad i's gradient and the loss of its pairs with worse ads. */
__device__ __forceinline__ void pair_ad(const thr_requests_op &op, uint32_t first, uint32_t end, uint32_t i) {
    const float score = op.scores[i];
    double gradient = 0, loss = 0;
    float slope = 0;
    for (uint32_t j = first; j < i && op.levels[j] != op.levels[i]; j++) {
        (void)thr_kernel_logistic_one(op.scores[j] - score, &slope);
        gradient += (double)(weight_of(op, j, i) * slope);
    }
    for (uint32_t j = i + 1; j < end; j++) {
        if (op.levels[j] == op.levels[i])
            continue;
        const float weight = weight_of(op, i, j);
        loss += (double)(weight * thr_kernel_logistic_one(score - op.scores[j], &slope));
        gradient -= (double)(weight * slope);
    }
    op.d_scores[i] = (float)gradient / (float)op.n_requests;
    op.ad_losses[i] = loss;
}

/* The ads' scores: products by 16 lanes each, then their hits. */
__device__ __forceinline__ void score_ads(const thr_requests_op &op, uint32_t request, uint32_t first, uint32_t end) {
    const float *user = op.users + (size_t)request * op.n_vector;
    const uint32_t half = threadIdx.x / DOT_LANES, lane = threadIdx.x % DOT_LANES;
    for (uint32_t from = first; from < end; from += REQUEST_THREADS / DOT_LANES) {
        const uint32_t ad = min(from + half, end - 1); /* whole warps take part in shuffles */
        float score = dot_of(user, op.items + (size_t)op.ads[ad] * op.n_vector, op.n_vector, lane);
        if (lane != 0 || from + half >= end)
            continue;
        for (uint32_t e = op.ad_slot_offsets[ad]; e < op.ad_slot_offsets[ad + 1]; e++)
            score += op.slots[op.ad_slots[e]];
        op.scores[ad] = score;
    }
}

static __global__ void __launch_bounds__(REQUEST_THREADS) run_request(const thr_requests_op op) {
    const uint32_t request = blockIdx.x, first = op.ad_offsets[request], end = op.ad_offsets[request + 1];
    score_ads(op, request, first, end);
    __syncthreads();
    for (uint32_t i = first + threadIdx.x; i < end; i += REQUEST_THREADS) {
        const float score = op.scores[i];
        uint32_t rank = 0;
        for (uint32_t j = first; j < end; j++)
            rank += j < i ? op.scores[j] >= score : j > i && op.scores[j] > score;
        op.ad_discounts[i] = op.discounts[rank];
    }
    __syncthreads();
    for (uint32_t i = first + threadIdx.x; i < end; i += REQUEST_THREADS)
        pair_ad(op, first, end, i);
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    double loss = 0;
    for (uint32_t i = first; i < end; i++)
        loss += op.ad_losses[i];
    op.losses[request] = loss;
}

thr_status thr_cuda_requests(thr_stream *stream, const thr_requests_op *op, thr_error *err) {
    if (op->n_requests == 0)
        return THR_OK;
    THR_TRY(THR_RUN(open_slots, element_blocks(op->n_slots), ELEMENT_THREADS, stream, "the weights of hits", err, *op));
    THR_TRY(THR_RUN(run_request, op->n_requests, REQUEST_THREADS, stream, "requests", err, *op));
    return THR_RUN(spread_to_history, element_blocks(op->n_history), ELEMENT_THREADS, stream, "the gradients of hits",
                   err, *op);
}
