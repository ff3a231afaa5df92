/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cost.h - the expected time of the steps of a search, on one core of a CPU.
 *
 * A choice between two ways to an answer compares times of this table. They were fitted to one core (AMD Zen
 * 3, AVX2) and are the same on every machine, so that the same rows get the same index, and the same query the same
 * answer, everywhere. A wrong time makes a search slower, but loses no recall.
 */
#pragma once

/* A step takes ns nanoseconds, plus 1 ns per bytes_a_ns bytes that it reads. */
typedef struct thr_cost {
    double ns, bytes_a_ns;
} thr_cost;

/* The time of n steps that read so many bytes together. */
static inline double thr_cost_ns(thr_cost cost, double n, double bytes) {
    return n * cost.ns + bytes / cost.bytes_a_ns;
}

/* The fixed cost of a search; with cells, without the scores of their centroids. */
static const double THR_COST_SEARCH_NS = 19000, THR_COST_CELLS_SEARCH_NS = 38000;

/* Screening a block of codes: of all blocks in order, if most rows of a block are filtered out, and in cells. */
static const thr_cost THR_COST_BLOCK = {16.6, 20}, THR_COST_FILTERED_BLOCK = {40, 16}, THR_COST_CELL_BLOCK = {0, 13};

/* Scoring a centroid, and making it part of the order of cells. */
static const thr_cost THR_COST_CENTROID = {6, 11.6};

/* Rescoring a survivor by its record, whose bytes are not counted. */
static const double THR_COST_RECORD_NS = 20;

/* Rescoring a survivor of a typical search, with its share of the refined candidates. */
static const double THR_COST_SURVIVOR_NS = 128;

/* Scoring a kept vector: of all in order, of some in order, and of some in any order. */
static const thr_cost THR_COST_VECTOR = {2, 28}, THR_COST_VECTOR_OF_SOME = {20, 14},
                      THR_COST_VECTOR_ANYWHERE = {20, 12};

/*
 * A whole search, by its bytes of codes, and the share of them that a search with cells reads: for the choice of CPU or
 * GPU, which needs only the order of magnitude.
 */
static const thr_cost THR_COST_CODES = {0, 25};
static const double THR_COST_CELLS_SHARE = 0.2;

/* Adding a posting to its item's sum, and offering an item's sum. */
static const double THR_COST_POSTING_NS = 0.2, THR_COST_SUM_NS = 0.2;
