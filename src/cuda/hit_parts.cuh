/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hit_parts.cuh - what an entry of a posting list has in a tile of places: found by bisection, added to a tile's sums
 * in shared memory by a warp.
 *
 * Contents of lists are not checked before a search, so every element is held to the tile that it is added to.
 */
#ifndef THR_CUDA_HIT_PARTS_CUH
#define THR_CUDA_HIT_PARTS_CUH

#include "cuda/portable.cuh"
#include "device/hit_ops.h"

static const uint32_t HIT_BLOCK = 256;  /* places that a bitmap has */
static const uint32_t HIT_QUARTERS = 4; /* of a bitmap: what a warp adds at once */

/* Elements of a form. */
struct hit_segment {
    uint32_t first, n;
};

/* Elements that add a weight to the places they name. */
struct weighted_segment {
    hit_segment elements;
    uint32_t form, weight;
};

/* How many of n values, `stride` apart and ascending, are less than `least`. */
template <typename T>
__device__ __forceinline__ uint32_t count_less(const T *values, uint32_t stride, uint32_t n, uint32_t least) {
    uint32_t low = 0;
    while (low < n) {
        const uint32_t middle = low + (n - low) / 2;
        if (values[(size_t)middle * stride] < least)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

/* The part that an entry has in a window, or n_parts. Windows ascend: what is in all of them is found at once. */
__device__ __forceinline__ uint32_t part_of(const thr_device_hits &hits, const thr_hit_entry &entry, uint32_t window) {
    const uint8_t *windows = hits.part_windows + entry.first_part;
    const uint32_t n = entry.n_parts <= window ? entry.n_parts : window + 1;
    if (windows[n - 1] <= window)
        return windows[n - 1] == window ? n - 1 : entry.n_parts;
    const uint32_t part = count_less(windows, 1, n, window);
    return windows[part] == window ? part : entry.n_parts;
}

/* An entry's elements that reach into a tile, and in its form's arrays. */
__device__ __forceinline__ hit_segment find_segment(const thr_device_hits &hits, const thr_hit_entry &entry,
                                                    uint32_t tile) {
    if (entry.form == THR_HIT_ONE)
        return {entry.first_part, entry.first_part / THR_HIT_TILE == tile ? 1u : 0u};
    const uint32_t tiles_a_window = THR_HIT_WINDOW / THR_HIT_TILE, start = tile % tiles_a_window * THR_HIT_TILE;
    const uint32_t part = part_of(hits, entry, tile / tiles_a_window);
    if (part == entry.n_parts)
        return {0, 0};
    const uint32_t begin = hits.part_begins[entry.first_part + part];
    const uint32_t n = hits.part_sizes[entry.first_part + part] + 1u;
    uint32_t first, end;
    if (entry.form == THR_HIT_IDS) {
        first = count_less(hits.ids + begin, 1, n, start);
        end = count_less(hits.ids + begin, 1, n, start + THR_HIT_TILE);
    } else if (entry.form == THR_HIT_BITMAPS) {
        first = count_less(hits.bitmap_blocks + begin, 1, n, start / HIT_BLOCK);
        end = count_less(hits.bitmap_blocks + begin, 1, n, (start + THR_HIT_TILE) / HIT_BLOCK);
    } else {
        const uint16_t *runs = hits.runs + 2 * (size_t)begin;
        first = count_less(runs, 2, n, start);
        end = count_less(runs, 2, n, start + THR_HIT_TILE);
        first -=
            first > 0 && runs[2 * first - 2] + (uint32_t)runs[2 * first - 1] >= start; /* it goes on into the tile */
    }
    return {begin + first, end > first ? end - first : 0};
}

/* Steps of a warp that a segment takes. */
__device__ __forceinline__ uint32_t segment_steps(uint32_t form, uint32_t n) {
    return form == THR_HIT_BITMAPS ? n * HIT_QUARTERS : (n + THR_WARP - 1) / THR_WARP;
}

/*
 * One step of a segment, by all lanes: 32 ids; 32 runs, as what changes at their first places and behind their last
 * ones; or a quarter of a bitmap, of which neighbouring lanes have neighbouring places. start: the tile's first place
 * in its window.
 */
template <typename Places>
__device__ __forceinline__ void add_segment_step(const thr_device_hits &hits, const weighted_segment &what,
                                                 uint32_t step, uint32_t start, uint32_t lane, Places &places) {
    const hit_segment segment = what.elements;
    const uint32_t form = what.form, weight = what.weight;
    if (form == THR_HIT_BITMAPS) {
        const uint32_t element = segment.first + step / HIT_QUARTERS, quarter = step % HIT_QUARTERS;
        const uint32_t *words = hits.bitmaps + (size_t)element * THR_HIT_BITMAP_WORDS + 2 * quarter;
        const uint32_t at = hits.bitmap_blocks[element] * HIT_BLOCK - start + 64 * quarter;
        if (at >= THR_HIT_TILE)
            return;
        for (uint32_t half = 0; half < 2; half++)
            if ((words[half] >> lane & 1) != 0)
                atomicAdd(&places[at + 32 * half + lane], weight);
        return;
    }
    const uint32_t i = step * THR_WARP + lane;
    if (i >= segment.n)
        return;
    if (form == THR_HIT_ONE) {
        atomicAdd(&places[segment.first % THR_HIT_TILE], weight);
        return;
    }
    if (form == THR_HIT_IDS) {
        const uint32_t at = (uint32_t)hits.ids[segment.first + i] - start;
        if (at < THR_HIT_TILE)
            atomicAdd(&places[at], weight);
        return;
    }
    const uint16_t *run = hits.runs + 2 * ((size_t)segment.first + i);
    const uint32_t from = run[0] > start ? run[0] - start : 0, to = run[0] + run[1] + 1u - start;
    if (from >= THR_HIT_TILE)
        return;
    atomicAdd(&places[from], weight);
    if (to < THR_HIT_TILE)
        atomicAdd(&places[to], 0u - weight);
}

#endif
