/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops.h - operations of a GPU backend. Plain structs, the same for C and CUDA; pointers are to device memory.
 *
 * On a device items are numbered from 0 in 32 bits and stand in tiles of 128. A tile's codes are as many bytes as on
 * disk: with W = ceil(n_dims / 8) / 4 whole words a plane and T bytes left over, first 32 dimensions at a time
 *   word w, plane p, item i:   32 bits at 4 * ((w * n_planes + p) * 128 + i)
 * then, behind all words, the bytes left over
 *   byte t, plane p, item i:   8 bits at 512 * W * n_planes + (t * n_planes + p) * 128 + i
 * so that a warp whose lanes have four items each reads 512 or 128 bytes in one piece. Bit b of a word is dimension
 * 32 w + b. Items past the last one are 0, as are all arrays of numbers an item, which are padded to whole tiles.
 *
 * Keys (keys.h) put items into the one order (candidates.h), larger keys first.
 */
#ifndef THR_DEVICE_OPS_H
#define THR_DEVICE_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    THR_DEVICE_TILE = 128,  /* items */
    THR_SCREEN_QUERIES = 4, /* that one pass scores, at most */
    THR_SCREEN_WORDS = 768, /* of query codes that travel with the operation */
    THR_COUNT_BITS = 11,    /* of a key that are counted at once */
    THR_COUNT_BINS = 1 << 11
};

/*
 * Codes and what scores need beside them; one of factors, leads or block_norms is there (scan/segment.h says more).
 * They may be a run of more codes: then their items are numbered from 128 * first_tile in keys, and from 0 elsewhere.
 */
typedef struct thr_device_codes {
    uint64_t n_items; /* at most 2^32 less those before */
    uint32_t first_tile;
    uint32_t n_dims, n_planes;
    const void *tiles;
    const float *factors, *offsets; /* offsets may be NULL */
    const uint16_t *leads;          /* bfloat16 factors, with lead_offsets pairs of factor and offset */
    const uint32_t *block_norms;    /* of every 64 items the smallest |b|^2 */
    bool lead_offsets;
} thr_device_codes;

/* Blocks of 64 as they are on disk (codes.h) to tiles; where a tile is half filled, the other half is left as it is. */
typedef struct thr_pack_op {
    const uint8_t *blocks; /* n_blocks of them */
    void *tiles;
    uint32_t first_block, n_blocks; /* where they belong */
    uint32_t n_rows, n_planes;      /* bytes of a plane */
} thr_pack_op;

/* A row that the screen lets through. */
typedef struct thr_device_item {
    uint64_t key;
    uint32_t score;    /* the bits of a float: the key does not tell 0 from -0 */
    uint32_t distance; /* of the planes in tiles */
} thr_device_item;

typedef struct thr_device_query {
    int32_t total;
    int32_t sum; /* of e, for batches */
    float gain, weight;
} thr_device_query;

/* Codes, a filter, and some queries. */
typedef struct thr_device_scan {
    thr_device_codes codes;
    const uint64_t *filter; /* bits of these items, padded to whole tiles; NULL: all */
    uint32_t n_queries;     /* 1 to THR_SCREEN_QUERIES */
    uint32_t query_bits;    /* 1 to 8 */
    thr_device_query queries[THR_SCREEN_QUERIES];
    /* Plane j of query q, dimensions 32 w to 32 w + 31: words[(q * ceil(n_dims / 32) + w) * query_bits + j]. In memory
     * of the device, or NULL: here. */
    const uint32_t *far_words;
    uint32_t words[THR_SCREEN_WORDS];
} thr_device_scan;

/*
 * With samples: the scores of n_samples tiles, evenly spaced, of query q to samples[q * 128 * n_samples]: the upper
 * half of the keys, 0 for items that are not there or filtered out. Otherwise: every item whose key is at least
 * thresholds[q] to items[q * capacity], in no order, up to capacity of them; counts[q] (0 before) says how many there
 * are.
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

/*
 * Several queries at once on tensor cores; what comes out is what thr_screen_op without samples gives.
 *
 * With u the number that an item's planes hold in a dimension and v a query's, w = u - 2^(n_planes - 1) and
 * e = 2 v + 1 - 2^query_bits are bytes, and the integer product of the codes is 2 sum of w e + sum of e. Queries of 8
 * bits do not fit, nor sums of 2^22 and more; thr_backend.batch_limit says what does.
 *
 * The e of query q go where a lane of a warp wants them. Queries stand in columns of 8, of which there are C
 * (thr_batch_columns): with l = q % 8 * 4 + t, byte i of digits[((s * C + q / 8) * 32 + l) * 2 + h] is dimension
 * 32 s + 8 i + 4 h + t; 0 past the last dimension and past the last query.
 */
