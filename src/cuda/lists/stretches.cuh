/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stretches.cuh - find the elements of a posting list entry within a tile by binary search, and add them to the
 * tile's sums in shared memory with a warp.
 *
 * The contents of lists are not validated before a search, so every element is clamped to the tile it is added to.
 */
#pragma once

#include "base/minmax.h"
#include "cuda/portable.cuh"
#include "device/hit_ops.h"

static const uint32_t HIT_CONTAINER = 256; /* places of a bitmap */
static const uint32_t HIT_QUARTERS = 4;    /* of a bitmap: the unit that a warp adds at once */

/* The elements of one form that an entry has in a tile: a part of a stretch. */
struct hit_range {
    uint32_t first, n;
};

/* A range, and the weight that it adds to its places. */
struct weighted_range {
    hit_range elements;
    uint32_t form, weight;
};

/* Count how many of n ascending values, `stride` apart, are less than `least`. */
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

/*
 * Return the stretch of an entry in a window, or n_stretches. Windows ascend, so an entry with stretches in all windows
 * takes one look.
 */
__device__ __forceinline__ uint32_t stretch_of(const thr_device_hits &hits, const thr_hit_entry &entry,
                                               uint32_t window) {
    const uint8_t *windows = hits.stretch_windows + entry.first_stretch;
    const uint32_t n = entry.n_stretches <= window ? entry.n_stretches : window + 1;
    if (windows[n - 1] <= window)
        return windows[n - 1] == window ? n - 1 : entry.n_stretches;
    const uint32_t stretch = count_less(windows, 1, n, window);
    return windows[stretch] == window ? stretch : entry.n_stretches;
}

/* Return the elements of an entry that overlap a tile, as indices into the arrays of its form. */
__device__ __forceinline__ hit_range find_range(const thr_device_hits &hits, const thr_hit_entry &entry,
                                                uint32_t tile) {
    if (entry.form == THR_HIT_ONE)
        return {entry.first_stretch, entry.first_stretch / THR_HIT_TILE == tile ? 1u : 0u};
    const uint32_t tiles_a_window = THR_HIT_WINDOW / THR_HIT_TILE, start = tile % tiles_a_window * THR_HIT_TILE;
    const uint32_t stretch = stretch_of(hits, entry, tile / tiles_a_window);
    if (stretch == entry.n_stretches)
        return {0, 0};
    const uint32_t begin = hits.stretch_begins[entry.first_stretch + stretch];
    const uint32_t n = hits.stretch_sizes[entry.first_stretch + stretch] + 1u;
    uint32_t first, end;
    if (entry.form == THR_HIT_PLACES) {
        first = count_less(hits.places + begin, 1, n, start);
        end = count_less(hits.places + begin, 1, n, start + THR_HIT_TILE);
    } else if (entry.form == THR_HIT_BITMAPS) {
        first = count_less(hits.bitmap_containers + begin, 1, n, start / HIT_CONTAINER);
        end = count_less(hits.bitmap_containers + begin, 1, n, (start + THR_HIT_TILE) / HIT_CONTAINER);
    } else {
        const uint16_t *runs = hits.runs + 2 * (size_t)begin;
        first = count_less(runs, 2, n, start);
        end = count_less(runs, 2, n, start + THR_HIT_TILE);
        first -=
            /* the run before extends into the tile */
            first > 0 && runs[2 * first - 2] + (uint32_t)runs[2 * first - 1] >= start;
    }
    return {begin + first, end > first ? end - first : 0};
}

/* Return how many steps of a warp a range takes. */
__device__ __forceinline__ uint32_t range_steps(uint32_t form, uint32_t n) {
    return form == THR_HIT_BITMAPS ? n * HIT_QUARTERS : THR_CEIL_DIV(n, THR_WARP);
}

/*
 * Process one step of a range with all lanes: 32 places; 32 runs, as changes at their first places and after their
 * last ones; or a quarter of a bitmap, adjacent lanes handling adjacent places. start: the tile's first place in its
 * window.
 */
template <typename Places>
__device__ __forceinline__ void add_range_step(const thr_device_hits &hits, const weighted_range &what, uint32_t step,
                                               uint32_t start, uint32_t lane, Places &places) {
    const hit_range range = what.elements;
    const uint32_t form = what.form, weight = what.weight;
    if (form == THR_HIT_BITMAPS) {
        const uint32_t element = range.first + step / HIT_QUARTERS, quarter = step % HIT_QUARTERS;
        const uint32_t *words = hits.bitmaps + (size_t)element * THR_HIT_BITMAP_WORDS + 2 * quarter;
        const uint32_t at = hits.bitmap_containers[element] * HIT_CONTAINER - start + 64 * quarter;
        if (at >= THR_HIT_TILE)
            return;
        for (uint32_t half = 0; half < 2; half++)
            if ((words[half] >> lane & 1) != 0)
                atomicAdd(&places[at + 32 * half + lane], weight);
        return;
    }
    const uint32_t i = step * THR_WARP + lane;
    if (i >= range.n)
        return;
    if (form == THR_HIT_ONE) {
        atomicAdd(&places[range.first % THR_HIT_TILE], weight);
        return;
    }
    if (form == THR_HIT_PLACES) {
        const uint32_t at = (uint32_t)hits.places[range.first + i] - start;
        if (at < THR_HIT_TILE)
            atomicAdd(&places[at], weight);
        return;
    }
    const uint16_t *run = hits.runs + 2 * ((size_t)range.first + i);
    const uint32_t from = run[0] > start ? run[0] - start : 0, to = run[0] + run[1] + 1u - start;
    if (from >= THR_HIT_TILE)
        return;
    atomicAdd(&places[from], weight);
    if (to < THR_HIT_TILE)
        atomicAdd(&places[to], 0u - weight);
}
