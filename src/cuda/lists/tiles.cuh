/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tiles.cuh - process a tile of places with one block: sums in shared memory, values, and selection of the tile's
 * best. Nothing proportional to the catalogue is written.
 *
 * The lists' elements in a tile are divided evenly: every thread finds one entry's range there, a prefix sum adds
 * up the steps of all ranges, and every warp takes an equal run of steps (stretches.cuh). Runs are processed first,
 * as changes, which are then summed from the tile's first place to its last; so a run takes the same time whatever
 * its length.
 *
 * Sums are integers: threads may add in any order. Values overwrite the sums, so a tile needs its 32 KiB only once.
 *
 * A tile of places contains 64 tiles of codes (cuda/tiles.cuh). The template parameter Dense provides an item's dense
 * score: no_dense has none, dense.cu computes that of codes.
 */
#pragma once

#include "base/minmax.h"
#include "cuda/lists/stretches.cuh"
#include "cuda/keys.cuh"
#include "cuda/rank/rank.cuh"
#include "cuda/sum_up.cuh"
#include "kernel/elementwise.h"
#include "select/sampled_threshold.h"

static const uint32_t TILE_THREADS = RANK_THREADS, TILE_WARPS = TILE_THREADS / THR_WARP;
static const uint32_t OWN = THR_HIT_TILE / TILE_THREADS; /* places per thread */
static const uint32_t GROUP = 4;                         /* of which this many are adjacent */
static const uint32_t WORK = 3 * TILE_THREADS;           /* ends, firsts and sizes of ranges; or the bins of a rank */
static const uint32_t NOBODY = 0xffffffff;               /* marks a filtered place: the bits of a NaN */

static_assert(WORK >= RANK_BINS && OWN % GROUP == 0, "places and bins have room");

/* Indices of the words that a block's threads share. */
enum { REACHED, FIRST, TAKEN, N_COUNTERS };

/* Add up to TILE_THREADS entries to a tile. */
template <typename Places, typename Work, typename Totals>
__device__ __forceinline__ void add_entries(const thr_hit_tiles_op &op, const thr_hit_entry *entries, uint32_t n,
                                            uint32_t tile, Places &places, Work &work, Totals &totals) {
    const uint32_t lane = threadIdx.x % THR_WARP, warp = threadIdx.x / THR_WARP, t = threadIdx.x;
    const uint32_t start = tile % (THR_HIT_WINDOW / THR_HIT_TILE) * THR_HIT_TILE;
    hit_range own = {0, 0};
    uint32_t own_steps = 0;
    if (t < n) {
        own = find_range(op.hits, entries[t], tile);
        own_steps = range_steps(entries[t].form, own.n);
    }
    work[t] = sum_up(own_steps, totals);
    work[TILE_THREADS + t] = own.first;
    work[2 * TILE_THREADS + t] = own.n;
    __syncthreads();
    const uint32_t n_steps = work[TILE_THREADS - 1], end = (uint32_t)((uint64_t)n_steps * (warp + 1) / TILE_WARPS);
    uint32_t step = (uint32_t)((uint64_t)n_steps * warp / TILE_WARPS), e = 0,
             last = n; /* e: the first entry that ends after this step */
    while (e < last) {
        const uint32_t middle = e + (last - e) / 2;
        if (work[middle] <= step)
            e = middle + 1;
        else
            last = middle;
    }
    for (; step < end; e++) {
        const weighted_range range = {
            {work[TILE_THREADS + e], work[2 * TILE_THREADS + e]}, entries[e].form, (uint32_t)entries[e].weight};
        const uint32_t before = e == 0 ? 0u : work[e - 1], entry_end = work[e], stop = THR_MIN(entry_end, end);
        for (; step < stop; step++)
            add_range_step(op.hits, range, step - before, start, lane, places);
    }
    __syncthreads();
}

template <typename Places, typename Work, typename Totals>
__device__ __forceinline__ void add_all(const thr_hit_tiles_op &op, uint32_t first, uint32_t n, uint32_t tile,
                                        Places &places, Work &work, Totals &totals) {
    for (uint32_t done = 0; done < n; done += TILE_THREADS)
        add_entries(op, op.entries + first + done, THR_MIN(n - done, TILE_THREADS), tile, places, work, totals);
}

/* Prefix-sum the changes. */
template <typename Places, typename Totals>
__device__ __forceinline__ void add_changes_up(Places &places, Totals &totals) {
    uint32_t own = 0;
    for (uint32_t i = 0; i < OWN; i++)
        own += places[threadIdx.x * OWN + i];
    uint32_t sum = sum_up(own, totals) - own;
    for (uint32_t i = 0; i < OWN; i++) {
        sum += places[threadIdx.x * OWN + i];
        places[threadIdx.x * OWN + i] = sum;
    }
    __syncthreads();
}

