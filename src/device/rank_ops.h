/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_ops.h - operations of a GPU backend that a linear RankSVM is learned with (rank/problem.h has them for
 * CPUs). Plain structs; pointers are to device memory.
 *
 * Rows stand by query. A query's own are also numbered by label, worst first: u. Arrays of all rows have a query's
 * numbers from its first row on, by u but where it says "in the order of rows".
 *
 * All sums are in the order of the CPU's, an operation at a time, so these give its bits, but for the sums of a sweep.
 * Scores that are not numbers make senseless sums, and nothing worse.
 */
#ifndef THR_DEVICE_RANK_OPS_H
#define THR_DEVICE_RANK_OPS_H

#include <stddef.h>
#include <stdint.h>

/* Of a query's u: begin to middle - 1 are the worse part; middle is end: a block, begin: a level (rank/pair_tree.h). */
typedef struct thr_rank_op_node {
    uint32_t begin, middle, end;
} thr_rank_op_node;

enum { THR_RANK_OP_BLOCK = 8 }; /* rows of a block, at most */
static const uint32_t THR_RANK_OP_NONE = 0xffffffffu;

/* Active pairs with worse and with better rows. */
typedef struct thr_rank_op_counts {
    uint32_t low, high;
} thr_rank_op_counts;

/* Which rows there are, and which queries take part. */
typedef struct thr_rank_queries {
    uint64_t n_rows, n_all;  /* n_all: queries */
    const uint64_t *offsets; /* n_all + 1 */
    const uint32_t *listed;  /* n_listed numbers of queries, ascending */
    uint32_t n_listed;
    const double *costs;   /* c_q of every query */
    const uint32_t *rows;  /* u's row, from the query's first */
    const double *weights; /* o; NULL: 1 */
} thr_rank_queries;

/*
 * The pairs that are active, found by thr_rank_order_op. With sweep, orders are one order of all a query's rows, and
 * pairs are found as in RankSVM, algorithm 2: the reference. Else there is an order for each depth of the tree, and of
 * a row's node its number, the same for all u of it: nodes[depth * n_rows + row], THR_RANK_OP_NONE for rows that are in
 * no node with two parts.
 */
typedef struct thr_rank_pairs {
    const uint32_t *levels;
    const thr_rank_op_node *tree;
    const uint32_t *nodes;
    const uint32_t *leaves; /* the block or level that a row is in at last; THR_RANK_OP_NONE: neither, it is alone */
    uint32_t n_depths;
    uint32_t sweep;   /* 0 or 1 */
    uint32_t *orders; /* n_depths x n_rows: u, parts of a node each by score; with sweep n_rows */
    uint32_t *ranks;  /* n_depths x n_rows: of the row that stands there, how many of the other part are before it */
    uint8_t *masks;   /* of rows in blocks: bits of the block's rows */
    uint32_t *all;    /* of a query: all pairs are active; not with sweep */
    thr_rank_op_counts *counts;
} thr_rank_pairs;

/* scores: X v of listed queries' rows, less the query's mean; v NULL: zeros. by_row is scratch memory, n_rows. */
typedef struct thr_rank_scores_op {
    thr_rank_queries queries;
    const float *x; /* n_features a row, dense, in the order of rows */
    uint32_t n_features;
    const double *v;
    double *by_row, *scores;
} thr_rank_scores_op;

/* Pairs whose better row has a score less than 1 above the other's. spare: n_rows of scratch memory, twice. */
typedef struct thr_rank_order_op {
    thr_rank_queries queries;
    thr_rank_pairs pairs;
    const double *scores;
    uint32_t *spare;
} thr_rank_order_op;

/*
 * What pairs cost at scores, costs[i] of query listed[i]; of rows o b to counts, and r, in the order of rows, to force.
 * sums: n_rows of scratch memory, four times; scores are lost.
 */
typedef struct thr_rank_costs_op {
    thr_rank_queries queries;
    thr_rank_pairs pairs;
    double *scores, *sums, *counts, *force, *costs;
} thr_rank_costs_op;

/* r(t) of scores t by the pairs and counts as they are, in the order of rows, to force; the rest as above. */
typedef struct thr_rank_hessian_op {
    thr_rank_queries queries;
    thr_rank_pairs pairs;
    const double *counts;
    double *scores, *sums, *force;
} thr_rank_hessian_op;

/*
 * out = v + X' force. Chunk c has the listed queries chunks[c] to chunks[c + 1] - 1: their rows are added one after the
 * other to partial, n_chunks x n_features, then chunks one after the other. With costs: values[c], the sum of costs of
 * the chunk's queries.
 */
typedef struct thr_rank_add_op {
    thr_rank_queries queries;
    const float *x;
    uint32_t n_features, n_chunks;
    const uint32_t *chunks; /* n_chunks + 1 */
    const double *force, *v;
    double *partial, *out;
    const double *costs; /* or NULL */
    double *values;
} thr_rank_add_op;

/* The Hessian's diagonal, about, to out, as thr_rank_evaluate has it. partial: n_chunks x n_features. */
typedef struct thr_rank_diagonal_op {
    thr_rank_queries queries;
    const float *x;
    uint32_t n_features, n_chunks;
    const uint32_t *chunks;
    const double *counts;
    double *partial, *out;
} thr_rank_diagonal_op;

/*
 * The matrix near the Hessian that preconditions (rank/precondition.h), of n_sampled queries and of these every
 * row_step-th u, whose rows begin in the panel at starts[i], starts[n_sampled] in all: the diagonal's roots to scales,
 * and the products of rows, scaled by them, to matrix, n_features x n_features, without the 1 of the diagonal. means is
 * scratch memory, n_sampled x n_features, panel as well, of as many rows as there are.
 */
typedef struct thr_rank_sample_op {
    thr_rank_queries queries;
    const float *x;
    uint32_t n_features, n_sampled;
    uint64_t row_step;
    double share; /* of all rows to those of the sample */
    const uint32_t *sampled, *starts;
    const double *counts;
    double *means, *scales;
    float *panel, *matrix;
} thr_rank_sample_op;

#endif
