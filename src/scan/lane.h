/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lane.h - what one thread needs to work on a query, and what all threads share of it.
 */
#ifndef THR_SCAN_LANE_H
#define THR_SCAN_LANE_H

#include "code/query.h"
#include "kernel/kernel.h"
#include "scan/scan.h"
#include "select/candidates.h"

enum {
    THR_TILE_BLOCKS = 16, /* blocks screened in one go, at most */
    THR_TILE_BYTES =
        12288,           /* and about so many bytes of codes: more, and the stream of codes is interrupted too long */
    THR_RUN_BLOCKS = 16, /* blocks whose bounds are computed in one go: a register's worth */
    THR_PIECE_BLOCKS = 1024, /* blocks a thread takes at once */
};

/*
 * How many blocks are sampled for the first threshold: one in 32, at most 256 (their 16,384 scores tell a threshold of a
 * hundredth of a percent well enough), and none where less than 8 would be: block number i * n_blocks / n_sampled.
 */
enum { THR_SAMPLE_BLOCKS = 256, THR_SAMPLE_LEAST = 8, THR_SAMPLE_ONE_IN = 32 };

static inline uint64_t thr_sample_blocks(uint64_t n_blocks) {
    const uint64_t n = n_blocks / THR_SAMPLE_ONE_IN;
    return n < THR_SAMPLE_LEAST ? 0 : n < THR_SAMPLE_BLOCKS ? n : THR_SAMPLE_BLOCKS;
}

/* One query, as every thread reads it. */
typedef struct thr_scan_query {
    const thr_scan_target *target;
    const thr_kernels *kernels;
    thr_distance_kernel distance;
    const uint64_t *filter; /* NULL: all rows */
    const float *vector;    /* n_dims; for cosine of length 1 */
    float norm;             /* the query's length as given */
    thr_query_code code;
    float gain;   /* with factors: what (total - 2 D) * factor is multiplied by */
    float weight; /* what offsets are multiplied by */
    float bias;   /* what an estimate in the collector's units lacks to be the user's score */
} thr_scan_query;

/* One thread's scratch. */
typedef struct thr_lane {
    thr_collector collector;
    float *vector;     /* n_dims floats, the query; then n_dims more for a row or the query less the centre */
    void *code_memory; /* thr_query_code_size */
    uint32_t *distances, *more_distances; /* a tile's */
    float *sample;                        /* scores of the sampled blocks */
} thr_lane;

/* Global block numbers: row / 64. All segments begin at a multiple of 64. */
typedef struct thr_block_range {
    uint64_t first, end;
} thr_block_range;

/* Offer to the lane's collector all rows of the blocks whose estimated score reaches its threshold. */
void thr_screen_blocks(const thr_scan_query *query, thr_lane *lane, thr_block_range blocks);

/* The same with exact scores from the kept vectors. */
void thr_exact_blocks(const thr_scan_query *query, thr_lane *lane, thr_block_range blocks);

/* Replace estimated scores by exact ones. */
void thr_refine(const thr_scan_query *query, thr_lane *lane, thr_candidate *items, size_t n);

/* The score the user sees of an estimate in the collector's units. */
float thr_estimate_score(const thr_scan_query *query, float score);

/* The segment a row is in. */
const thr_segment *thr_segment_of(const thr_scan_target *target, uint64_t row);

/* Rows of block b of a segment that exist and pass the filter. */
static inline uint64_t thr_block_rows(const thr_scan_query *query, const thr_segment *segment, uint64_t block) {
    const uint64_t left = segment->n_items - block * THR_BLOCK_ITEMS;
    const uint64_t there = left >= THR_BLOCK_ITEMS ? ~UINT64_C(0) : (UINT64_C(1) << left) - 1;
    return query->filter == NULL ? there : there & query->filter[segment->first_row / THR_BLOCK_ITEMS + block];
}

#endif
