/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read the buckets in doubt again, those whose best rejected item may be among the best, so that nothing is missed
 * (bucket.cu).
 */
#include "cuda/store/buckets.cuh"
#include "cuda/tiles.cuh"

enum { LEAST_THREADS = 512 };

/* One block: find the smallest key of the winners. */
static __global__ void __launch_bounds__(LEAST_THREADS) find_least(const thr_rescan_op op) {
    THR_SHARED(uint64_t, warps, LEAST_THREADS / THR_WARP);
    const uint32_t n = *op.n_winners;
    uint64_t least = ~(uint64_t)0;
    for (uint32_t i = threadIdx.x; i < n; i += LEAST_THREADS)
        least = op.items[i].key < least ? op.items[i].key : least;
    for (uint32_t step = THR_WARP / 2; step > 0; step /= 2) {
        const uint64_t other = __shfl_xor_sync(THR_ALL_LANES, (unsigned long long)least, (int)step);
        least = other < least ? other : least;
    }
    if (threadIdx.x % THR_WARP == 0)
        warps[threadIdx.x / THR_WARP] = least;
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    for (uint32_t i = 1; i < LEAST_THREADS / THR_WARP; i++) {
        const uint64_t other = warps[i];
        least = other < least ? other : least;
    }
    *op.least = n < op.wanted ? 0 : least;
    *op.count = n;
}

/* One thread: emit item 4 l + i of a tile if its key is above `least` and it is not the bucket's winner. */
template <uint32_t PLANES, bool FAR>
__device__ __forceinline__ void rescan_item(const thr_rescan_op &op, uint32_t tile, uint32_t l, uint32_t i,
                                            uint64_t least, uint64_t winner) {
    const uint32_t rows = lane_rows(op.scan, tile, l) & 1u << i;
    if (rows == 0)
        return;
    uint32_t distances[1][LANE_ITEMS];
    float scores[LANE_ITEMS];
    find_distances<PLANES, 1, FAR>(op.scan, tile, l, distances);
    const lane_numbers numbers = load_numbers(op.scan.codes, tile, l);
    const uint32_t hits = score_items<PLANES>(op.scan, op.scan.queries[0], {tile, l, rows}, distances[0], numbers,
                                              least_score(least), scores);
#pragma unroll
    for (uint32_t j = 0; j < LANE_ITEMS; j++) {
        if ((hits >> j & 1) == 0)
            continue;
        const uint64_t key = thr_device_key_make(order_score(scores[j]), tile * THR_DEVICE_TILE + LANE_ITEMS * l + j);
        if (key <= least || key == winner)
            continue;
        const uint32_t place = atomicAdd(op.count, 1u);
        if (place < op.capacity)
            op.items[place] = {key, __float_as_uint(scores[j]), distances[0][j]};
    }
}

/* A warp takes one winner at a time; if its bucket is in doubt, each lane takes one of the bucket's items at a time. */
template <uint32_t PLANES, bool FAR>
static __global__ void __launch_bounds__(BUCKET_THREADS) rescan_buckets(THR_PARAMETER(thr_rescan_op) op) {
    const uint32_t lane = threadIdx.x % THR_WARP, n_warps = gridDim.x * (BUCKET_THREADS / THR_WARP);
    const uint32_t n_tiles = (uint32_t)((op.scan.codes.n_items + THR_DEVICE_TILE - 1) / THR_DEVICE_TILE);
    const uint32_t n_groups = op.n_buckets / THR_DEVICE_TILE, n_winners = *op.n_winners;
    const uint64_t least = *op.least;
    for (uint32_t at = blockIdx.x * (BUCKET_THREADS / THR_WARP) + threadIdx.x / THR_WARP; at < n_winners;
         at += n_warps) {
        const uint64_t winner = op.items[at].key;
        const uint32_t bucket = thr_device_key_item(winner) % op.n_buckets, place = bucket % THR_DEVICE_TILE;
        if (thr_device_key_order(winner) == 0 || op.rejected[bucket] <= least)
            continue;
        /* 64 bits, because 32 steps of n_groups tiles may exceed 2^32. */
        for (uint64_t tile = bucket / THR_DEVICE_TILE + (uint64_t)lane * n_groups; tile < n_tiles;
             tile += (uint64_t)THR_WARP * n_groups)
            rescan_item<PLANES, FAR>(op, (uint32_t)tile, place / LANE_ITEMS, place % LANE_ITEMS, least, winner);
    }
}

template <uint32_t PLANES> static void launch(thr_stream *stream, const thr_rescan_op *op, uint32_t n_blocks) {
    if (op->scan.far_words != nullptr)
        THR_LAUNCH((rescan_buckets<PLANES, true>), n_blocks, BUCKET_THREADS, stream->stream, *op);
    else
        THR_LAUNCH((rescan_buckets<PLANES, false>), n_blocks, BUCKET_THREADS, stream->stream, *op);
}

thr_status thr_cuda_rescan(thr_stream *stream, const thr_rescan_op *op, thr_error *err) {
    static void (*const launches[])(thr_stream *, const thr_rescan_op *, uint32_t) = {
        launch<1>, launch<2>, launch<3>, launch<4>, launch<5>, launch<6>, launch<7>, launch<8>};
    THR_TRY(thr_cuda_use(stream->device, err));
    if (op->wanted == 0)
        return THR_OK;
    THR_LAUNCH(find_least, 1, LEAST_THREADS, stream->stream, *op);
    THR_TRY(thr_cuda_launched(stream, "finding the last winner", err));
    launches[op->scan.codes.n_planes - 1](stream, op, bucket_blocks(stream, op->wanted));
    return thr_cuda_launched(stream, "reading buckets once more", err);
}
