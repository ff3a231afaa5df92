/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hits.h - one run of `thresher-bench hits`: a synthetic catalogue, other ways of adding up weights, and their timing.
 */
#pragma once

#include "bench.h"

/* --------------------------------------------------------------------------------------------- catalogue.c */

/* Items with features by Zipf's law, the same for the same seed. */
typedef struct bench_catalogue {
    uint64_t n_items, n_postings;
    uint32_t n_features;
    uint64_t *offsets; /* CSR */
    uint32_t *features;
} bench_catalogue;

/* Every item has 20 different ones of n_features; the r-th most popular one is drawn with a weight of 1 / r. */
enum { BENCH_PER_ITEM = 20 };
bench_catalogue bench_catalogue_draw(uint64_t n_items, uint32_t n_features, uint64_t seed);

/* A query: the features of some items, drawn at random, until there are n different ones; weights about normal. */
enum { BENCH_MOST_FEATURES = 1000 };
typedef struct bench_hits_query {
    uint32_t n, features[BENCH_MOST_FEATURES];
    float weights[BENCH_MOST_FEATURES];
} bench_hits_query;
void bench_catalogue_query(const bench_catalogue *c, uint64_t *rng, uint32_t n, bench_hits_query *query);

/* Build posting lists of it, and return the seconds taken; open such a file; find the best 100 items of a query. */
double bench_hits_build(thr_context *context, const bench_catalogue *c, const char *path, thr_hits_order order);
thr_hits *bench_hits_open(const char *path);

enum { BENCH_HITS_K = 100 };
typedef struct bench_hits_answer {
    uint64_t ids[BENCH_HITS_K];
    float values[BENCH_HITS_K];
} bench_hits_answer;
thr_status bench_hits_ask(thr_hits *hits, const bench_hits_query *query, const thr_hits_search_options *options,
                          bench_hits_answer *a, thr_error *err);

/* End the program unless an answer has the best of n exact values, up to a tolerance. */
void bench_hits_check(const double *exact, uint64_t n, const uint64_t *ids, const float *values, double tolerance);

/* -------------------------------------------------------------------------------------------------- ways.c */

/* Blocks of 2^g places: key f has the blocks keys[f] to keys[f + 1] - 1. */
typedef struct bench_blocks {
    uint64_t *keys;   /* n_features + 1 */
    uint32_t *header; /* a block's number: its items divided by 256 */
    uint8_t *counts;  /* its items, less one */
    uint8_t *values;  /* its items modulo 256, 2^g places a block */
} bench_blocks;

enum { BENCH_GROUPS = 9 }; /* 1 to 256 places */

/* The same sums in other ways, in floats: what they need, made once, and a query of each. */
typedef struct bench_ways {
    const bench_catalogue *catalogue;
    uint64_t *starts; /* of features: CSC */
    uint32_t *items;
    bench_blocks groups[BENCH_GROUPS];
    double block_bytes;
    float *dense; /* a weight for every feature, 0 but in a query */
} bench_ways;

void bench_ways_make(bench_ways *ways, const bench_catalogue *c);

/* sums has a place for every item. */
typedef void bench_way(bench_ways *ways, const bench_hits_query *query, float *sums);

/* Rows of CSR times a dense vector of weights; the touched columns of CSC, one after the other, into all sums. */
bench_way bench_way_csr, bench_way_columns;

/* ------------------------------------------------------------------------------------------------ blocks.c */

/* Make the groups of ways whose starts and items are there. */
void bench_blocks_make(bench_ways *ways);

/* Group by group, the touched features' blocks of 256 items (HitMatch, algorithms 1 and 2). */
bench_way bench_way_blocks;

/* ------------------------------------------------------------------------------------------------- fused.c */

/* The catalogue's items with vectors: both in one pass. */
void bench_hits_fused(const bench_catalogue *c);

/* ------------------------------------------------------------------------------------------------- peers.c */

/* A peer's time for a query of `size` features. */
typedef struct bench_hits_peer {
    char name[80];
    uint32_t size;
    double seconds;
} bench_hits_peer;

/*
 * Write the matrix into the scratch directory; write queries of one size, with the sums of the first one. Run hits.py
 * on these files; returns the number of peers measured, at most `most`.
 */
void bench_hits_export(const bench_catalogue *c);
void bench_hits_export_queries(const bench_hits_query *queries, uint32_t n_queries, const float *sums,
                               uint64_t n_items);
int bench_hits_peers(const bench_catalogue *c, uint32_t n_queries, const uint32_t sizes[2], bench_hits_peer *peers,
                     int most);
