/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hit_ops.h - operations of a GPU backend that searches of posting lists are made of (lists/lists.h,
 * lists/search_lists.h). Plain structs; pointers are to device memory.
 *
 * Weights are whole multiples of a query's unit, and sums integers of 32 bits, so it does not matter in which order
 * threads add: an item's value has the same bits as on the CPU. Items stand in places, and places in windows of 65,536,
 * as in the lists; sums are added up in *tiles* of places, eight a window. The lists may hold any bytes that
 * thr_lists_check lets through: what they name stays within the sums.
 */
#ifndef THR_DEVICE_HIT_OPS_H
#define THR_DEVICE_HIT_OPS_H

#include "base/host_device.h"
#include "device/ops.h"

enum {
    THR_HIT_WINDOW = 65536,
    THR_HIT_TILE = 8192,       /* places; a tile's sums fit a block's shared memory */
    THR_HIT_SAMPLE = 1024,     /* of them in a sample */
    THR_HIT_BITMAP_WORDS = 8,  /* of 32 bits */
    THR_HIT_BITMAP_STEPS = 16, /* of 16 places */
    THR_HIT_IDS = 0,           /* the numbers of thr_lists_form */
    THR_HIT_RUNS = 1,
    THR_HIT_BITMAPS = 2,
    THR_HIT_ONE = 3 /* of an entry that is one place alone */
};

/* Posting lists as lists/lists.h has them, and where every part begins. */
typedef struct thr_device_hits {
    uint32_t n_items;
    const uint8_t *part_windows;
    const uint16_t *part_sizes;  /* elements, less one */
    const uint32_t *part_begins; /* the first element, in its form */
    const uint16_t *ids;
    const uint16_t *runs; /* two each */
    const uint8_t *bitmap_blocks;
    const uint32_t *bitmaps; /* THR_HIT_BITMAP_WORDS each */
    const uint32_t *rows;    /* of places; NULL: places are rows */
} thr_device_hits;

/* An entry of a query's feature; with THR_HIT_ONE first_part is its place, and n_parts 1. */
typedef struct thr_hit_entry {
    uint64_t end; /* its last step and one: the steps of all entries of a batch follow each other (thr_hit_lists_op) */
    uint32_t query, form;
    uint32_t first_part, n_parts; /* at least one part */
    int32_t weight;
    uint32_t zero; /* no padding has unknown bytes */
} thr_hit_entry;

/* Entries [first, first + n_runs) have runs, those from there to first + n have none. */
typedef struct thr_hit_device_query {
    double unit;
    uint32_t first, n_runs, n;
    uint32_t zero;
} thr_hit_device_query;

/*
 * List by list (HitMatch algorithm 2): what the entries of a batch add to sums[query * n_sums + place], n_sums being a
 * whole number of windows. Runs add to changes instead, in the same place: what the sums from there to the end of the
 * tile are more than those before. Both are 0 before; changes may be NULL where no entry has runs.
 *
 * A step of an entry is the beginning of a part, an id, a run, or 16 places of a bitmap; a place alone is one.
 */
typedef struct thr_hit_lists_op {
    thr_device_hits hits;
    const thr_hit_entry *entries;
    uint32_t n_entries; /* at least one */
    uint64_t n_steps;   /* of all: the last entry's end */
    uint64_t n_sums;
    int32_t *sums, *changes;
} thr_hit_lists_op;

/*
 * Tile by tile: the values of all items for all queries of a batch (lists/search_lists.h). Sums are added up here, or,
 * with sums given, they are what thr_hit_lists_op has left there.
 *
 * With samples: of n_samples tiles, evenly spaced, THR_HIT_SAMPLE values each, also evenly, of query q to
 * samples[q * THR_HIT_SAMPLE * n_samples]: the upper half of the keys, 0 for items that are not there or filtered out.
 *
 * Otherwise: of the items whose key is at least thresholds[q], every tile's `wanted` best to items[q * capacity], in no
 * order; counts[q] (0 before) says how many there are, which is never more than `wanted` a tile. Keys have the rows of
 * items. A tile that has more raises the threshold to the last of its best: fewer of those that are not among the best
 * of all are let through then.
 *
 * bad_rows[q] (0 before) becomes ~row of the smallest row of an item that may be found and whose value is not finite.
 */
typedef struct thr_hit_tiles_op {
    thr_device_hits hits;
    const thr_hit_entry *entries;
    const thr_hit_device_query *queries;
    uint32_t n_queries;
    uint64_t n_sums;
    const int32_t *sums, *changes;
    bool sigmoid;
    const float *multipliers, *offsets; /* by place; NULL: 1, and 0 */
    const uint64_t *filter;             /* bits by place, NULL: all */
    uint32_t *samples;
    uint32_t n_samples;
    uint64_t *thresholds;
    thr_device_item *items; /* distance 0 */
    uint32_t *counts, *bad_rows;
    uint32_t capacity, wanted; /* wanted at least 1 */
} thr_hit_tiles_op;

/*
 * The same with a dense score: a value is made of score gain + bias, with the score of an item's code as thr_screen_op
 * finds it, plus its sum as a float. Lists and codes have the same items in the same order (tiles.hits.rows is NULL, or
 * theirs), and one query each; the scan's filter is not used, that of the tiles is.
 */
typedef struct thr_hit_dense_op {
    thr_hit_tiles_op tiles;
    thr_device_scan scan;
    float gain, bias;
} thr_hit_dense_op;

/*
 * What goes on from there takes along what its value was made of. Of the items chosen[0] to chosen[*n_chosen - 1], at
 * most `wanted` of them, all of one query: the sum to sums, the distance of the code to the item. Items are told by
 * places: hits.rows is NULL.
 */
typedef struct thr_hit_terms_op {
    thr_device_hits hits;
    const thr_hit_entry *entries;
    const thr_hit_device_query *query;
    thr_device_scan scan; /* of one query */
    thr_device_item *chosen;
    const uint32_t *n_chosen;
    uint32_t wanted; /* at least 1 */
    int32_t *sums;
} thr_hit_terms_op;

THR_ANYWHERE uint32_t thr_device_hit_tiles_of(uint32_t n_items) {
    return (n_items + THR_HIT_TILE - 1) / THR_HIT_TILE;
}

#endif
