/* SPDX-License-Identifier: Apache-2.0 */
/* values.h - from scores and sums of hits to what items are ranked by, in searches that have hits. */
#ifndef THR_SCAN_VALUES_H
#define THR_SCAN_VALUES_H

#include "scan/worker.h"

/* Each of n_lanes lanes turns to query number `row`. */
thr_status thr_scan_values_begin(thr_scan_query *query, uint64_t row, thr_lane *lanes, size_t n_lanes, thr_error *err);

/*
 * scores of the 64 rows from `first` on become values; gain and bias make scores of what they are. Returns the rows
 * whose values reach the lane's threshold, also such as do not exist.
 */
uint64_t thr_scan_values_of_block(const thr_scan_query *query, thr_lane *lane, uint64_t first, float gain, float bias,
                                  float *scores);

/* What an estimate in the collector's units is multiplied by to be the user's score, less its bias. */
static inline float thr_values_gain(const thr_scan_query *query) {
    const thr_segment *segment = query->target->segments; /* the others have the same */
    const bool scaled = segment->factors != NULL || segment->records != NULL;
    return scaled ? 1 : query->norm > 0 ? query->code.gain : 0;
}

/* Offer rows of such a block. distances NULL: codes are not nested, and what waits for the exact score is the sum. */
void thr_scan_values_push(thr_lane *lane, uint64_t first, uint64_t mask, const float *values,
                          const uint32_t *distances);

/* A row of the block whose values were found last, its sum with it. */
static inline thr_candidate thr_values_row(const thr_lane *lane, uint64_t row) {
    return (thr_candidate){row, 0, (uint32_t)lane->sums[row % THR_HITS_WINDOW_ROWS]};
}

/* A nested code's candidate, as it was pushed: its sum takes the place of its distance, which is returned. */
static inline uint32_t thr_values_unpack(thr_candidate *item) {
    const uint32_t distance = item->distance;
    item->distance = (uint32_t)item->row;
    item->row >>= 32;
    return distance;
}

/* The value of a candidate with its sum, of a score. */
float thr_scan_value(const thr_scan_query *query, const thr_candidate *item, float score);

/* The lane's sums are those of the window of a row. */
void thr_scan_values_turn_to(const thr_scan_query *query, thr_lane *lane, uint64_t row);

#endif