/* Compute a tile's sums for a query. */
template <typename Places, typename Work, typename Totals>
__device__ __forceinline__ void find_sums(const thr_hit_tiles_op &op, uint32_t q, uint32_t tile, Places &places,
                                          Work &work, Totals &totals) {
    const thr_hit_device_query query = op.queries[q];
    const size_t first = q * op.n_sums + (size_t)tile * THR_HIT_TILE;
    const bool far = op.sums != nullptr;
    for (uint32_t i = threadIdx.x; i < THR_HIT_TILE; i += TILE_THREADS)
        places[i] = far && query.n_runs > 0 ? (uint32_t)op.changes[first + i] : 0u;
    __syncthreads();
    if (!far)
        add_all(op, query.first, query.n_runs, tile, places, work, totals);
    if (query.n_runs > 0)
        add_changes_up(places, totals);
    if (!far)
        add_all(op, query.first + query.n_runs, query.n - query.n_runs, tile, places, work, totals);
    for (uint32_t i = threadIdx.x; far && i < THR_HIT_TILE; i += TILE_THREADS)
        places[i] += (uint32_t)op.sums[first + i];
    __syncthreads();
}

struct no_dense {
    static const bool THERE = false;
    __device__ __forceinline__ void find(uint32_t, uint32_t, float (&)[GROUP]) const {}
};

/* Compute a value as find_values in lists/search_lists.c does: sigmoid, multiplier, offset. */
__device__ __forceinline__ float value_of(const thr_hit_tiles_op &op, float score, uint32_t place) {
    float value = op.sigmoid ? 1.0f / (1.0f + thr_kernel_exp_one(-score)) : score;
    if (op.multipliers != nullptr)
        value *= op.multipliers[place];
    if (op.offsets != nullptr)
        value += op.offsets[place];
    return value;
}

__device__ __forceinline__ uint32_t row_of(const thr_device_hits &hits, uint32_t place) {
    return hits.rows == nullptr ? place : hits.rows[place];
}

/* Return GROUP bits: which places from `first` on have an item that passes the filter. */
__device__ __forceinline__ uint32_t items_of(const thr_hit_tiles_op &op, uint32_t first) {
    if (first >= op.hits.n_items)
        return 0;
    const uint32_t left = op.hits.n_items - first, there = left >= GROUP ? (1u << GROUP) - 1 : (1u << left) - 1;
    return op.filter == nullptr ? there : there & (uint32_t)(op.filter[first / 64] >> first % 64);
}

/* Return the first place of a thread's j-th GROUP in a tile: a warp has 32 adjacent groups. */
__device__ __forceinline__ uint32_t group_of(uint32_t j) {
    return j * TILE_THREADS * GROUP + threadIdx.x * GROUP;
}

/* Replace the sums by values, or by NOBODY. */
template <typename Dense, typename Places>
__device__ __forceinline__ void find_values(const thr_hit_tiles_op &op, uint32_t q, uint32_t tile, const Dense &dense,
                                            Places &places) {
    const double unit = op.queries[q].unit;
    for (uint32_t j = 0; j < OWN / GROUP; j++) {
        const uint32_t group = group_of(j), first = tile * THR_HIT_TILE + group, there = items_of(op, first);
        float scores[GROUP] = {};
        dense.find(first / (GROUP * THR_WARP), threadIdx.x % THR_WARP, scores);
        for (uint32_t i = 0; i < GROUP; i++) {
            uint32_t bits = NOBODY;
            if ((there >> i & 1) != 0) {
                const float sum = (float)((double)(int32_t)(uint32_t)places[group + i] * unit);
                const float value = value_of(op, Dense::THERE ? scores[i] + sum : sum, first + i);
                if (fabsf(value) <= 3.402823466e38f)
                    bits = __float_as_uint(value);
                else
                    atomicMax(op.bad_rows + q, ~row_of(op.hits, first + i));
            }
            places[group + i] = bits;
        }
    }
}

/* Return whether the item with these value bits has a key of at least `least`. Reads its row only if that decides. */
__device__ __forceinline__ bool reaches(const thr_device_hits &hits, uint32_t bits, uint32_t place, uint64_t least) {
    if (bits == NOBODY)
        return false;
    const uint32_t order = thr_device_score_order(bits), needed = thr_device_key_order(least);
    return order > needed || (order == needed && thr_device_key_make(order, row_of(hits, place)) >= least);
}

/* Count a thread's items that reach a key. */
template <typename Places>
__device__ __forceinline__ uint32_t count_reached(const thr_device_hits &hits, uint32_t tile, uint64_t least,
                                                  Places &places) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < OWN; i++) {
        const uint32_t at = group_of(i / GROUP) + i % GROUP;
        n += reaches(hits, places[at], tile * THR_HIT_TILE + at, least) ? 1 : 0;
    }
    return n;
}

