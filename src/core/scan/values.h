/* SPDX-License-Identifier: Apache-2.0 */
/* values.h - item values from scores and sums of hits, for searches that have hits. */
#pragma once

#include "scan/job.h"

/*
 * Replace the scores of the 64 rows from `first` on by values; score = gain * scores[i] + bias. Return a bit for each
 * row whose value reaches the lane's threshold, including rows beyond the last item.
 */
uint64_t thr_scan_values_of_block(const thr_scan_query *query, thr_lane *lane, uint64_t first, float gain, float bias,
                                  float *scores);

/* The gain of score = gain * estimate + bias, for an estimate in the collector's units (impl.h). */
static inline float thr_values_gain(const thr_scan_query *query) {
    return thr_has_factors(query->corpus) ? 1 : query->norm > 0 ? query->code.gain : 0;
}

/*
 * Offer the rows of `mask` to the collector. distances NULL: codes are not nested, and candidates carry their sums in
 * the place of distances.
 */
void thr_scan_values_push(thr_lane *lane, uint64_t first, uint64_t mask, const float *values,
                          const uint32_t *distances);

/* A candidate for a row of the window whose sums the lane has, with its sum in the place of a distance. */
static inline thr_candidate thr_values_row(const thr_lane *lane, uint64_t row) {
    return (thr_candidate){row, 0, (uint32_t)lane->sums[row % THR_HITS_WINDOW_ROWS]};
}

/* Unpack a nested code's candidate: move its sum from the row to the distance, and return the distance. */
static inline uint32_t thr_values_unpack(thr_candidate *item) {
    const uint32_t distance = item->distance;
    item->distance = (uint32_t)item->row;
    item->row >>= 32;
    return distance;
}

/* The value of a candidate, which carries its sum, for a score. */
float thr_scan_value(const thr_scan_query *query, const thr_candidate *item, float score);

/* Load the sums of the window of a row into the lane. */
void thr_scan_values_load(const thr_scan_query *query, thr_lane *lane, uint64_t row);
