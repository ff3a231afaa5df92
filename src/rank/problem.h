/* SPDX-License-Identifier: Apache-2.0 */
/*
 * problem.h - the function that a linear RankSVM is the minimum of, its gradient and products with its Hessian.
 *
 *   f(w) = 1/2 |w|^2 + sum over queries q of c_q sum over pairs of q, y_i > y_j, of
 *          o_i o_j max(0, 1 - (s_i - s_j))^2,   s = X w
 *
 * RankSVM (11) to (13) with a cost of its own for each query's pairs, and a weight o of each row, mostly 1. With b and
 * a, for sums of o and of o t over a row's active pairs (pair_tree.h), both sides together, and b also apart (- worse
 * rows, + better):
 *
 *   r_i        = 2 c_q o_i (b_i s_i - a_i(s) - (b_i^- - b_i^+)),     f's gradient  = w + X' r
 *   r_i(t)     = 2 c_q o_i (b_i t_i - a_i(t)), t = X v,              its Hessian v = v + X' r(t)
 *   costs of q = 1/2 r s + c_q sum of o_i (b_i^- (1 - s_i) + b_i^+ s_i)
 *
 * Only differences within a query count, so its mean is taken off s and t: that is what centring the features of each
 * query would do, without a copy, and keeps the differences of sums exact where features stand far from 0.
 *
 * Active pairs belong to w and are found once, in thr_rank_evaluate; that and a product each cost one reading of X: a
 * query's rows are in cache from X v to X' r. Queries are cut into chunks that depend on the data alone; each has
 * partial sums of its own, added in the chunks' order: the same bits for any number of threads.
 *
 * Memory: 17 bytes a row and 4 for each of its nodes, about log2 of the levels; and per chunk two vectors, of which
 * there are so few that they have at most a sixteenth as many numbers as X.
 */
#ifndef THR_RANK_PROBLEM_H
#define THR_RANK_PROBLEM_H

#include "base/memory.h"
#include "rank/pair_tree.h"
#include "rank/row_products.h"

typedef struct thr_rank_problem {
    thr_context *context;
    thr_ranking_view view; /* must live as long */
    double *costs;         /* c_q of every query; may be changed between evaluations, not to below 0 */
    uint64_t *n_pairs;     /* of every query */
    uint64_t n_all_pairs;
    /* By row, those of a query in the order of labels. */
    uint32_t *rows;   /* of the query, from 0 */
    uint32_t *levels; /* place of its label among the query's */
    double *weights;  /* o; NULL: all are 1 */
    double *counts;   /* o_i b_i */
    uint8_t *masks;
    /* By query, and of all queries one after the other. */
    size_t *node_starts, *rank_starts; /* n_queries + 1 */
    bool *all;
    thr_pair_node *nodes;
    uint16_t *ranks;
    /* Chunk c is the queries chunks[c] to chunks[c + 1] - 1. */
    size_t n_chunks;
    uint64_t *chunks;
    double *partial_sums, *partial_squares; /* n_chunks x n_features */
    double *chunk_values;                   /* n_chunks */
    /* A worker's. */
    uint32_t longest; /* rows of a query */
    size_t scratch_size;
    double *scratch;
} thr_rank_problem;

/*
 * costs are all 1. row_weights, n_rows in the order of the view and copied, may be NULL: all 1. THR_OK; THR_EINVAL when
 * no query has two different labels (err says which is the case); THR_EDIM for a query of too many rows; THR_ENOMEM.
 */
thr_status thr_rank_problem_create(thr_context *context, const thr_ranking_view *view, const double *row_weights,
                                   thr_rank_problem **problem, thr_error *err);
void thr_rank_problem_free(thr_rank_problem *problem);

/* The sum of o_i o_j over a query's pairs; without weights how many there are. */
double thr_rank_pair_weight(const thr_rank_problem *problem, uint64_t query);

/*
 * f(w), its gradient, and what products need. diagonal, unless NULL: about the diagonal of the Hessian, 1 + 2 sum of
 * c_q o_i b_i (x_i - m_q)^2 with m_q the mean of q by o b; the Hessian's own is at most twice that, less 1. Vectors
 * have n_features numbers.
 */
double thr_rank_evaluate(thr_rank_problem *problem, const double *w, double *gradient, double *diagonal);

/* out = H v, for the w of the last evaluation. */
void thr_rank_product(thr_rank_problem *problem, const double *v, double *out);

/*
 * Pairs of the queries with which[q] (NULL: of all) whose better row has the higher score by w; equal scores are wrong
 * (RankSVM (16)), and weights do not count. *n_pairs: how many there are. Products then need another evaluation.
 */
uint64_t thr_rank_right_pairs(thr_rank_problem *problem, const double *w, const bool *which, uint64_t *n_pairs);

#endif
