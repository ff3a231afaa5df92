/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bucketed top-1 (RBE section 6, errata 6): one pass without sample or threshold that keeps the best item of each of
 * L buckets; the best N of these are the answer. If the best N items are spread over L buckets, the item of rank r,
 * from 0, is missed if one of the r better ones is in its bucket, with probability about r / L. So N (N - 1) / 2 L
 * items are missed on average, and the recall is 1 - (N - 1) / 2 L.
 *
 * Every missed item was seen and rejected. The pass therefore also keeps each bucket's largest rejected key: if it is
 * not above the N-th winner's key, the bucket contains nothing better than that winner; otherwise the bucket is read
 * once more (rescan.cu). The answer is then that of the exhaustive search. Only buckets whose winner is among the N
 * can be in doubt, about as many as items were missed.
 *
 * Cost: one or two comparisons an item, and 24 bytes a bucket to write and select from. Item i is in bucket i % L,
 * and L is a multiple of the tile, so a warp keeps the buckets of every n-th tile in registers, four a lane, and
 * adjacent items of a collection, which are often similar, fall into different buckets.
 */
#include "cuda/store/buckets.cuh"
#include "cuda/tiles.cuh"

/* The state of a lane's four buckets; keys are 0 while a bucket is empty. */
struct lane_buckets {
    uint64_t keys[LANE_ITEMS], rejected[LANE_ITEMS];
    float scores[LANE_ITEMS];
    uint32_t distances[LANE_ITEMS];
};

/* Return the score below which no item changes the lane's buckets. */
__device__ __forceinline__ float least_kept(const lane_buckets &buckets, bool keeps_rejected) {
    uint64_t least = ~(uint64_t)0;
#pragma unroll
    for (uint32_t i = 0; i < LANE_ITEMS; i++) {
        const uint64_t key = keeps_rejected ? buckets.rejected[i] : buckets.keys[i];
        least = key < least ? key : least;
    }
    return least_score(least);
}

template <uint32_t PLANES>
__device__ __forceinline__ void offer_items(const thr_bucket_op &op, uint32_t tile, uint32_t lane, uint32_t rows,
                                            const uint32_t (&distances)[LANE_ITEMS], lane_buckets &buckets) {
    float scores[LANE_ITEMS];
    const lane_numbers numbers = load_numbers(op.scan.codes, tile, lane);
    const uint32_t reached = score_items<PLANES>(op.scan, op.scan.queries[0], {tile, lane, rows}, distances, numbers,
                                                 least_kept(buckets, op.rejected != nullptr), scores);
#pragma unroll
    for (uint32_t i = 0; i < LANE_ITEMS; i++) {
        if ((reached >> i & 1) == 0)
            continue;
        const uint64_t key =
            thr_device_key_make(order_score(scores[i]), tile * THR_DEVICE_TILE + LANE_ITEMS * lane + i);
        if (key > buckets.keys[i]) {
            buckets.rejected[i] = buckets.keys[i];
            buckets.keys[i] = key;
            buckets.scores[i] = scores[i];
            buckets.distances[i] = distances[i];
        } else if (key > buckets.rejected[i]) {
            buckets.rejected[i] = key;
        }
    }
}

template <uint32_t PLANES, bool FAR>
static __global__ void __launch_bounds__(BUCKET_THREADS, 2) fill_buckets(THR_PARAMETER(thr_bucket_op) op) {
    const uint32_t lane = threadIdx.x % THR_WARP, n_warps = gridDim.x * (BUCKET_THREADS / THR_WARP);
    const uint32_t n_tiles = (uint32_t)((op.scan.codes.n_items + THR_DEVICE_TILE - 1) / THR_DEVICE_TILE);
    const uint32_t n_groups = op.n_buckets / THR_DEVICE_TILE;
    for (uint32_t group = blockIdx.x * (BUCKET_THREADS / THR_WARP) + threadIdx.x / THR_WARP; group < n_groups;
         group += n_warps) {
        lane_buckets buckets = {};
        for (uint32_t tile = group; tile < n_tiles; tile += n_groups) {
            const uint32_t rows = lane_rows(op.scan, tile, lane);
            if (op.scan.filter != nullptr && __any_sync(THR_ALL_LANES, rows != 0) == 0)
                continue;
            uint32_t distances[1][LANE_ITEMS];
            find_distances<PLANES, 1, FAR>(op.scan, tile, lane, distances);
            offer_items<PLANES>(op, tile, lane, rows, distances[0], buckets);
        }
#pragma unroll
        for (uint32_t i = 0; i < LANE_ITEMS; i++) {
            const uint32_t bucket = group * THR_DEVICE_TILE + LANE_ITEMS * lane + i;
            const uint64_t key = buckets.keys[i] == 0 ? thr_device_key_make(0, bucket) : buckets.keys[i];
            op.winners[bucket] = {key, __float_as_uint(buckets.scores[i]), buckets.distances[i]};
            if (op.rejected != nullptr)
                op.rejected[bucket] = buckets.rejected[i];
        }
    }
}

template <uint32_t PLANES> static void launch(thr_stream *stream, const thr_bucket_op *op, uint32_t n_blocks) {
    if (op->scan.far_words != nullptr)
        THR_LAUNCH((fill_buckets<PLANES, true>), n_blocks, BUCKET_THREADS, stream->stream, *op);
    else
        THR_LAUNCH((fill_buckets<PLANES, false>), n_blocks, BUCKET_THREADS, stream->stream, *op);
}

thr_status thr_cuda_bucket(thr_stream *stream, const thr_bucket_op *op, thr_error *err) {
    static void (*const launches[])(thr_stream *, const thr_bucket_op *, uint32_t) = {
        launch<1>, launch<2>, launch<3>, launch<4>, launch<5>, launch<6>, launch<7>, launch<8>};
    THR_TRY(thr_cuda_use(stream->device, err));
    if (op->n_buckets == 0)
        return THR_OK;
    launches[op->scan.codes.n_planes - 1](stream, op, bucket_blocks(stream, op->n_buckets / THR_DEVICE_TILE));
    return thr_cuda_launched(stream, "filling buckets", err);
}
