/* SPDX-License-Identifier: Apache-2.0 */
/*
 * candidates.h - keep the top k of a stream of scored rows.
 *
 * There is one order everywhere: descending score, and ascending row among equal scores. A collector keeps the best
 * `wanted` rows. It collects into a buffer a few times larger, and prunes the buffer whenever it is full, which raises
 * the threshold for new rows.
 */
#pragma once

#include "base/memory.h"

typedef struct thr_candidate {
    uint64_t row;
    float score;       /* never NaN */
    uint32_t distance; /* by the leading planes; the other planes are added to it */
} thr_candidate;

static inline bool thr_candidate_before(thr_candidate a, thr_candidate b) {
    return a.score > b.score || (a.score == b.score && a.row < b.row);
}

/* Partition so that items[0 .. first) are the best `first` of items[0 .. n), unsorted. */
void thr_select_candidates_split(thr_candidate *items, size_t n, size_t first);

/* Keep only the best `first` items, unsorted, and return their number. The other items are overwritten. */
size_t thr_select_candidates_keep(thr_candidate *items, size_t n, size_t first);

/* Sort by descending score, then ascending row. */
void thr_select_candidates_sort(thr_candidate *items, size_t n);

/*
 * Collects rows that arrive in any order. A row whose score equals the threshold is kept, since its number may be
 * smaller than those of collected rows with that score. If rows ascend, it cannot be smaller, so of many equal rows
 * only the first are collected.
 */
typedef struct thr_collector {
    thr_context *context;
    thr_candidate *items;
    size_t capacity, n;
    size_t wanted;
    bool ascending;  /* the caller pushes rows in ascending order; set it after start */
    float threshold; /* rows that score below it need not be pushed */
} thr_collector;

/* Free the buffers, which are reused between streams. Initialise a collector with zeros. */
void thr_select_collector_free(thr_collector *collector);

/* Begin a stream with an initial threshold (-INFINITY: none). wanted >= 1. THR_OK; THR_ENOMEM. */
thr_status thr_select_collector_start(thr_collector *collector, thr_context *context, size_t wanted, float threshold,
                                      thr_error *err);

/* Make room for 64 more rows, pruning and raising the threshold if necessary. */
void thr_select_collector_reserve(thr_collector *collector);

/* Push one row; call reserve first. */
static inline void thr_collector_push(thr_collector *collector, uint64_t row, float score, uint32_t distance) {
    collector->items[collector->n++] = (thr_candidate){row, score, distance};
}

/* Push rows of one block of 64: bit i of mask selects row first + i with scores[i] and distances[i] (NULL: 0). */
void thr_select_collector_push_block(thr_collector *collector, uint64_t first, uint64_t mask, const float *scores,
                                     const uint32_t *distances);

/* Append the rows of another collector. */
void thr_select_collector_merge(thr_collector *collector, const thr_collector *other);

/* Reduce the buffer to the final answer: n rows, unsorted. */
void thr_select_collector_finish(thr_collector *collector);
