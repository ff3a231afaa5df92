/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge_policy.h - decides which segments are written again.
 *
 * 1. A segment more than a sixth of whose items are removed: so an index takes at most 1.2 times the space of its
 *    items.
 * 2. Eight or more neighbouring segments that are smaller than the end of the last one's level, a power of eight: so an
 *    item is written at most once per level, log8 of the number of items, and a level has at most seven segments. Later
 *    runs are chosen first. A run that would not become half as many segments, because they are nearly full, stays.
 */
#ifndef THR_INDEX_CHANGE_MERGE_POLICY_H
#define THR_INDEX_CHANGE_MERGE_POLICY_H

#include <stdbool.h>
#include <stdint.h>

typedef struct thr_segment_size {
    uint32_t n_items, n_live; /* n_live: not removed */
} thr_segment_size;

/*
 * Find a run of segments [*first, *end) of n >= 1 to write again; false if there is none. Segments without a live item
 * are a run, unless no segment has one. A segment has at most most_items.
 */
bool thr_index_merge_choose(const thr_segment_size *segments, uint32_t n, uint64_t most_items, uint32_t *first,
                            uint32_t *end);

#endif
