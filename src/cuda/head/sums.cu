/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of exponentials for softmax normalisers, in the CPU's order (head/score.c): sequential additions in double
 * over the words of a tile, then over the tiles. All threads compute exponentials; then one thread per tile adds them
 * from shared memory. A state thus has n / 64 sequential sums in the first kernel, and one in the second.
 */
#include "base/minmax.h"
#include "cuda/backend.cuh"
#include "cuda/head/lists.cuh"
#include "kernel/elementwise.h"

static const uint32_t SUM_THREADS = 256, SUM_TILES = 32, SUM_BLOCKS_A_SM = 8;
static const uint32_t TILE = THR_HEAD_OP_TILE, PITCH = TILE + 1; /* pitch: avoids bank conflicts within a warp */

/* Return the largest of a tile's n numbers as the CPU does: a leading NaN is kept. */
template <typename Numbers> __device__ __forceinline__ float largest_of(Numbers &numbers, uint32_t tile, uint32_t n) {
    float largest = numbers[tile * PITCH];
    for (uint32_t i = 1; i < n; i++) {
        const float x = numbers[tile * PITCH + i];
        largest = THR_MAX(x, largest);
    }
    return largest;
}

template <typename Numbers> __device__ __forceinline__ double add_tile(Numbers &numbers, uint32_t tile, uint32_t n) {
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        const float x = numbers[tile * PITCH + i];
        sum = __dadd_rn(sum, (double)x);
    }
    return sum;
}

/* Row y of the grid is a state; a block processes SUM_TILES tiles at a time. */
static __global__ void __launch_bounds__(SUM_THREADS) sum_tiles(const thr_head_sums_op op) {
    THR_SHARED(float, numbers, SUM_TILES *PITCH);
    THR_SHARED(float, largest, SUM_TILES);
    const uint32_t state = blockIdx.y, t = threadIdx.x, n = n_of_list(op.lists, state / op.lists.group);
    const float *logits = logits_of(op.lists, state);
    for (uint32_t first = blockIdx.x * SUM_TILES; first < n_tiles_of(n); first += gridDim.x * SUM_TILES) {
        const uint32_t left = n - first * TILE, n_here = THR_MIN(left, SUM_TILES * TILE);
        const uint32_t own = t * TILE >= n_here ? 0 : n_here - t * TILE < TILE ? n_here - t * TILE : TILE;
        const bool adds = t < SUM_TILES && own > 0;
        thr_head_op_sum sum = {0, 0, 0};
        for (uint32_t i = t; i < n_here; i += SUM_THREADS)
            numbers[i / TILE * PITCH + i % TILE] = logits[first * TILE + i];
        __syncthreads();
        if (adds) {
            sum.largest = largest_of(numbers, t, own);
            largest[t] = sum.largest;
        }
        __syncthreads();
        for (uint32_t i = t; op.totals != nullptr && i < n_here; i += SUM_THREADS) {
            const float x = numbers[i / TILE * PITCH + i % TILE], most = largest[i / TILE];
            numbers[i / TILE * PITCH + i % TILE] = most == -INFINITY ? 0.0f : thr_kernel_exp_one(__fsub_rn(x, most));
        }
        __syncthreads();
        if (adds) {
            sum.sum = op.totals != nullptr ? add_tile(numbers, t, own) : 0;
            op.tiles[(size_t)state * op.n_tiles + first + t] = sum;
        }
        __syncthreads();
    }
}

/* Return the largest number of a block to all threads. NaN is consistent over all threads. */
template <typename Warps> __device__ __forceinline__ float largest_of_block(float own, Warps &warps) {
    for (uint32_t step = THR_WARP / 2; step > 0; step /= 2) {
        const float other = __shfl_xor_sync(THR_ALL_LANES, own, (int)step);
        own = THR_MAX(other, own);
    }
    if (threadIdx.x % THR_WARP == 0)
        warps[threadIdx.x / THR_WARP] = own;
    __syncthreads();
    own = warps[0];
    for (uint32_t i = 1; i < SUM_THREADS / THR_WARP; i++) {
        const float other = warps[i];
        own = THR_MAX(other, own);
    }
    return own;
}

/* One block per state. */
static __global__ void __launch_bounds__(SUM_THREADS) sum_states(const thr_head_sums_op op) {
    THR_SHARED(double, terms, SUM_THREADS);
    THR_SHARED(float, warps, SUM_THREADS / THR_WARP);
    const uint32_t state = blockIdx.x, t = threadIdx.x;
    const uint32_t n_tiles = n_tiles_of(n_of_list(op.lists, state / op.lists.group));
    const thr_head_op_sum *tiles = op.tiles + (size_t)state * op.n_tiles;
    float largest = tiles[0].largest;
    for (uint32_t i = t; i < n_tiles; i += SUM_THREADS)
        largest = THR_MAX(tiles[i].largest, largest);
    largest = largest_of_block(largest, warps);
    double sum = 0;
    for (uint32_t from = 0; from < n_tiles; from += SUM_THREADS) {
        const uint32_t n = THR_MIN(n_tiles - from, SUM_THREADS);
        __syncthreads();
        if (t < n)
            terms[t] =
                __dmul_rn(tiles[from + t].sum, (double)thr_kernel_exp_one(__fsub_rn(tiles[from + t].largest, largest)));
        __syncthreads();
        for (uint32_t i = 0; t == 0 && i < n; i++)
            sum = __dadd_rn(sum, terms[i]);
    }
    if (t == 0)
        op.totals[state] = {sum, largest, 0};
}

thr_status thr_cuda_head_sums(thr_stream *stream, const thr_head_sums_op *op, thr_error *err) {
    const uint32_t n_states = op->lists.n_states, wanted = THR_CEIL_DIV(op->n_tiles, SUM_TILES);
    if (n_states == 0)
        return THR_OK;
    const uint32_t room = SUM_BLOCKS_A_SM * stream->device->n_multiprocessors / n_states, most = room > 0 ? room : 1;
    const dim3 blocks(THR_MIN(wanted, most), n_states);
    THR_TRY(THR_RUN(sum_tiles, blocks, SUM_THREADS, stream, "adding exponentials up", err, *op));
    if (op->totals == nullptr)
        return THR_OK;
    return THR_RUN(sum_states, n_states, SUM_THREADS, stream, "adding exponentials up", err, *op);
}
