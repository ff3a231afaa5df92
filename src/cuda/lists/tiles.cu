/* SPDX-License-Identifier: Apache-2.0 */
/* Find a batch's best items by their features, tile by tile: one block per tile and query. */
#include "cuda/backend.cuh"
#include "cuda/lists/tiles.cuh"

static_assert(sizeof(thr_hit_tiles_op) <= 4096, "parameters of kernels have no more room");

static __global__ void __launch_bounds__(TILE_THREADS, 2) score_hits(THR_PARAMETER(thr_hit_tiles_op) op) {
    score_tile(op, no_dense());
}

thr_status thr_cuda_hit_tiles(thr_stream *stream, const thr_hit_tiles_op *op, thr_error *err) {
    return THR_RUN(score_hits, tile_blocks(op), TILE_THREADS, stream, "scoring items by their features", err, *op);
}
