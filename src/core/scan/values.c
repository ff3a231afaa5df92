/* SPDX-License-Identifier: Apache-2.0 */
/*
 * values.c - computes values from scores and sums of hits. A candidate carries its sum, so that no sum is looked up
 * twice. The sum is in the candidate's `distance`; until a nested code is rescored, which needs the distance, it is in
 * the low 32 bits of `row`, with the row above it. With hits rows are below 2^32, so candidates keep their order.
 */
#include "scan/values.h"

void thr_scan_values_load(const thr_scan_query *query, thr_lane *lane, uint64_t row) {
    const thr_scan_hits *hits = query->corpus->hits;
    const uint32_t window = (uint32_t)(row / THR_HITS_WINDOW_ROWS);
    if (lane->sums != NULL && lane->window == window)
        return;
    lane->sums = hits->window(hits->arg, lane->number, window);
    lane->window = window;
}

/* Replace n values s by 1 / (1 + exp(-s)). */
static void sigmoids(const thr_kernels *kernels, float *s, size_t n) {
    for (size_t i = 0; i < n; i++)
        s[i] = -s[i];
    kernels->exp_f32(s, s, n);
    for (size_t i = 0; i < n; i++)
        s[i] = 1 / (1 + s[i]);
}

uint64_t thr_scan_values_of_block(const thr_scan_query *query, thr_lane *lane, uint64_t first, float gain, float bias,
                                  float *scores) {
    static const int32_t no_sums[THR_BLOCK_ITEMS];
    const thr_scan_hits *hits = query->corpus->hits;
    const thr_kernels *kernels = query->kernels;
    const float *multipliers = hits->multipliers == NULL ? NULL : hits->multipliers + first;
    const float *offsets = hits->offsets == NULL ? NULL : hits->offsets + first;
    const float threshold = lane->collector.threshold;
    thr_value_line line = {gain, bias, query->unit};
    thr_scan_values_load(query, lane, first);
    const int32_t *sums = lane->sums + first % THR_HITS_WINDOW_ROWS;
    if (!hits->sigmoid)
        return kernels->screen_values(scores, sums, &line, multipliers, offsets, threshold);
    (void)kernels->screen_values(scores, sums, &line, NULL, NULL, threshold);
    sigmoids(kernels, scores, THR_BLOCK_ITEMS);
    line = (thr_value_line){1, 0, 0};
    return kernels->screen_values(scores, no_sums, &line, multipliers, offsets, threshold);
}

float thr_scan_value(const thr_scan_query *query, const thr_candidate *item, float score) {
    const thr_scan_hits *hits = query->corpus->hits;
    float value = score + (float)(int32_t)item->distance * query->unit;
    if (hits->sigmoid)
        sigmoids(query->kernels, &value, 1);
    if (hits->multipliers != NULL)
        value *= hits->multipliers[item->row];
    if (hits->offsets != NULL)
        value += hits->offsets[item->row];
    return value;
}

void thr_scan_values_push(thr_lane *lane, uint64_t first, uint64_t mask, const float *values,
                          const uint32_t *distances) {
    thr_select_collector_reserve(&lane->collector);
    for (; mask != 0; mask &= mask - 1) {
        const uint32_t i = (uint32_t)__builtin_ctzll(mask);
        const uint32_t sum = thr_values_row(lane, first + i).distance;
        if (distances == NULL)
            thr_collector_push(&lane->collector, first + i, values[i], sum);
        else
            thr_collector_push(&lane->collector, (first + i) << 32 | sum, values[i], distances[i]);
    }
}
