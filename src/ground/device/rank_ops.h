/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_ops.h - GPU backend operations for training a linear RankSVM (rank/solver/problem.h has them for CPUs). Plain
 * structs; pointers are to device memory.
 *
 * Rows are grouped by query. The rows of a query are also numbered by label, worst first: u. In arrays with one entry
 * a row, a query's entries begin at its first row and are in order of u, except where the comment states "in the order
 * of rows".
 *
 * All sums use the order of the CPU's, operation by operation, and so have the same bits. Scores that are NaN give
 * meaningless sums but no invalid access.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * A node over u: the worse part is begin to middle - 1. middle == end: a block; middle == begin: a level
 * (rank/solver/pair_tree.h).
 */
typedef struct thr_rank_op_node {
    uint32_t begin, middle, end;
} thr_rank_op_node;

enum { THR_RANK_OP_BLOCK = 8 }; /* maximum rows of a block */
static const uint32_t THR_RANK_OP_NONE = 0xffffffffu;

/* Numbers of active pairs of a row with worse (low) and with better (high) rows. */
typedef struct thr_rank_op_counts {
    uint32_t low, high;
} thr_rank_op_counts;

/*
 * X, dense or sparse. Sparse: the entries of row r are starts[r] to starts[r + 1] - 1. The same entries are there by
 * chunk of queries, feature and row: those of feature d in chunk c are feature_starts[c * n_features + d] to the next
 * start - 1. A chunk covers the rows of some queries, listed or not.
 */
typedef struct thr_rank_matrix {
    uint32_t n_features;
    const float *dense; /* n_features a row, in the order of rows; NULL: sparse */
    const uint64_t *starts;
    const uint32_t *columns;
    const float *values;
    const uint64_t *feature_starts; /* n_chunks x n_features + 1 */
    const uint32_t *feature_rows;   /* ascending within a feature of a chunk */
    const float *feature_values;
} thr_rank_matrix;

/* The rows, and the queries that take part. */
typedef struct thr_rank_queries {
    uint64_t n_rows, n_all;  /* n_all: number of queries */
    const uint64_t *offsets; /* n_all + 1 */
    const uint32_t *listed;  /* n_listed query numbers, ascending */
    uint32_t n_listed;
    const double *costs;   /* c_q of every query */
    const uint32_t *rows;  /* the row of u, relative to the query's first */
    const double *weights; /* o; NULL: 1 */
} thr_rank_queries;

/*
 * The active pairs, computed by thr_rank_order_op. With sweep, orders is one order of all rows of a query, and pairs
 * are found by RankSVM's algorithm 2 (rank/solver/pair_sweep.h). Otherwise each depth of the tree has an order, and
 * nodes[depth * n_rows + row] is the number of the row's node, the same for all u in it; THR_RANK_OP_NONE for rows that
 * are in no node with two parts.
 */
typedef struct thr_rank_pairs {
    const uint32_t *levels;
    const thr_rank_op_node *tree;
    const uint32_t *nodes;
    const uint32_t *leaves; /* the block or level that ends a row's path; THR_RANK_OP_NONE: the row is alone */
    uint32_t n_depths;
    uint32_t sweep;   /* 0 or 1 */
    uint32_t *orders; /* n_depths x n_rows: u, each part of a node sorted by score; with sweep n_rows */
    uint32_t *ranks;  /* n_depths x n_rows: the number of rows of the other part that precede this entry */
    uint8_t *masks;   /* of rows in blocks: one bit for each row of the block */
    uint32_t *all;    /* a query: whether all its pairs are active; unused with sweep */
    thr_rank_op_counts *counts;
} thr_rank_pairs;

/* scores: X v of the rows of listed queries, less the query's mean; v NULL: zeros. by_row: scratch, n_rows. */
typedef struct thr_rank_scores_op {
    thr_rank_queries queries;
    thr_rank_matrix x;
    const double *v;
    double *by_row, *scores;
} thr_rank_scores_op;

/* Find the pairs whose better row scores less than 1 above the worse row. spare: scratch, 2 n_rows. */
typedef struct thr_rank_order_op {
    thr_rank_queries queries;
    thr_rank_pairs pairs;
    const double *scores;
    uint32_t *spare;
} thr_rank_order_op;

/*
 * Compute the loss of pairs at scores: costs[i] of query listed[i], o b of rows to counts, and r, in the order of
 * rows, to r. sums: scratch, 4 n_rows. Overwrites scores.
 */
typedef struct thr_rank_costs_op {
    thr_rank_queries queries;
    thr_rank_pairs pairs;
    double *scores, *sums, *counts, *r, *costs;
} thr_rank_costs_op;

/* Compute r(t) of scores t with the current pairs and counts, in the order of rows, to r; other fields as above. */
typedef struct thr_rank_hessian_op {
    thr_rank_queries queries;
    thr_rank_pairs pairs;
    const double *counts;
    double *scores, *sums, *r;
} thr_rank_hessian_op;

/*
 * out = v + X' r. Chunk c covers the listed queries chunks[c] to chunks[c + 1] - 1. Their rows are added in order
 * to partial, n_chunks x n_features, then the chunks in the order of rank/solver/sum_tree.h, which overwrites partial.
 * With costs: values[c] is the sum of the costs of the chunk's queries.
 */
typedef struct thr_rank_add_op {
    thr_rank_queries queries;
    thr_rank_matrix x;
    uint32_t n_chunks;
    const uint32_t *chunks; /* n_chunks + 1 */
    const double *r;        /* sparse X: 0 for rows of queries that are not listed */
    const double *v;
    double *partial, *out;
    const double *costs; /* or NULL */
    double *values;
} thr_rank_add_op;

/*
 * Write the approximate diagonal of the Hessian to out, as thr_rank_evaluate does. Scratch: partial, n_chunks x
 * n_features; sums, 2 n_rows, of sparse X only.
 */
typedef struct thr_rank_diagonal_op {
    thr_rank_queries queries;
    thr_rank_matrix x;
    uint32_t n_chunks;
    const uint32_t *chunks;
    const double *counts;
    double *sums, *partial, *out;
} thr_rank_diagonal_op;

/*
 * Build the approximate Hessian for the preconditioner (rank/solver/precondition.h) from n_sampled queries and every
 * row_step-th u of these. Their rows begin in the panel at starts[i]; starts[n_sampled] is the total. Write the roots
 * of the diagonal to scales, and the products of the scaled rows to matrix, n_features x n_features, without the 1 of
 * the diagonal. Scratch: means, n_sampled x n_features, and panel, one line per sampled row.
 */
typedef struct thr_rank_sample_op {
    thr_rank_queries queries;
    thr_rank_matrix x;
    uint32_t n_sampled, n_panel_rows; /* starts[n_sampled] */
    uint64_t row_step;
    double share; /* all rows / sampled rows */
    const uint32_t *sampled, *starts;
    const double *counts;
    double *means, *scales;
    float *panel, *matrix;
} thr_rank_sample_op;
