/* SPDX-License-Identifier: Apache-2.0 */
/* estimate.h - estimates of the scores of a block's items, for the screen. */
#pragma once

#include "scan/job.h"

/*
 * With origins: the query's estimates of the latest origin's items as a line in their distances, and the base to add.
 * Kept from block to block of one segment.
 */
typedef struct thr_origin_line {
    uint32_t origin; /* number in the segment; UINT32_MAX: none yet */
    float base;
    thr_score_line line;
} thr_origin_line;

static inline thr_origin_line thr_origin_line_none(void) {
    return (thr_origin_line){.origin = UINT32_MAX};
}

/*
 * Estimate the scores of all items of a block, in the collector's units. Returns the mask of those that reach the
 * threshold. With origins the scores of other items may stay unset. line may be NULL without origins.
 */
uint64_t thr_scan_estimate_block(const thr_scan_query *query, const uint32_t *distances, const thr_segment *segment,
                                 uint64_t block, float threshold, thr_origin_line *line, float *scores);
