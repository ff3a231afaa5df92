/* SPDX-License-Identifier: Apache-2.0 */
/* merge_policy.c - decides which segments are rewritten. */
#include "base/minmax.h"
#include "index/change/merge_policy.h"

enum { LEVEL_FACTOR = 8, LEAST_LEVEL_ITEMS = 512, REMOVED_DIVISOR = 6 /* more than a sixth */ };

/* The smallest power of LEVEL_FACTOR, times LEAST_LEVEL_ITEMS, above the number of items. */
static uint64_t level_end(uint32_t n_items) {
    uint64_t end = LEAST_LEVEL_ITEMS;
    while (end <= n_items)
        end *= LEVEL_FACTOR;
    return end;
}

/* Whether the segments before `end`, back to the nearest one of a higher level, are a run that rule 1 merges. */
static bool is_run(const thr_segment_size *segments, uint64_t most_items, uint32_t end, uint32_t *first) {
    const uint64_t level = level_end(segments[end - 1].n_items);
    uint64_t n_live = 0;
    for (*first = end; *first > 0 && segments[*first - 1].n_items < level; (*first)--)
        n_live += segments[*first - 1].n_live;
    return end - *first >= LEVEL_FACTOR && THR_CEIL_DIV(n_live, most_items) * 2 <= end - *first;
}

bool thr_index_merge_choose(const thr_segment_size *segments, uint32_t n, uint64_t most_items, uint32_t *first,
                            uint32_t *end) {
    bool any_live = false;
    for (uint32_t i = 0; i < n; i++)
        any_live = any_live || segments[i].n_live > 0;
    for (*end = n; any_live && *end >= LEVEL_FACTOR; (*end)--)
        if (is_run(segments, most_items, *end, first))
            return true;
    for (uint32_t i = 0; i < n && any_live; i++)
        if ((uint64_t)(segments[i].n_items - segments[i].n_live) * REMOVED_DIVISOR > segments[i].n_items) {
            *first = i;
            *end = i + 1;
            return true;
        }
    return false;
}