/* A tile, and the query it is processed for. */
struct query_tile {
    uint32_t q, tile;
};

/* Select the best of the items whose key is at least `least` and append them to the query's items. */
template <typename Places, typename Work, typename Words, typename Counters>
__device__ __forceinline__ void emit_best(const thr_hit_tiles_op &op, const query_tile &where, uint64_t least,
                                          Places &places, Work &work, Words &words, Counters &counters) {
    const uint32_t q = where.q, tile = where.tile;
    const uint32_t first = tile * THR_HIT_TILE;
    uint32_t own = count_reached(op.hits, tile, least, places);
    if (own > 0)
        atomicAdd(&counters[REACHED], own);
    __syncthreads();
    uint32_t n = counters[REACHED];
    if (n == 0)
        return;
    if (n > op.wanted) {
        const auto key = [&places, &op, first](uint32_t i) {
            const uint32_t bits = places[i];
            return bits == NOBODY ? (uint64_t)0
                                  : thr_device_key_make(thr_device_score_order(bits), row_of(op.hits, first + i));
        };
        n = op.wanted;
        least = key_of_rank(key, (uint32_t)THR_HIT_TILE, n, work, words);
        own = count_reached(op.hits, tile, least, places);
        if (threadIdx.x == 0)
            atomicMax((unsigned long long *)op.thresholds + q, (unsigned long long)least);
    }
    if (threadIdx.x == 0)
        counters[FIRST] = atomicAdd(op.counts + q, n);
    __syncthreads();
    if (own == 0)
        return;
    uint32_t at = counters[FIRST] + atomicAdd(&counters[TAKEN], own);
    for (uint32_t i = 0; i < OWN; i++) {
        const uint32_t own_place = group_of(i / GROUP) + i % GROUP, bits = places[own_place];
        if (!reaches(op.hits, bits, first + own_place, least))
            continue;
        if (at < op.capacity)
            op.items[(size_t)q * op.capacity + at] = {
                thr_device_key_make(thr_device_score_order(bits), row_of(op.hits, first + own_place)), bits, 0};
        at++;
    }
}

template <typename Places>
__device__ __forceinline__ void keep_sample(const thr_hit_tiles_op &op, uint32_t q, uint32_t at, Places &places) {
    const uint32_t apart = THR_HIT_TILE / THR_HIT_SAMPLE;
    uint32_t *samples = op.samples + ((size_t)q * op.n_samples + at) * THR_HIT_SAMPLE;
    for (uint32_t i = threadIdx.x; i < THR_HIT_SAMPLE; i += TILE_THREADS) {
        const uint32_t bits = places[i * apart + i % apart]; /* varies the offset within groups */
        samples[i] = bits == NOBODY ? 0 : thr_device_score_order(bits);
    }
}

/* Process a block's tile for its query: the body of both kernels. */
template <typename Dense> __device__ __forceinline__ void score_tile(const thr_hit_tiles_op &op, const Dense &dense) {
    THR_SHARED(uint32_t, places, THR_HIT_TILE);
    THR_SHARED(uint32_t, work, WORK);
    THR_SHARED(uint32_t, totals, TILE_WARPS);
    THR_SHARED(uint32_t, words, RANK_WORDS);
    THR_SHARED(uint32_t, counters, N_COUNTERS);
    THR_SHARED(uint64_t, threshold, 1);
    const uint32_t n_tiles = thr_device_hit_tiles_of(op.hits.n_items),
                   n = op.samples != nullptr ? op.n_samples : n_tiles;
    const uint32_t q = blockIdx.x / n, at = blockIdx.x % n;
    const uint32_t tile = op.samples != nullptr ? (uint32_t)thr_select_sample_place(at, n, n_tiles) : at;
    if (threadIdx.x < N_COUNTERS)
        counters[threadIdx.x] = 0;
    find_sums(op, q, tile, places, work, totals);
    find_values(op, q, tile, dense, places);
    /*
     * Other blocks raise the threshold concurrently. One thread reads it with an atomic maximum with 0, which does
     * not change it.
     */
    if (threadIdx.x == 0 && op.samples == nullptr)
        threshold[0] = atomicMax((unsigned long long *)op.thresholds + q, 0ull);
    __syncthreads();
    if (op.samples != nullptr)
        keep_sample(op, q, at, places);
    else
        emit_best(op, {q, tile}, threshold[0], places, work, words, counters);
}

/* Return the number of blocks to launch. */
static inline uint32_t tile_blocks(const thr_hit_tiles_op *op) {
    return op->n_queries * (op->samples != nullptr ? op->n_samples : thr_device_hit_tiles_of(op->hits.n_items));
}
