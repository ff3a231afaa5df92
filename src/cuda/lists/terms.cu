/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recompute the terms of the values of chosen items, one warp per item. Its lanes search for the item in the lists of
 * the query and compute the distance of its code. That is far less work than keeping the terms of all items in a
 * tile's pass.
 */
#include "base/minmax.h"
#include "cuda/backend.cuh"
#include "cuda/lists/stretches.cuh"
#include "cuda/tiles.cuh"

static const uint32_t TERM_THREADS = 256;

static_assert(sizeof(thr_hit_terms_op) <= 4096, "parameters of kernels have no more room");

/* Return whether the n elements of a stretch from `begin` on contain a place of its window. */
__device__ __forceinline__ bool has_place(const thr_device_hits &hits, uint32_t form, uint32_t begin, uint32_t n,
                                          uint32_t place) {
    if (form == THR_HIT_PLACES) {
        const uint32_t i = count_less(hits.places + begin, 1, n, place);
        return i < n && hits.places[begin + i] == place;
    }
    if (form == THR_HIT_BITMAPS) {
        const uint32_t i = count_less(hits.bitmap_containers + begin, 1, n, place / HIT_CONTAINER),
                       bit = place % HIT_CONTAINER;
        return i < n && hits.bitmap_containers[begin + i] == place / HIT_CONTAINER &&
               (hits.bitmaps[((size_t)begin + i) * THR_HIT_BITMAP_WORDS + bit / 32] >> bit % 32 & 1) != 0;
    }
    const uint16_t *runs = hits.runs + 2 * (size_t)begin;
    const uint32_t i = count_less(runs, 2, n, place + 1); /* number of runs that begin at or before the place */
    return i > 0 && place <= runs[2 * i - 2] + (uint32_t)runs[2 * i - 1];
}

/* Return what an entry adds to a place. */
__device__ __forceinline__ uint32_t added_by(const thr_device_hits &hits, const thr_hit_entry &entry, uint32_t place) {
    if (entry.form == THR_HIT_ONE)
        return entry.first_stretch == place ? (uint32_t)entry.weight : 0;
    const uint32_t stretch = stretch_of(hits, entry, place / THR_HIT_WINDOW);
    if (stretch == entry.n_stretches)
        return 0;
    const uint32_t p = entry.first_stretch + stretch;
    return has_place(hits, entry.form, hits.stretch_begins[p], hits.stretch_sizes[p] + 1u, place % THR_HIT_WINDOW)
               ? (uint32_t)entry.weight
               : 0;
}

/* Return what word w of an item adds to its distance (carries.cuh). */
__device__ __forceinline__ uint32_t differing(const thr_device_scan &scan, uint32_t item, uint32_t w) {
    const uint32_t n_rows = (scan.codes.n_dims + 7) / 8, n_planes = scan.codes.n_planes;
    const uint8_t *tile = tile_of(scan.codes, item / THR_DEVICE_TILE);
    const uint32_t *query = (scan.far_words != nullptr ? scan.far_words : scan.words) + (size_t)w * scan.query_bits;
    uint32_t sum = 0;
    for (uint32_t p = 0; p < n_planes; p++) {
        const uint32_t word = code_word(tile, n_rows, n_planes, p, w, item % THR_DEVICE_TILE);
        for (uint32_t j = 0; j < scan.query_bits; j++)
            sum += (uint32_t)__popc(word ^ query[j]) << (n_planes - 1 - p + scan.query_bits - 1 - j);
    }
    return sum;
}

static __global__ void __launch_bounds__(TERM_THREADS) find_terms(THR_PARAMETER(thr_hit_terms_op) op) {
    const uint32_t lane = threadIdx.x % THR_WARP, n_warps = gridDim.x * (TERM_THREADS / THR_WARP);
    const uint32_t n = THR_MIN(*op.n_chosen, op.wanted);
    const uint32_t n_words = ((op.scan.codes.n_dims + 7) / 8 + 3) / 4;
    const thr_hit_device_query query = *op.query;
    for (uint32_t i = blockIdx.x * (TERM_THREADS / THR_WARP) + threadIdx.x / THR_WARP; i < n; i += n_warps) {
        const uint32_t item = thr_device_key_item(op.chosen[i].key);
        uint32_t sum = 0, distance = 0;
        for (uint32_t e = lane; e < query.n; e += THR_WARP)
            sum += added_by(op.hits, op.entries[query.first + e], item);
        for (uint32_t w = lane; w < n_words; w += THR_WARP)
            distance += differing(op.scan, item, w);
        for (uint32_t step = THR_WARP / 2; step > 0; step /= 2) {
            sum += __shfl_xor_sync(THR_ALL_LANES, sum, (int)step);
            distance += __shfl_xor_sync(THR_ALL_LANES, distance, (int)step);
        }
        if (lane != 0)
            continue;
        op.sums[i] = (int32_t)sum;
        op.chosen[i].distance = distance;
    }
}

thr_status thr_cuda_hit_terms(thr_stream *stream, const thr_hit_terms_op *op, thr_error *err) {
    const uint32_t n_blocks = loop_blocks(stream, op->wanted, TERM_THREADS / THR_WARP, 8);
    return THR_RUN(find_terms, n_blocks, TERM_THREADS, stream, "looking up what chosen items have", err, *op);
}
