/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Find a query's best items by code scores and features in one pass (HitMatch (9)): the dense score is computed where
 * a tile's sums become values, one warp per tile of codes, and is never written to memory.
 *
 * Codes need twice the registers that lists need, so a multiprocessor runs one block of 1,024 threads.
 */
#include "cuda/backend.cuh"
#include "cuda/lists/tiles.cuh"
#include "cuda/tiles.cuh"

static_assert(sizeof(thr_hit_dense_op) <= 4096, "parameters of kernels have no more room");
static_assert(GROUP == LANE_ITEMS && THR_HIT_TILE % THR_DEVICE_TILE == 0, "a lane has the same items of both tiles");

template <uint32_t PLANES, bool FAR> struct dense_codes {
    static const bool THERE = true;
    const thr_device_scan &scan;
    const float gain, bias;

    /* Compute the scores of a lane's items of a tile of codes; 0 after the last tile. */
    __device__ __forceinline__ void find(uint32_t tile, uint32_t lane, float (&scores)[GROUP]) const {
        uint32_t distances[1][LANE_ITEMS];
        if ((uint64_t)tile * THR_DEVICE_TILE >= scan.codes.n_items)
            return;
        find_distances<PLANES, 1, FAR>(scan, tile, lane, distances);
        const lane_numbers numbers = load_numbers(scan.codes, tile, lane);
        (void)score_items<PLANES>(scan, scan.queries[0], {tile, lane, (1u << LANE_ITEMS) - 1}, distances[0], numbers,
                                  -INFINITY, scores);
        for (uint32_t i = 0; i < LANE_ITEMS; i++)
            scores[i] = __fadd_rn(__fmul_rn(scores[i], gain), bias);
    }
};

template <uint32_t PLANES, bool FAR>
static __global__ void __launch_bounds__(TILE_THREADS) score_both(THR_PARAMETER(thr_hit_dense_op) op) {
    score_tile(op.tiles, dense_codes<PLANES, FAR>{op.scan, op.gain, op.bias});
}

template <uint32_t PLANES> static thr_status run(thr_stream *stream, const thr_hit_dense_op *op, thr_error *err) {
    static const char what[] = "scoring items by codes and features";
    if (op->scan.far_words != nullptr)
        return THR_RUN((score_both<PLANES, true>), tile_blocks(&op->tiles), TILE_THREADS, stream, what, err, *op);
    return THR_RUN((score_both<PLANES, false>), tile_blocks(&op->tiles), TILE_THREADS, stream, what, err, *op);
}

thr_status thr_cuda_hit_dense(thr_stream *stream, const thr_hit_dense_op *op, thr_error *err) {
    static thr_status (*const runs[])(thr_stream *, const thr_hit_dense_op *,
                                      thr_error *) = {run<1>, run<2>, run<3>, run<4>, run<5>, run<6>, run<7>, run<8>};
    return runs[op->scan.codes.n_planes - 1](stream, op, err);
}
