/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The screen: score every item for a few queries at once and emit those that reach a threshold. One pass, no array of
 * scores (XFBQ section 4, errata 5); the threshold comes from a sample of tiles that are scored the same way.
 *
 * A warp takes one tile at a time, so that a single query keeps all multiprocessors busy. With few planes and query
 * bits the time is that of reading the codes; many concurrent warps hide the latency, so none prefetches.
 */
#include "base/minmax.h"
#include "cuda/backend.cuh"
#include "cuda/store/emit.cuh"
#include "select/sampled_threshold.h"

static_assert(sizeof(thr_screen_op) <= 4096, "parameters of kernels have no more room");

enum { SCREEN_THREADS = 256, SCREEN_BLOCKS_A_SM = 8 };

template <uint32_t PLANES>
__device__ __forceinline__ void keep_sample(const thr_screen_op &op, uint32_t q, uint32_t at, const lane_tile &own,
                                            const uint32_t (&distances)[LANE_ITEMS], const lane_numbers &numbers) {
    float scores[LANE_ITEMS];
    uint32_t *samples = op.samples + ((size_t)q * op.n_samples + at) * THR_DEVICE_TILE + LANE_ITEMS * own.lane;
    const uint32_t there = score_items<PLANES>(op.scan, op.scan.queries[q], own, distances, numbers, -INFINITY, scores);
    for (uint32_t i = 0; i < LANE_ITEMS; i++)
        samples[i] = (there >> i & 1) != 0 ? order_score(scores[i]) : 0;
}

/* Minimum number of concurrent blocks on a multiprocessor: as many as fit without spilling registers. */
template <uint32_t PLANES, uint32_t QUERIES>
static const uint32_t SCREEN_LEAST_BLOCKS = QUERIES == 1 ? (PLANES <= 3 ? 4 : 3) : (PLANES <= 2 ? 3 : 2);

template <uint32_t PLANES, uint32_t QUERIES, bool FAR>
static __global__ void __launch_bounds__(SCREEN_THREADS, (SCREEN_LEAST_BLOCKS<PLANES, QUERIES>))
    screen_tiles(THR_PARAMETER(thr_screen_op) op) {
    const uint32_t lane = threadIdx.x % THR_WARP, n_warps = gridDim.x * (SCREEN_THREADS / THR_WARP);
    const uint32_t n_tiles = (uint32_t)THR_CEIL_DIV(op.scan.codes.n_items, THR_DEVICE_TILE);
    const uint32_t n = op.samples != nullptr ? op.n_samples : n_tiles;
    for (uint32_t at = blockIdx.x * (SCREEN_THREADS / THR_WARP) + threadIdx.x / THR_WARP; at < n; at += n_warps) {
        const uint32_t tile = op.samples != nullptr ? (uint32_t)thr_select_sample_place(at, n, n_tiles) : at;
        const lane_tile own = {tile, lane, lane_rows(op.scan, tile, lane)};
        if (op.samples == nullptr && op.scan.filter != nullptr && __any_sync(THR_ALL_LANES, own.rows != 0) == 0)
            continue;
        uint32_t distances[QUERIES][LANE_ITEMS];
        find_distances<PLANES, QUERIES, FAR>(op.scan, tile, lane, distances);
        const lane_numbers numbers = load_numbers(op.scan.codes, tile, lane);
#pragma unroll
        for (uint32_t q = 0; q < QUERIES; q++) {
            if (q >= op.scan.n_queries)
                break;
            if (op.samples != nullptr)
                keep_sample<PLANES>(op, q, at, own, distances[q], numbers);
            else
                let_through<PLANES>(op, op.scan, op.scan.queries[q], q, own, distances[q], numbers);
        }
    }
}

template <uint32_t PLANES>
static thr_status run(thr_stream *stream, const thr_screen_op *op, uint32_t n_blocks, thr_error *err) {
    static const uint32_t MANY = THR_SCREEN_QUERIES;
    static const char what[] = "scoring codes";
    if (op->scan.far_words != nullptr)
        return THR_RUN((screen_tiles<PLANES, MANY, true>), n_blocks, SCREEN_THREADS, stream, what, err, *op);
    if (op->scan.n_queries == 1)
        return THR_RUN((screen_tiles<PLANES, 1, false>), n_blocks, SCREEN_THREADS, stream, what, err, *op);
    return THR_RUN((screen_tiles<PLANES, MANY, false>), n_blocks, SCREEN_THREADS, stream, what, err, *op);
}

thr_status thr_cuda_screen(thr_stream *stream, const thr_screen_op *op, thr_error *err) {
    static thr_status (*const runs[])(thr_stream *, const thr_screen_op *, uint32_t,
                                      thr_error *) = {run<1>, run<2>, run<3>, run<4>, run<5>, run<6>, run<7>, run<8>};
    const uint64_t n_tiles = THR_CEIL_DIV(op->scan.codes.n_items, THR_DEVICE_TILE);
    const uint64_t n = op->samples != nullptr ? op->n_samples : n_tiles;
    const uint32_t n_blocks = loop_blocks(stream, n, SCREEN_THREADS / THR_WARP, SCREEN_BLOCKS_A_SM);
    return runs[op->scan.codes.n_planes - 1](stream, op, n_blocks, err);
}
