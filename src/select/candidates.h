/* SPDX-License-Identifier: Apache-2.0 */
/*
 * candidates.h - keeping the best of a stream of scored rows.
 *
 * One order everywhere: larger score first, among equal scores the smaller row. A collector keeps the `wanted` best,
 * or, with a margin, all whose score is at least (the wanted-th best score) - margin (XFBQ 3.6). It keeps them in a
 * buffer a few times larger and throws the rest away each time that is full, which raises the threshold new rows must
 * reach.
 */
#ifndef THR_SELECT_CANDIDATES_H
#define THR_SELECT_CANDIDATES_H

#include "base/memory.h"

typedef struct thr_candidate {
    uint64_t row;
    float score;       /* never NaN */
    uint32_t distance; /* of the leading planes, for the other planes to be added to */
} thr_candidate;

static inline bool thr_candidate_before(thr_candidate a, thr_candidate b) {
    return a.score > b.score || (a.score == b.score && a.row < b.row);
}

/* Put the first in order of items[0 .. n) at the front: afterwards items[0 .. first) are the first ones, unsorted. */
void thr_select_candidates_split(thr_candidate *items, size_t n, size_t first);

/* The same where the others are not needed any more: keep the first ones, return how many there are. */
size_t thr_select_candidates_keep(thr_candidate *items, size_t n, size_t first);

/* Sort into the one order. */
void thr_select_candidates_sort(thr_candidate *items, size_t n);

/* Rows may be offered in any order: a row whose score equals the threshold is kept until the exact order decides. */
typedef struct thr_collector {
    thr_context *context;
    thr_candidate *items;
    size_t capacity, n;
    size_t wanted;
    float margin;      /* 0: just the wanted best */
    float threshold;   /* rows below it need not be offered */
    thr_status status; /* THR_ENOMEM once a buffer could not grow */
} thr_collector;

/* Buffers are kept from use to use; set up by zeroing. */
void thr_select_collector_free(thr_collector *collector);

/* Begin a new stream with a first threshold (-INFINITY: none). wanted >= 1, margin >= 0. */
thr_status thr_select_collector_start(thr_collector *collector, thr_context *context, size_t wanted, float margin,
                                      float threshold, thr_error *err);

/* Make sure that 64 more rows fit, raising the threshold where that makes room. */
void thr_select_collector_reserve(thr_collector *collector);

/* After reserve: one row. */
static inline void thr_collector_push(thr_collector *collector, uint64_t row, float score, uint32_t distance) {
    collector->items[collector->n++] = (thr_candidate){row, score, distance};
}

/* Rows of one block of 64: bit i of mask stands for row first + i, scores[i] and distances[i] (NULL: 0). */
void thr_select_collector_push_block(thr_collector *collector, uint64_t first, uint64_t mask, const float *scores,
                                     const uint32_t *distances);

/* Append what other has collected. */
void thr_select_collector_merge(thr_collector *collector, const thr_collector *other);

/* Keep just what the stream's whole answer is. n says how many; unsorted. */
void thr_select_collector_finish(thr_collector *collector);

#endif
