/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge_policy.h - decides which segments are rewritten.
 *
 * 1. A run of at least eight neighbouring segments, none of a higher level than the last of them. Level ends are 512,
 *    8 * 512, 64 * 512, ... items. So an item is written at most once per level, and a level has at most seven
 *    segments. The last run is chosen first. A run whose segments are nearly full, so that a merge would not
 *    halve their number, is left alone: of such segments a level may have any number.
 * 2. If there is no run: a segment of which more than a sixth of the items are removed. So an index takes at most 1.2
 *    times the space of its items.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct thr_segment_size {
    uint32_t n_items, n_live; /* n_live: not removed */
} thr_segment_size;

/*
 * Find a run of segments [*first, *end) of n >= 1 to write again; false if there is none, or if no segment has a live
 * item. A new segment has at most most_items.
 */
bool thr_index_merge_choose(const thr_segment_size *segments, uint32_t n, uint64_t most_items, uint32_t *first,
                            uint32_t *end);
