/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops.h - GPU backend operations for screens, rescoring and refining. Plain structs, the same for C and CUDA;
 * pointers are to device memory.
 *
 * On a device, items are numbered from 0 in 32 bits and stored in tiles of 128. A tile's codes take as many bytes as
 * on disk. With W = ceil(n_dims / 8) / 4 whole words per plane and T remaining bytes, first come 32 dimensions at a
 * time
 *   word w, plane p, item i:   32 bits at 4 * ((w * n_planes + p) * 128 + i)
 * then, after all words, the remaining bytes
 *   byte t, plane p, item i:   8 bits at 512 * W * n_planes + (t * n_planes + p) * 128 + i
 * so that a warp whose lanes have four items each reads 512 or 128 contiguous bytes. Bit b of a word is dimension
 * 32 w + b. Items after the last one are 0. Arrays with one number per item are padded with 0 to whole tiles.
 *
 * Keys (keys.h) order items as answers are ordered (candidates.h), larger keys first.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    THR_DEVICE_TILE = 128,  /* items */
    THR_SCREEN_QUERIES = 4, /* maximum number of queries that one pass scores */
    THR_SCREEN_WORDS = 768, /* capacity for query codes passed as kernel arguments */
    THR_COUNT_BITS = 11,    /* key bits counted in one pass */
    THR_COUNT_BINS = 1 << 11
};

/*
 * Codes and the numbers that scores need. Exactly one of factors, leads and block_norms is set (scan/segment.h). They
 * may be a range of a larger set: keys then number items from 128 * first_tile, everything else from 0.
 */
typedef struct thr_device_codes {
    uint64_t n_items; /* at most 2^32 less those before first_tile */
    uint32_t first_tile;
    uint32_t n_dims, n_planes;
    const void *tiles;
    const float *factors, *offsets; /* offsets may be NULL */
    const uint16_t *leads;          /* bfloat16 factors, or with lead_offsets pairs of factor and offset */
    const uint32_t *block_norms;    /* the smallest |b|^2 of every 64 items */
    bool lead_offsets;
} thr_device_codes;

/* Convert blocks of 64 as on disk (code/encode.h) to tiles. The other half of a half-filled tile is not written. */
typedef struct thr_pack_op {
    const uint8_t *blocks; /* n_blocks of them */
    void *tiles;
    uint32_t first_block, n_blocks; /* target position */
    uint32_t n_rows, n_planes;      /* bytes of a plane */
} thr_pack_op;

/* An item that passed the screen. */
typedef struct thr_device_item {
    uint64_t key;
    uint32_t score;    /* the bits of a float; the key does not distinguish 0 from -0 */
    uint32_t distance; /* by the planes in tiles */
} thr_device_item;

typedef struct thr_device_query {
    int32_t total;
    int32_t sum; /* sum of e, for batches */
    float gain, weight;
} thr_device_query;

/* Codes, a filter, and up to THR_SCREEN_QUERIES queries. */
typedef struct thr_device_scan {
    thr_device_codes codes;
    const uint64_t *filter; /* bits of these items, padded to whole tiles; NULL: no filter */
    uint32_t n_queries;     /* 1 to THR_SCREEN_QUERIES */
    uint32_t query_bits;    /* 1 to 8 */
    thr_device_query queries[THR_SCREEN_QUERIES];
    /*
     * Plane j of query q, dimensions 32 w to 32 w + 31: words[(q * ceil(n_dims / 32) + w) * query_bits + j].
     * far_words: in device memory; NULL: use words below.
     */
    const uint32_t *far_words;
    uint32_t words[THR_SCREEN_WORDS];
} thr_device_scan;

/*
 * With samples: write the scores of n_samples tiles, evenly spaced, of query q to samples[q * 128 * n_samples]: the
 * upper half of the keys, 0 for missing or filtered items. Otherwise: write every item whose key is at least
 * thresholds[q] to items[q * capacity], unsorted, at most capacity of them; counts[q] (0 before) is the number of
 * such items.
 */
typedef struct thr_screen_op {
    thr_device_scan scan;
    uint32_t *samples;
    uint32_t n_samples;
    const uint64_t *thresholds;
    thr_device_item *items;
    uint32_t *counts;
    uint32_t capacity;
} thr_screen_op;

/* Blocks of 64 items that a query reads; block 0 is the first half of tile 0. */
typedef struct thr_listed_run {
    uint32_t query, first_block, n_blocks;
} thr_listed_run;

enum { THR_LISTED_BLOCKS = 16 }; /* in a run, at most, so that many warps share the work */

/*
 * With origins (scan/origins.h), all items that a run offers have the same origin. They are scored with margin added to
 * the query's total, and base is added to the score.
 */
typedef struct thr_listed_origin {
    uint32_t first, end; /* the items, counted in the slice; first is in the run's first block, end - 1 in its last */
    int32_t margin;
    float base;
} thr_listed_origin;

/*
 * As thr_screen_op without samples, but each query reads only the blocks of its own runs. These do not overlap; with
 * origins a block may be in several runs, whose items do not overlap. words: as thr_device_scan.far_words, of all
 * queries.
 */
