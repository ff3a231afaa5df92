/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Count the words that states hit (WTA-LSH 4.2.2, algorithm 1). Every lane of a warp looks up the code of one state
 * and band, in two places of the cuckoo table and its stash. The warp then processes the spans of all lanes together
 * (figure 4), so that no lane waits for the longest span. A step may end one span and begin the next, so many short
 * spans take few steps. The words of a span are contiguous: a step reads one or two cache lines.
 *
 * Counts are updated atomically, because bands of one state are counted concurrently (errata 2). The hit that raises
 * a word's count to the threshold marks the word; there is exactly one such hit in any order. With few states, some
 * lanes get no code, which spreads the work over more warps.
 */
#include "cuda/backend.cuh"
#include "lsh/cuckoo_find.h"

static const uint32_t HIT_THREADS = 256, HIT_WARPS = HIT_THREADS / THR_WARP, HIT_BLOCKS_A_SM = 8;

/* The span that a lane has found. */
struct hit_span {
    uint32_t state;
    uint64_t first, n, end; /* its words; end: prefix sum of n over the lanes */
};

__device__ __forceinline__ hit_span find_span(const thr_head_hits_op &op, const thr_cuckoo &table, uint64_t pair) {
    hit_span span = {0, 0, 0, 0};
    if (pair >= (uint64_t)op.n_states * op.n_bands)
        return span;
    const thr_cuckoo_slot *slot = thr_lsh_cuckoo_find(&table, (uint32_t)(pair % op.n_bands), op.codes[pair]);
    span.state = (uint32_t)(pair / op.n_bands);
    if (slot != nullptr) {
        span.first = slot->first;
        span.n = slot->n;
    }
    return span;
}

__device__ __forceinline__ void count_hit(const thr_head_hits_op &op, uint32_t state, uint32_t word) {
    const uint32_t before = atomicAdd(op.counts + (size_t)(state / op.share) * op.n_words + word, 1u);
    if (before + 1 == op.threshold)
        atomicOr(op.marks + (size_t)(state / op.group) * op.n_marks + word / 32, 1u << word % 32);
}

/* Count the words of all lanes' spans as one concatenated sequence. */
__device__ __forceinline__ void count_spans(const thr_head_hits_op &op, hit_span span, uint32_t lane) {
    span.end = span.n;
    for (uint32_t step = 1; step < THR_WARP; step *= 2) {
        const uint64_t other = __shfl_up_sync(THR_ALL_LANES, (unsigned long long)span.end, step);
        span.end += lane >= step ? other : 0;
    }
    const uint64_t n_all = __shfl_sync(THR_ALL_LANES, (unsigned long long)span.end, (int)THR_WARP - 1);
    const uint64_t shift = span.first - (span.end - span.n); /* from a step's number to its index in the lists */
    for (uint64_t from = 0; from < n_all; from += THR_WARP) {
        const uint64_t step = from + lane;
        uint32_t owner = 0; /* the number of spans that end before or at the step */
        for (uint32_t half = THR_WARP / 2; half > 0; half /= 2) {
            const uint64_t end = __shfl_sync(THR_ALL_LANES, (unsigned long long)span.end, (int)(owner + half - 1));
            owner += end <= step ? half : 0;
        }
        const uint64_t its_shift = __shfl_sync(THR_ALL_LANES, (unsigned long long)shift, (int)owner);
        const uint32_t state = __shfl_sync(THR_ALL_LANES, span.state, (int)owner);
        if (step < n_all)
            count_hit(op, state, op.listed[its_shift + step]);
    }
}

/* A warp takes a_warp codes at a time, at most THR_WARP. */
static __global__ void __launch_bounds__(HIT_THREADS) count_hits(const thr_head_hits_op op, uint32_t a_warp) {
    const uint32_t lane = threadIdx.x % THR_WARP;
    const uint64_t warp = (uint64_t)blockIdx.x * HIT_WARPS + threadIdx.x / THR_WARP;
    const uint64_t n_pairs = (uint64_t)op.n_states * op.n_bands, apart = (uint64_t)gridDim.x * HIT_WARPS * a_warp;
    thr_cuckoo table;
    table.slots = (const thr_cuckoo_slot *)op.slots;
    table.n_slots = op.n_slots;
    table.n_stash = op.n_stash;
    table.seed = op.seed;
    for (uint64_t first = warp * a_warp; first < n_pairs; first += apart)
        count_spans(op, find_span(op, table, lane < a_warp ? first + lane : n_pairs), lane);
}

thr_status thr_cuda_head_hits(thr_stream *stream, const thr_head_hits_op *op, thr_error *err) {
    const uint64_t n_pairs = (uint64_t)op->n_states * op->n_bands;
    const uint64_t most = (uint64_t)HIT_BLOCKS_A_SM * stream->device->n_multiprocessors;
    const uint64_t a_lane = (n_pairs + most * HIT_WARPS - 1) / (most * HIT_WARPS);
    const uint32_t a_warp = a_lane < THR_WARP ? (uint32_t)a_lane : THR_WARP;
    if (n_pairs == 0)
        return THR_OK;
    const uint32_t n_blocks = loop_blocks(stream, n_pairs, HIT_WARPS * a_warp, HIT_BLOCKS_A_SM);
    return THR_RUN(count_hits, n_blocks, HIT_THREADS, stream, "counting hits of words", err, *op, a_warp);
}