typedef struct thr_batch_op {
    thr_device_codes codes;
    const uint64_t *filter;
    uint32_t n_queries; /* at most what the batch limit allows */
    uint32_t n_columns; /* C: thr_batch_columns of n_queries or more */
    const uint32_t *digits;
    const thr_device_query *queries; /* n_queries */
    const uint64_t *thresholds;
    thr_device_item *items;
    uint32_t *counts;
    uint32_t capacity;
} thr_batch_op;

/* Columns of 8 queries that a batch of so many is multiplied in: 1, 4 or 8. */
static inline uint32_t thr_batch_columns(uint32_t n_queries) {
    return n_queries <= 8 ? 1 : n_queries <= 32 ? 4 : 8;
}

/*
 * thresholds[q]: a key that a little more than `wanted` of n_all items reach, by the sample (select/sampled_threshold.h
 * has the rule); 0 where the sample is too small to tell.
 */
typedef struct thr_threshold_op {
    const uint32_t *samples; /* n_samples a query */
    uint32_t n_samples, n_queries;
    uint64_t n_all, wanted;
    uint64_t *thresholds;
} thr_threshold_op;

/*
 * One query: of all items whose key begins with the prefix_bits bits of prefix, how many have which next
 * THR_COUNT_BITS bits, added to bins. Fewer bits are counted where the key has no more.
 */
typedef struct thr_count_op {
    thr_device_scan scan;
    uint64_t prefix;
    uint32_t prefix_bits;
    uint64_t *bins; /* THR_COUNT_BINS */
} thr_count_op;

/* A row to be scored for one of a batch's queries. */
typedef struct thr_device_row {
    uint32_t query, item, distance;
} thr_device_row;

/* What a query has for nested codes (scan/worker.h, code/nested.h). */
typedef struct thr_rescore_query {
    int32_t total, digit_sum;
    float lead_gain, rest_gain, weight;
} thr_rescore_query;

/*
 * scores[i]: the estimate by all planes of rows[i], from its record of record_size bytes: head bytes of numbers,
 * float32 (wide) or bfloat16, then n_planes strings of n_rows bytes. digits: digits_size bytes a query, zeros at the
 * end.
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

/* What kept vectors are, and what scores of them: the same numbers as thr_dtype and thr_metric. */
typedef struct thr_refine_op {
    const void *vectors; /* n_dims values a row, dense */
    int keep, metric;
    uint32_t n_dims;
    const float *scales, *inverse_norms; /* as scan/segment.h */
    const float *queries;                /* n_dims floats each */
    const thr_device_row *rows;
    uint32_t n_scored;
    float *scores; /* scores[i]: the exact one of rows[i] */
} thr_refine_op;

/* Of every query the `wanted` items of the largest keys to chosen[q * wanted], in no order; n_chosen says how many. */
typedef struct thr_select_op {
    const thr_device_item *items; /* capacity a query, of which counts[q], at most capacity */
    const uint32_t *counts;
    uint32_t capacity, n_queries, wanted;
    thr_device_item *chosen;
    uint32_t *n_chosen;
} thr_select_op;

/*
 * One query: items fall into n_buckets buckets, a multiple of THR_DEVICE_TILE, item i into bucket i % n_buckets. The
 * item of a bucket's largest key to winners[bucket], its second largest key to rejected[bucket], 0 where there is none.
 * A bucket in which nothing may be found has a winner whose key is ~bucket: less than any item's, and its own.
 */
typedef struct thr_bucket_op {
    thr_device_scan scan; /* n_queries 1 */
    uint32_t n_buckets;
    thr_device_item *winners;
    uint64_t *rejected; /* NULL: not wanted, which spares norms of cosine codes */
} thr_bucket_op;

/*
 * The certificate of buckets, and what it leaves in doubt. The n_winners[0] best winners of all buckets are the first
 * items. least[0] becomes the smallest of their keys, or 0 where they are fewer than `wanted`; then all items whose key
 * is larger and that are no winners stand behind them, in no order, up to capacity in all. count[0] says how many there
 * are; n_winners[0]: none, the winners are the best of all items.
 */
typedef struct thr_rescan_op {
    thr_device_scan scan; /* those of the buckets */
    uint32_t n_buckets;
    const uint64_t *rejected;
    const uint32_t *n_winners;
    uint32_t wanted, capacity;
    thr_device_item *items;
    uint64_t *least;
    uint32_t *count;
} thr_rescan_op;

#endif