typedef struct thr_listed_op {
    thr_device_codes codes;
    const uint64_t *filter; /* as thr_device_scan.filter */
    uint32_t query_bits;
    const uint32_t *words;
    const thr_device_query *queries;
    const thr_listed_run *runs;
    const thr_listed_origin *origins; /* by run; NULL: codes have none */
    uint32_t n_runs;
    const uint64_t *thresholds;
    thr_device_item *items;
    uint32_t *counts;
    uint32_t capacity;
} thr_listed_op;

/*
 * Several queries at once on tensor cores; the output is that of thr_screen_op without samples.
 *
 * With u the integer in an item's planes in a dimension and v that of a query, w = u - 2^(n_planes - 1) and e = 2 v +
 * 1 - 2^query_bits are bytes, and the integer product of the codes is 2 sum of w e + sum of e. Queries of 8 bits do
 * not fit, nor sums of 2^22 and more; thr_backend.batch_limit returns what fits.
 *
 * The e of query q are stored in the order of the warp lanes that load them. Queries form columns of 8, C in number
 * (thr_batch_columns): with l = q % 8 * 4 + t, byte i of digits[((s * C + q / 8) * 32 + l) * 2 + h] is dimension 32 s
 * + 8 i + 4 h + t; 0 after the last dimension and after the last query.
 */
typedef struct thr_batch_op {
    thr_device_codes codes;
    const uint64_t *filter;
    uint32_t n_queries; /* at most the batch limit */
    uint32_t n_columns; /* C: thr_batch_columns(n_queries) or more */
    const uint32_t *digits;
    const thr_device_query *queries; /* n_queries */
    const uint64_t *thresholds;
    thr_device_item *items;
    uint32_t *counts;
    uint32_t capacity;
} thr_batch_op;

/* Return the number of columns of 8 queries in which a batch is multiplied: 1, 4 or 8. */
static inline uint32_t thr_batch_columns(uint32_t n_queries) {
    return n_queries <= 8 ? 1 : n_queries <= 32 ? 4 : 8;
}

/*
 * thresholds[q]: a key that a little more than `wanted` of n_all items are expected to reach, estimated from the
 * sample by the rule of select/sampled_threshold.h; 0 if the sample is too small.
 */
typedef struct thr_threshold_op {
    const uint32_t *samples; /* n_samples a query */
    uint32_t n_samples, n_queries;
    uint64_t n_all, wanted;
    uint64_t *thresholds;
} thr_threshold_op;

/*
 * One query: count the items whose key begins with the prefix_bits bits of prefix, by their next THR_COUNT_BITS bits
 * (fewer at the end of the key), and add the counts to bins.
 */
typedef struct thr_count_op {
    thr_device_scan scan;
    uint64_t prefix;
    uint32_t prefix_bits;
    uint64_t *bins; /* THR_COUNT_BINS */
} thr_count_op;

/* An item to score for one query of a batch. */
typedef struct thr_device_row {
    uint32_t query, item, distance;
} thr_device_row;

/* A query's parameters for nested codes (scan/job.h, code/nested.h). */
typedef struct thr_rescore_query {
    int32_t total, digit_sum;
    float lead_gain, rest_gain, weight;
} thr_rescore_query;

/*
 * scores[i]: the estimate by all planes of rows[i], from its record of record_size bytes: head bytes of numbers,
 * float32 (wide) or bfloat16, then n_planes planes of n_rows bytes. digits: digits_size bytes per query, padded with
 * zeros.
 */
typedef struct thr_rescore_op {
    const uint8_t *records;
    uint32_t record_size, head, n_rows, n_planes;
    bool has_offset, wide;
    const int8_t *digits;
    uint32_t digits_size;
    const thr_rescore_query *queries;
    const thr_device_row *rows;
    uint32_t n_scored;
    float *scores;
} thr_rescore_op;

/* What scores of scaled rows need of a query: kept_weight and kept_bias (scan/job.h). */
typedef struct thr_refine_term {
    float weight, bias;
} thr_refine_term;

/* Exact scores from kept vectors. Type and metric have the values of thr_dtype and thr_metric. */
typedef struct thr_refine_op {
    const void *vectors; /* n_dims values per row, dense */
    int keep, metric;
    uint32_t n_dims;
    float near_cosine; /* larger cosines are computed by explicit differences (scan/refine.c) */
    const float *scales, *inverse_norms, *halves; /* as scan/segment.h */
    const float *queries;                         /* kept_vector, n_dims floats each */
    const thr_refine_term *terms;                 /* of each query, with scales */
    const thr_device_row *rows;
    uint32_t n_scored;
    float *scores; /* scores[i]: the exact score of rows[i] */
} thr_refine_op;

/*
 * Select the `wanted` items with the largest keys of every query into chosen[q * wanted], unsorted; their number is
 * n_chosen.
 */
typedef struct thr_select_op {
    const thr_device_item *items; /* capacity a query; the first min(counts[q], capacity) are valid */
    const uint32_t *counts;
    uint32_t capacity, n_queries, wanted;
    thr_device_item *chosen;
    uint32_t *n_chosen;
} thr_select_op;
