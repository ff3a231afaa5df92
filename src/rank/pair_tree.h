/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pair_tree.h - what active pairs add to each row of a query, without going over pairs.
 *
 * Rows of a query are numbered by label here, worst first. Of a row u, sums of values t over its active pairs
 * (RankSVM (10)) are
 *
 *   low[u]  = sum of t over active rows of lower levels
 *   high[u] = sum of t over active rows of higher levels
 *
 * Labels do not change, so neither does a tree over them: a node is a range of rows, parted where a level ends, as near
 * its middle as can be. A pair of two levels belongs to the one node that parts them. There, with either part in the
 * order of scores, active worse rows of a better one are those from some rank on, and active better rows of a worse one
 * those before some rank (pair_order.h). Order and ranks belong to a w. They are made once, in
 * thr_rank_pair_tree_order, and serve all products of a Newton step: a prefix sum over each part, and one look-up for
 * every row of the other.
 *
 * A row is in at most about log2(levels) nodes, in fewer where few levels hold most rows: l times the labels' entropy,
 * in bits, is the work. Up to 8 rows are a block instead, with a bit for every active pair. Where all pairs of a query
 * are active, as they are for w = 0, sums by level are all there is to know.
 *
 * Values are added in an order that labels and scores tell, so the same values give the same bits.
 */
#ifndef THR_RANK_PAIR_TREE_H
#define THR_RANK_PAIR_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rank/pair_order.h"

/* Rows begin to middle - 1 are of lower levels than middle to end - 1; middle is end: a block, begin: a level. */
typedef struct thr_pair_node {
    uint32_t begin, middle, end;
} thr_pair_node;

/* Of a query. Views. */
typedef struct thr_pair_tree {
    uint32_t n;
    const uint32_t *levels; /* n, ascending from 0 by one or none */
    size_t n_nodes;
    const thr_pair_node *nodes; /* a node stands before those within it */
    /* By w. */
    uint16_t *ranks; /* of all nodes but blocks */
    uint8_t *masks;  /* n, of blocks */
    bool *all;       /* all pairs are active: ranks and masks say nothing */
} thr_pair_tree;

/* Nodes of a query of these levels; *n_ranks, unless NULL, is how long ranks are. nodes may be NULL: only counted. */
size_t thr_rank_pair_tree_shape(const uint32_t *levels, uint32_t n, thr_pair_node *nodes, size_t *n_ranks);

/* Active pairs of a row with worse and with better ones. */
typedef struct thr_pair_counts {
    uint32_t low, high;
} thr_pair_counts;

/*
 * Set what belongs to scores: rows are in the order of labels, each with that number; pairs are active below margin.
 * rows, spare and counts have n; rows are lost.
 */
void thr_rank_pair_tree_order(const thr_pair_tree *tree, thr_scored_row *rows, thr_scored_row *spare, double margin,
                              thr_pair_counts *counts);

/* The same where the largest score is less than margin above the least. */
void thr_rank_pair_tree_take_all(const thr_pair_tree *tree, thr_pair_counts *counts);

/*
 * low and high have n numbers and may be the same: then it gets the sums of both. values overlap none of them; prefixes
 * is room for n + 2.
 */
void thr_rank_pair_tree_sums(const thr_pair_tree *tree, const double *values, double *low, double *high,
                             double *prefixes);

#endif
