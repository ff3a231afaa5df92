/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A histogram of some bits of all items' keys. If a threshold estimated from a sample was wrong, successive
 * histograms from the leading bits on find one that exactly the wanted number of items reach, even with many equal
 * scores.
 */
#include "base/minmax.h"
#include "cuda/backend.cuh"
#include "cuda/tiles.cuh"

static_assert(sizeof(thr_count_op) <= 4096, "parameters of kernels have no more room");

enum { COUNT_THREADS = 256, COUNT_BLOCKS_A_SM = 4 };

template <uint32_t PLANES, bool FAR>
static __global__ void __launch_bounds__(COUNT_THREADS) count_tiles(THR_PARAMETER(thr_count_op) op) {
    THR_SHARED(uint32_t, bins, THR_COUNT_BINS);
    const uint32_t lane = threadIdx.x % THR_WARP, n_warps = gridDim.x * (COUNT_THREADS / THR_WARP);
    const uint32_t n_tiles = (uint32_t)THR_CEIL_DIV(op.scan.codes.n_items, THR_DEVICE_TILE);
    const uint32_t left = 64 - op.prefix_bits, digit = min(left, (uint32_t)THR_COUNT_BITS);
    for (uint32_t bin = threadIdx.x; bin < THR_COUNT_BINS; bin += COUNT_THREADS)
        bins[bin] = 0;
    __syncthreads();
    for (uint32_t tile = blockIdx.x * (COUNT_THREADS / THR_WARP) + threadIdx.x / THR_WARP; tile < n_tiles;
         tile += n_warps) {
        const uint32_t rows = lane_rows(op.scan, tile, lane);
        uint32_t distances[1][LANE_ITEMS];
        float scores[LANE_ITEMS];
        find_distances<PLANES, 1, FAR>(op.scan, tile, lane, distances);
        const lane_numbers numbers = load_numbers(op.scan.codes, tile, lane);
        const uint32_t there = score_items<PLANES>(op.scan, op.scan.queries[0], {tile, lane, rows}, distances[0],
                                                   numbers, -INFINITY, scores);
        for (uint32_t i = 0; i < LANE_ITEMS; i++) {
            const uint64_t key = key_of(op.scan.codes, scores[i], tile * THR_DEVICE_TILE + LANE_ITEMS * lane + i);
            if ((there >> i & 1) != 0 && (op.prefix_bits == 0 || key >> left == op.prefix))
                atomicAdd(&bins[(uint32_t)(key >> (left - digit)) & ((1u << digit) - 1)], 1u);
        }
    }
    __syncthreads();
    for (uint32_t bin = threadIdx.x; bin < THR_COUNT_BINS; bin += COUNT_THREADS)
        if (bins[bin] != 0)
            atomicAdd((unsigned long long *)op.bins + bin, (unsigned long long)bins[bin]);
}

template <uint32_t PLANES>
static thr_status run(thr_stream *stream, const thr_count_op *op, uint32_t n_blocks, thr_error *err) {
    static const char what[] = "counting scores";
    if (op->scan.far_words != nullptr)
        return THR_RUN((count_tiles<PLANES, true>), n_blocks, COUNT_THREADS, stream, what, err, *op);
    return THR_RUN((count_tiles<PLANES, false>), n_blocks, COUNT_THREADS, stream, what, err, *op);
}

thr_status thr_cuda_count_keys(thr_stream *stream, const thr_count_op *op, thr_error *err) {
    static thr_status (*const runs[])(thr_stream *, const thr_count_op *, uint32_t,
                                      thr_error *) = {run<1>, run<2>, run<3>, run<4>, run<5>, run<6>, run<7>, run<8>};
    const uint64_t n_tiles = THR_CEIL_DIV(op->scan.codes.n_items, THR_DEVICE_TILE);
    const uint32_t n_blocks = loop_blocks(stream, n_tiles, COUNT_THREADS / THR_WARP, COUNT_BLOCKS_A_SM);
    return runs[op->scan.codes.n_planes - 1](stream, op, n_blocks, err);
}
