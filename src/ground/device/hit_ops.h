/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hit_ops.h - GPU backend operations for searches over posting lists (lists/lists.h, lists/search_lists.h). Plain
 * structs; pointers are to device memory.
 *
 * Weights are integer multiples of a query's unit, and sums are 32-bit integers, so the order in which threads add
 * does not matter: an item's value has the same bits as on the CPU. Items are numbered by place, and places form
 * windows of 65,536, as in the lists. Sums are computed in *tiles* of places, eight to a window. The lists may hold
 * any bytes that thr_lists_check_bounds accepts: all places they name are within the sums.
 */
#pragma once

#include "base/host_device.h"
#include "base/minmax.h"
#include "device/ops.h"

enum {
    THR_HIT_WINDOW = 65536,
    THR_HIT_TILE = 8192,       /* places; the sums of a tile fit in a block's shared memory */
    THR_HIT_SAMPLE = 1024,     /* places of a tile that a sample has */
    THR_HIT_BITMAP_WORDS = 8,  /* of 32 bits */
    THR_HIT_BITMAP_STEPS = 16, /* of 16 places */
    THR_HIT_PLACES = 0,        /* the numbers of thr_lists_form */
    THR_HIT_RUNS = 1,
    THR_HIT_BITMAPS = 2,
    THR_HIT_ONE = 3 /* the form of an entry that is a single place */
};

/* Posting lists in the layout of lists/lists.h, and where every stretch begins. */
typedef struct thr_device_hits {
    uint32_t n_items;
    const uint8_t *stretch_windows;
    const uint16_t *stretch_sizes;  /* elements less one */
    const uint32_t *stretch_begins; /* the stretch's first element, in the array of its form */
    const uint16_t *places;
    const uint16_t *runs; /* two numbers each */
    const uint8_t *bitmap_containers;
    const uint32_t *bitmaps; /* THR_HIT_BITMAP_WORDS each */
    const uint32_t *rows;    /* rows of places; NULL: places are rows */
} thr_device_hits;

/* An entry of a query's feature. For THR_HIT_ONE first_stretch is the place and n_stretches is 1. */
typedef struct thr_hit_entry {
    uint64_t end; /* one past its last step; the steps of a batch's entries are consecutive (thr_hit_lists_op) */
    uint32_t query, form;
    uint32_t first_stretch, n_stretches; /* at least one stretch */
    int32_t weight;
    uint32_t zero; /* explicit padding, so that no byte is undefined */
} thr_hit_entry;

/* Entries [first, first + n_runs) contain runs, the others up to first + n do not. */
typedef struct thr_hit_device_query {
    double unit;
    uint32_t first, n_runs, n;
    uint32_t zero;
} thr_hit_device_query;

/*
 * List by list (HitMatch algorithm 2): add the weights of a batch's entries to sums[query * n_sums + place], where
 * n_sums is a multiple of the window. Runs add to changes instead, a difference array within each tile, at the same
 * index. Both arrays must be 0 before. changes may be NULL if no entry contains runs.
 *
 * A step of an entry is the start of a stretch, an id, a run, or 16 places of a bitmap; a single place is one step.
 */
typedef struct thr_hit_lists_op {
    thr_device_hits hits;
    const thr_hit_entry *entries;
    uint32_t n_entries; /* at least one */
    uint64_t n_steps;   /* of all entries: the end of the last */
    uint64_t n_sums;
    int32_t *sums, *changes;
} thr_hit_lists_op;

/*
 * Tile by tile: compute the values of all items for all queries of a batch (lists/search_lists.h). The sums are
 * computed here or, if sums is given, read from the output of thr_hit_lists_op.
 *
 * With samples: of n_samples tiles, evenly spaced, write THR_HIT_SAMPLE evenly spaced values each of query q to
 * samples[q * THR_HIT_SAMPLE * n_samples]: the upper half of the keys, 0 for missing or filtered items.
 *
 * Otherwise: of the items whose key is at least thresholds[q], write the best `wanted` of every tile to items[q *
 * capacity], unsorted. counts[q] (0 before) is their number, at most `wanted` a tile. Keys contain the rows of items.
 * A tile with more raises the threshold to the last of its best, which lets fewer items through that are not in the
 * overall best.
 *
 * bad_rows[q] (0 before) becomes ~row of the smallest row that passes the filter and whose value is not finite.
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
    thr_device_item *items; /* with distance 0 */
    uint32_t *counts, *bad_rows;
    uint32_t capacity, wanted; /* wanted is at least 1 */
} thr_hit_tiles_op;

/*
 * The same with a dense score: the value is score * gain + bias, plus the item's sum as a float; the score of the
 * item's code is that of thr_screen_op. Lists and codes have the same items in the same order (tiles.hits.rows is
 * NULL, or is also theirs) and one query each. The filter of tiles is used, not that of the scan.
 */
typedef struct thr_hit_dense_op {
    thr_hit_tiles_op tiles;
    thr_device_scan scan;
    float gain, bias;
} thr_hit_dense_op;

/*
 * Fetch the terms of chosen items' values for later steps. For items chosen[0] to chosen[*n_chosen - 1], at most
 * `wanted`, all of one query: write the sum to sums and the distance of the code to the item. Items are identified by
 * place: hits.rows is NULL.
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
    return THR_CEIL_DIV(n_items, THR_HIT_TILE);
}
