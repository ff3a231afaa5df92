/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emit.cuh - appends a warp's rows that reach a query's threshold to the query's items.
 *
 * Op has the members thresholds, items, counts and capacity of thr_screen_op.
 */
#pragma once

#include "cuda/tiles.cuh"

/* Append a lane's hits to the items. All lanes must call it together. */
template <typename Op>
__device__ __forceinline__ void emit(const Op &op, const thr_device_codes &codes, uint32_t q, const lane_tile &own,
                                     uint32_t hits, const uint32_t (&distances)[LANE_ITEMS],
                                     const float (&scores)[LANE_ITEMS]) {
    uint32_t before = (uint32_t)__popc(hits);
    for (uint32_t step = 1; step < THR_WARP; step *= 2) {
        const uint32_t other = __shfl_up_sync(THR_ALL_LANES, before, step);
        before += own.lane >= step ? other : 0;
    }
    uint32_t first = 0;
    if (own.lane == THR_WARP - 1)
        first = atomicAdd(op.counts + q, before);
    uint32_t place = __shfl_sync(THR_ALL_LANES, first, THR_WARP - 1) + before - (uint32_t)__popc(hits);
    for (uint32_t i = 0; i < LANE_ITEMS; i++)
        if ((hits >> i & 1) != 0) {
            if (place < op.capacity) {
                const uint32_t item = own.tile * THR_DEVICE_TILE + LANE_ITEMS * own.lane + i;
                op.items[(size_t)q * op.capacity + place] = {key_of(codes, scores[i], item), __float_as_uint(scores[i]),
                                                             distances[i]};
            }
            place++;
        }
}

/* Append those of a lane's hits that reach the query's threshold. All lanes must call it together. */
template <typename Op>
__device__ __forceinline__ void
emit_reached(const Op &op, const thr_device_codes &codes, uint32_t q, const lane_tile &own, uint32_t hits,
             const uint32_t (&distances)[LANE_ITEMS], const float (&scores)[LANE_ITEMS]) {
    const uint64_t threshold = op.thresholds[q];
    if (__any_sync(THR_ALL_LANES, hits != 0) == 0)
        return;
    /* Among equal scores, keep smaller items. */
    for (uint32_t i = 0; i < LANE_ITEMS; i++)
        if ((hits >> i & 1) != 0 &&
            key_of(codes, scores[i], own.tile * THR_DEVICE_TILE + LANE_ITEMS * own.lane + i) < threshold)
            hits &= ~(1u << i);
    if (__any_sync(THR_ALL_LANES, hits != 0) != 0)
        emit(op, codes, q, own, hits, distances, scores);
}

/* Score a lane's items, and append those that reach the query's threshold. All lanes must call it together. */
template <uint32_t PLANES, typename Op, typename Scan>
__device__ __forceinline__ void let_through(const Op &op, const Scan &scan, const thr_device_query &query, uint32_t q,
                                            const lane_tile &own, const uint32_t (&distances)[LANE_ITEMS],
                                            const lane_numbers &numbers) {
    float scores[LANE_ITEMS];
    const uint32_t hits =
        score_items<PLANES>(scan, query, own, distances, numbers, least_score(op.thresholds[q]), scores);
    emit_reached(op, scan.codes, q, own, hits, distances, scores);
}
