/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hits.h - one run of `thresher-bench hits`: a synthetic catalogue, other ways of adding up weights, and their timing.
 */
#ifndef THRESHER_BENCH_HITS_H
#define THRESHER_BENCH_HITS_H

#include "run.h"

/* ----------------------------------------------------------------------------------------------- catalogue.c */

/* Items with features by Zipf's law, the same for the same seed. */
typedef struct bench_catalogue {
    uint64_t n_items, n_postings;
    uint32_t n_features;
    uint64_t *offsets; /* CSR */
    uint32_t *features;
} bench_catalogue;

/* Every item has 20 different ones of n_features; the r-th most popular one is drawn with a weight of 1 / r. */
enum { BENCH_PER_ITEM = 20 };
bench_catalogue bench_catalogue_draw(bench_scan_run *run, uint64_t n_items, uint32_t n_features, uint64_t seed);
void bench_catalogue_free(bench_catalogue *c);

/* A query: the features of some items, drawn at random, until there are n different ones; weights about normal. */
void bench_catalogue_query(const bench_catalogue *c, uint64_t *rng, uint32_t *features, float *weights, uint32_t n);

/* Build posting lists of it, which takes so many seconds; open some; the best 100 of a query. */
double bench_hits_build(bench_scan_run *run, thr_context *context, const bench_catalogue *c, const char *path,
                        thr_hits_order order);
thr_hits *bench_hits_open(bench_scan_run *run, const char *path);

typedef struct bench_hits_query {
    const uint32_t *features;
    const float *weights;
    uint32_t n; /* features of the one query */
} bench_hits_query;

enum { BENCH_HITS_K = 100 };
typedef struct bench_hits_answer {
    uint64_t ids[BENCH_HITS_K];
    float values[BENCH_HITS_K];
} bench_hits_answer;
void bench_hits_ask(bench_scan_run *run, thr_hits *hits, const bench_hits_query *query,
                    const thr_hits_search_options *options, bench_hits_answer *a);

/* ---------------------------------------------------------------------------------------------------- ways.c */

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
    uint64_t *window_starts; /* n_windows + 1 a feature: where its items of a window begin */
    uint16_t *local;         /* items within their window of 65,536 */
    uint32_t n_windows;
    bench_blocks groups[BENCH_GROUPS];
    double block_bytes;
    float *dense; /* a weight for every feature, 0 but in a query */
} bench_ways;

void bench_ways_make(bench_scan_run *run, bench_ways *ways, const bench_catalogue *c);
void bench_ways_free(bench_ways *ways);

/* Rows of CSR times a dense vector of weights. */
void bench_way_csr(bench_ways *ways, const uint32_t *features, const float *weights, uint32_t n, float *sums);

/* The touched columns of CSC, one after the other, into all sums. */
void bench_way_columns(bench_ways *ways, const uint32_t *features, const float *weights, uint32_t n, float *sums);

/* Window by window, which the cache holds, with 16-bit numbers of items (as SINDI has it, without stored values). */
void bench_way_windows(bench_ways *ways, const uint32_t *features, const float *weights, uint32_t n, float *sums);

/* -------------------------------------------------------------------------------------------------- blocks.c */

/* Make the groups of ways whose starts and items are there, and free them. */
void bench_blocks_make(bench_scan_run *run, bench_ways *ways);
void bench_blocks_free(bench_ways *ways);

/* Group by group, the touched features' blocks of 256 items (HitMatch, algorithms 1 and 2). */
void bench_way_blocks(bench_ways *ways, const uint32_t *features, const float *weights, uint32_t n, float *sums);

/* ------------------------------------------------------------------------------------------------- updates.c */

/* Updates of a file of the catalogue, and searches for some queries with them and without. */
void bench_hits_updates(bench_scan_run *run, thr_hits *hits, const bench_catalogue *c, const bench_hits_query *queries,
                        int n_queries);

/* ---------------------------------------------------------------------------------------------------- swap.c */

/* Searches by 64 threads while files are built and swapped. */
void bench_hits_swap(bench_scan_run *run, uint64_t n_items);

/* --------------------------------------------------------------------------------------------------- fused.c */

/* The catalogue's items with vectors: both in one pass. */
void bench_hits_fused(bench_scan_run *run, const bench_catalogue *c);

/* --------------------------------------------------------------------------------------------------- peers.c */

/* How long a peer takes for a query of so many features. */
typedef struct bench_hits_peer {
    char name[80];
    uint32_t size;
    double seconds;
} bench_hits_peer;

/*
 * Write the matrix into the scratch directory; and queries of one size, with the sums of the first. Then run
 * hits.py over them: how many lines it gave, at most `most`.
 */
void bench_hits_export(bench_scan_run *run, const bench_catalogue *c);
void bench_hits_export_queries(bench_scan_run *run, const bench_hits_query *queries, uint32_t n_queries,
                               const float *sums, uint64_t n_items);
int bench_hits_peers(bench_scan_run *run, const bench_catalogue *c, uint32_t n_queries, const uint32_t sizes[2],
                     bench_hits_peer *peers, int most);

#endif
