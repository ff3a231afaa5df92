/* SPDX-License-Identifier: Apache-2.0 */
/*
 * problem.h - the objective of a linear RankSVM, its gradient and products with its Hessian.
 *
 *     f(w) = 1/2 |w|^2 + sum over queries q of c_q sum over pairs of q, y_i > y_j, of
 *            o_i o_j max(0, 1 - (s_i - s_j))^2,   s = X w
 *
 * These are RankSVM (11) to (13) with a cost c_q for each query's pairs and a weight o for each row, usually 1. Let b
 * and a be the sums of o and of o t over a row's active pairs (pair_tree.h); b^- is the part of worse rows, b^+ that of
 * better rows:
 *
 *     r_i        = 2 c_q o_i (b_i s_i - a_i(s) - (b_i^- - b_i^+)),     gradient of f = w + X' r
 *     r_i(t)     = 2 c_q o_i (b_i t_i - a_i(t)), t = X v,              Hessian v     = v + X' r(t)
 *     costs of q = 1/2 r s + c_q sum of o_i (b_i^- (1 - s_i) + b_i^+ s_i)
 *
 * Only differences within a query matter, so a query's mean is subtracted from s and t. This is equivalent to centring
 * the features of each query, without a copy, and keeps the differences of sums exact if features are far from 0.
 *
 * Active pairs depend on w and are found once, in thr_rank_evaluate. An evaluation and a product each read X once: a
 * query's rows stay in cache between X v and X' r. Queries are divided into chunks by the data alone. Each chunk has
 * its own partial sums, which are added by a fixed tree (sum_tree.h): the same bits for any number of threads.
 *
 * Memory: 17 bytes per row, 8 more with row weights and 12 more for sweeps; 4 bytes for each node that a row is in, 8
 * in nodes of more than 65,536 rows (pair_tree.h); and two vectors per chunk. The number of chunks is limited so that
 * these vectors have at most a sixteenth as many numbers as X.
 */
#pragma once

#include <thresher/rank.h>

#include "base/memory.h"
#include "rank/row_products.h"
#include "rank/solver/pair_sweep.h"
#include "rank/solver/sum_tree.h"

typedef struct thr_rank_problem {
    thr_context *context;
    thr_ranking_view view; /* must outlive the problem */
    double *costs;         /* c_q of every query, 0 or more; may be changed between evaluations */
    uint64_t *n_pairs;     /* of every query */
    uint64_t n_all_pairs;
    const double *pair_weights; /* of every query, the caller's; NULL: thr_rank_pair_weight computes them */
    /* By row; within a query in the order of labels. */
    uint32_t *rows;   /* row within the query, from 0 */
    uint32_t *levels; /* rank of its label among the query's distinct labels */
    double *weights;  /* o; NULL if all are 1 */
    double *counts;   /* o_i b_i: weighted numbers of active pairs, integers if all weights are 1 */
    uint8_t *masks;
    /* Nodes and ranks of all queries, concatenated. */
    size_t *node_starts, *rank_starts; /* n_queries + 1 */
    bool *all;
    thr_pair_node *nodes;
    uint16_t *ranks;
    /* By row, for sweeps; NULL until thr_rank_problem_sweep allocates them. */
    bool sweeps;
    uint32_t *orders;
    thr_pair_counts *pair_counts;
    /* Chunk c has the queries chunks[c] to chunks[c + 1] - 1. range: what part of the whole the chunks are. */
    size_t n_chunks;
    thr_rank_range range;
    uint64_t *chunks;
    double *partial_sums, *partial_squares; /* n_chunks x n_features */
    double *chunk_values;                   /* n_chunks */
    /* For the threads' scratch memory. */
    uint32_t longest; /* most rows of a query */
    size_t scratch_size;
    double *scratch;
} thr_rank_problem;

/*
 * Create a problem whose costs are all 1. row_weights: n_rows, in the view's order, copied; NULL for all 1. THR_OK;
 * THR_EINVAL when no query has two different labels (err gives the cause); THR_EDIM for a query with too many rows;
 * THR_ENOMEM.
 */
thr_status thr_rank_problem_create(thr_context *context, const thr_ranking_view *view, const double *row_weights,
                                   thr_rank_problem **problem, thr_error *err);

/* The same for a part of a whole; it may have no pairs. */
thr_status thr_rank_problem_create_part(thr_context *context, const thr_ranking_view *view, const thr_rank_span *span,
                                        const double *row_weights, thr_rank_problem **problem, thr_error *err);

/* The whole without its rows, for a leader: costs, n_pairs, pair_weights, offsets. THR_OK; THR_ENOMEM. */
thr_status thr_rank_problem_create_whole(thr_context *context, const thr_rank_parts *parts, thr_rank_problem **problem,
                                         thr_error *err);
void thr_rank_problem_free(thr_rank_problem *problem);

/*
 * Select sweeps (pair_sweep.h) or trees for sums over pairs, from the next evaluation on, on the CPU and on a device.
 * The first selection of sweeps allocates 12 bytes per row. THR_OK; THR_ENOMEM.
 */
thr_status thr_rank_problem_sweep(thr_rank_problem *problem, bool sweep, thr_error *err);

/* The sum of o_i o_j over a query's pairs; without weights their number. */
double thr_rank_pair_weight(const thr_rank_problem *problem, uint64_t query);

/*
 * Returns f(w), computes its gradient and prepares products. diagonal, if not NULL, gets an approximation of the
 * Hessian's diagonal, 1 + 2 sum of c_q o_i b_i (x_i - m_q)^2 with m_q the mean of q weighted by o b; the true diagonal
 * is at most twice that, less 1. Vectors have n_features numbers.
 */
double thr_rank_evaluate(thr_rank_problem *problem, const double *w, double *gradient, double *diagonal);

/*
 * The sums of an evaluation, without w, over the problem's chunks: in chunk_values, partial_sums and, if diagonal,
 * partial_squares, added as far as the range allows (sum_tree.h).
 */
void thr_rank_sum_losses(thr_rank_problem *problem, const double *w, bool diagonal);

/* The sums of a product, X' r(X v), without v, over the problem's chunks in the same way: in partial_sums. */
void thr_rank_sum_products(thr_rank_problem *problem, const double *v);

/*
 * Return f(w) = |w|^2 / 2 + loss, where loss, sums and squares are added over all chunks. Writes the gradient, w +
 * sums, and unless diagonal is NULL the diagonal, 1 + squares; squares is not read if diagonal is NULL. Vectors have
 * n_features numbers.
 */
static inline double thr_rank_add_norm(const thr_rank_problem *problem, const double *w, const double *sums,
                                       double loss, const double *squares, double *gradient, double *diagonal) {
    double norm = 0;
    for (uint32_t d = 0; d < problem->view.n_features; d++) {
        norm += w[d] * w[d];
        gradient[d] = w[d] + sums[d];
        if (diagonal != NULL)
            diagonal[d] = 1 + squares[d];
    }
    return 0.5 * norm + loss;
}

/* out = H v at the w of the last evaluation. */
void thr_rank_product(thr_rank_problem *problem, const double *v, double *out);

/*
 * Count the pairs whose better row has the higher score at w (RankSVM (16)), in the queries q with which[q], or in all
 * if which is NULL. Equal scores count as wrong; weights are ignored. *n_pairs receives the number of pairs in those
 * queries. This overwrites the active pairs: evaluate again before the next product.
 */
uint64_t thr_rank_right_pairs(thr_rank_problem *problem, const double *w, const bool *which, uint64_t *n_pairs);
