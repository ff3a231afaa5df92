/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pair_tree.h - sums over the active pairs of each row of a query, without enumerating pairs.
 *
 * Rows of a query are numbered by label, worst first. For a row u, the sums of values t over its active pairs (RankSVM
 * (10)) are
 *
 *     low[u]  = sum of t over active rows of lower levels
 *     high[u] = sum of t over active rows of higher levels
 *
 * Labels are constant, so a tree over them is built once. A node is a range of rows, split at the boundary of a level
 * nearest to its middle. Each pair of levels is separated by exactly one node. If both sides of that node are sorted by
 * score, the active worse rows of a better row are all from some rank on, and the active better rows of a worse row are
 * all before some rank (pair_order.h). Order and ranks depend on w; thr_rank_pair_tree_order computes them once for all
 * products of a Newton step. A node then adds to the sums by a prefix sum over each side, and one look-up for every row
 * of the other side.
 *
 * On average over the rows, a row is in about as many nodes as the entropy of the labels has bits, at most
 * log2(levels); rows of rare labels are in more. So the work is the number of rows times the entropy. A node of at most
 * 8 rows is a block: it has one bit for every pair instead of ranks. If all pairs of a query are active, as for w = 0,
 * sums by level suffice.
 *
 * The order of additions depends only on labels and scores, so equal inputs give equal bits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rank/solver/pair_order.h"

/*
 * Rows begin to middle - 1 have lower levels than rows middle to end - 1. middle == end marks a block, middle == begin
 * a single level.
 */
typedef struct thr_pair_node {
    uint32_t begin, middle, end;
} thr_pair_node;

/* The tree of a query; all members are views. */
typedef struct thr_pair_tree {
    uint32_t n;
    const uint32_t *levels; /* n, ascending from 0 in steps of 0 or 1 */
    size_t n_nodes;
    const thr_pair_node *nodes; /* in preorder: a node precedes the nodes within it */
    /* These depend on w. */
    uint16_t *ranks; /* of all nodes except blocks */
    uint8_t *masks;  /* n, used in blocks */
    bool *all;       /* all pairs are active; ranks and masks are then unset */
} thr_pair_tree;

/*
 * Build the nodes for these levels and return their number. nodes may be NULL to count only. *n_ranks, if not NULL, is
 * the length of the ranks array, in uint16_t.
 */
size_t thr_rank_pair_tree_shape(const uint32_t *levels, uint32_t n, thr_pair_node *nodes, size_t *n_ranks);

/* The numbers of a row's active pairs with worse and with better rows. */
typedef struct thr_pair_counts {
    uint32_t low, high;
} thr_pair_counts;

/*
 * Compute order, ranks and masks from scores. rows: in the order of labels, rows[u].row == u; overwritten. A pair is
 * active if its score difference is less than margin. rows, spare and counts have n elements.
 */
void thr_rank_pair_tree_order(const thr_pair_tree *tree, thr_scored_row *rows, thr_scored_row *spare, double margin,
                              thr_pair_counts *counts);

/* The same if all pairs are active: the largest score is less than margin above the smallest. */
void thr_rank_pair_tree_set_all_active(const thr_pair_tree *tree, thr_pair_counts *counts);

/*
 * Sum values over active pairs. low and high have n elements; if they are the same array it gets the sum of both.
 * Neither overlaps values. prefixes: scratch memory of n + 2 elements.
 */
void thr_rank_pair_tree_sums(const thr_pair_tree *tree, const double *values, double *low, double *high,
                             double *prefixes);
