/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Add a batch's posting lists to sums in device memory, list by list (HitMatch algorithm 2).
 *
 * Work is balanced as in merge-based partitioning: the steps of an entry are its stretches' beginnings and their
 * elements in order, all entries are concatenated, and every thread takes an equal run of steps: one list of all items
 * and a thousand lists of one item take the same time a step. A thread finds its entry by binary search over the
 * entries' ends and its stretch by the stretches' beginnings, then walks. Adjacent threads have adjacent elements, so a
 * warp reads cache lines sequentially.
 *
 * A run of any length is two additions for each tile it touches: at its first place, and after its last one. The
 * consumer of the sums adds up these changes (cuda/lists/tiles.cu).
 */
#include "base/minmax.h"
#include "cuda/backend.cuh"

enum { LIST_THREADS = 256, LIST_STEPS = 16, LIST_BLOCKS_A_SM = 8 };

/* Return the number of steps of a stretch's elements. */
__device__ __forceinline__ uint64_t steps_of(uint32_t form, uint32_t n_elements) {
    return form == THR_HIT_BITMAPS ? (uint64_t)n_elements * THR_HIT_BITMAP_STEPS : n_elements;
}

/* Return the step at which a stretch begins in its entry; each stretch before it takes an additional step. */
__device__ __forceinline__ uint64_t stretch_step(const thr_device_hits &hits, const thr_hit_entry &entry,
                                                 uint32_t stretch) {
    const uint32_t before =
        hits.stretch_begins[entry.first_stretch + stretch] - hits.stretch_begins[entry.first_stretch];
    return stretch + steps_of(entry.form, before);
}

/* Return the stretch that contains a step: the last one that begins at or before it. */
__device__ __forceinline__ uint32_t stretch_at(const thr_device_hits &hits, const thr_hit_entry &entry, uint64_t step) {
    uint32_t low = 0, high = entry.n_stretches;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (stretch_step(hits, entry, middle) <= step)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Return the first entry that ends after a step. */
__device__ __forceinline__ uint32_t entry_at(const thr_hit_lists_op &op, uint64_t step) {
    uint32_t low = 0, high = op.n_entries;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (op.entries[middle].end <= step)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Add a run tile by tile, so that every tile contains its own changes. */
__device__ __forceinline__ void add_run(int32_t *changes, uint32_t start, uint32_t end, int32_t weight) {
    for (uint32_t at = start; at < end;) {
        const uint32_t tile_end = (at / THR_HIT_TILE + 1) * THR_HIT_TILE;
        atomicAdd(changes + at, weight);
        if (end < tile_end)
            atomicAdd(changes + end, -weight);
        at = tile_end;
    }
}

/* Process step s after the beginning of a stretch whose first element is `begin`; sums and changes are the window's. */
__device__ __forceinline__ void add_step_of(const thr_device_hits &hits, const thr_hit_entry &entry, uint32_t begin,
                                            uint32_t s, int32_t *sums, int32_t *changes) {
    if (entry.form == THR_HIT_PLACES) {
        atomicAdd(sums + hits.places[begin + s], entry.weight);
    } else if (entry.form == THR_HIT_RUNS) {
        const uint16_t *run = hits.runs + 2 * ((size_t)begin + s);
        add_run(changes, run[0], run[0] + run[1] + 1u, entry.weight);
    } else {
        const uint32_t element = begin + s / THR_HIT_BITMAP_STEPS, at = s % THR_HIT_BITMAP_STEPS;
        const uint32_t word = hits.bitmaps[(size_t)element * THR_HIT_BITMAP_WORDS + at / 2];
        int32_t *places = sums + hits.bitmap_containers[element] * 256u + at * 16;
        for (uint32_t bits = word >> at % 2 * 16 & 0xffffu; bits != 0; bits &= bits - 1)
            atomicAdd(places + __ffs((int)bits) - 1, entry.weight);
    }
}

/* Process steps [step, end) of an entry. */
__device__ __forceinline__ void add_steps(const thr_hit_lists_op &op, const thr_hit_entry &entry, uint64_t step,
                                          uint64_t end) {
    const thr_device_hits &hits = op.hits;
    if (entry.form == THR_HIT_ONE) {
        atomicAdd(op.sums + entry.query * op.n_sums + entry.first_stretch, entry.weight);
        return;
    }
    for (uint32_t stretch = stretch_at(hits, entry, step); step < end; stretch++) {
        const uint32_t p = entry.first_stretch + stretch, begin = hits.stretch_begins[p];
        const uint64_t first = stretch_step(hits, entry, stretch) + 1; /* after the stretch's own step */
        const uint64_t last = first + steps_of(entry.form, hits.stretch_sizes[p] + 1u);
        const size_t window = entry.query * op.n_sums + (size_t)hits.stretch_windows[p] * THR_HIT_WINDOW;
        int32_t *changes = op.changes == nullptr ? nullptr : op.changes + window;
        for (step = THR_MAX(first, step); step < end && step < last; step++)
            add_step_of(hits, entry, begin, (uint32_t)(step - first), op.sums + window, changes);
    }
}

static __global__ void __launch_bounds__(LIST_THREADS) add_lists(const thr_hit_lists_op op) {
    const uint64_t n_threads = (uint64_t)gridDim.x * LIST_THREADS;
    for (uint64_t at = ((uint64_t)blockIdx.x * LIST_THREADS + threadIdx.x) * LIST_STEPS; at < op.n_steps;
         at += n_threads * LIST_STEPS) {
        const uint64_t end = THR_MIN(at + LIST_STEPS, op.n_steps);
        uint64_t step = at;
        for (uint32_t e = entry_at(op, at); step < end; e++) {
            const thr_hit_entry entry = op.entries[e];
            const uint64_t before = e == 0 ? 0 : op.entries[e - 1].end, stop = THR_MIN(entry.end, end);
            add_steps(op, entry, step - before, stop - before);
            step = stop;
        }
    }
}

thr_status thr_cuda_hit_lists(thr_stream *stream, const thr_hit_lists_op *op, thr_error *err) {
    const uint32_t n_blocks = loop_blocks(stream, op->n_steps, LIST_THREADS * LIST_STEPS, LIST_BLOCKS_A_SM);
    return THR_RUN(add_lists, n_blocks, LIST_THREADS, stream, "adding posting lists", err, *op);
}
