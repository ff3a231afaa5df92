/* SPDX-License-Identifier: Apache-2.0 */
/* problem.c - parallel passes over all queries: evaluation, Hessian products, counting correctly ordered pairs. */
#include "rank/solver/problem.h"

#include <float.h>
#include <string.h>

#include "base/minmax.h"
#include "parallel/pool.h"
#include "rank/solver/scratch.h"

static const double MARGIN = 1.0;

static thr_pair_tree tree_of(const thr_rank_problem *problem, uint64_t query) {
    const uint64_t first = problem->view.offsets[query];
    const size_t node = problem->node_starts[query];
    return (thr_pair_tree){.n = (uint32_t)(problem->view.offsets[query + 1] - first),
                           .levels = problem->levels + first,
                           .n_nodes = problem->node_starts[query + 1] - node,
                           .nodes = problem->nodes + node,
                           .ranks = problem->ranks + problem->rank_starts[query],
                           .masks = problem->masks + first,
                           .all = problem->all + query};
}

/* Needs thr_rank_problem_sweep. */
static thr_pair_sweep sweep_of(const thr_rank_problem *problem, uint64_t query) {
    const uint64_t first = problem->view.offsets[query];
    return (thr_pair_sweep){.n = (uint32_t)(problem->view.offsets[query + 1] - first),
                            .levels = problem->levels + first,
                            .order = problem->orders + first,
                            .counts = problem->pair_counts + first};
}

/* A pass over all queries. A chunk's sums go to the chunk's own arrays. */
typedef struct rank_pass {
    thr_rank_problem *problem;
    void (*query)(const struct rank_pass *pass, uint64_t query, const thr_rank_scratch *scratch, size_t chunk);
    const double *v;    /* w or v; NULL: zeros */
    bool sums, squares; /* which sums by feature the pass computes */
    bool counts_right;  /* visit the queries of `which` (NULL: all) instead of those of positive cost */
    const bool *which;
} rank_pass;

static void subtract_mean(double *values, uint32_t n) {
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += values[i];
    const double mean = sum / n;
    for (uint32_t i = 0; i < n; i++)
        values[i] -= mean;
}

/* scratch->by_label = X v of a query's rows less their mean, in the order of labels. */
static void multiply_rows(const rank_pass *pass, uint64_t query, uint32_t n, const thr_rank_scratch *scratch) {
    const thr_rank_problem *problem = pass->problem;
    const uint64_t first = problem->view.offsets[query];
    const uint32_t *rows = problem->rows + first;
    double *values = scratch->values;
    if (pass->v == NULL) {
        memset(scratch->by_label, 0, n * sizeof *scratch->by_label);
        return;
    }
    thr_rank_rows_times(problem->context->kernels, &problem->view, first, n, pass->v, values);
    subtract_mean(values, n);
    for (uint32_t u = 0; u < n; u++)
        scratch->by_label[u] = values[rows[u]];
}

/*
 * Find the active pairs of the scores in scratch->by_label by the tree. If no two scores differ by the margin all pairs
 * are active, and no order is needed.
 */
static void find_pairs(const thr_pair_tree *tree, double margin, const thr_rank_scratch *scratch) {
    double least = scratch->by_label[0], most = least;
    for (uint32_t u = 0; u < tree->n; u++) {
        const double score = scratch->by_label[u];
        scratch->rows[u] = (thr_scored_row){.score = score, .row = u};
        least = THR_MIN(score, least);
        most = THR_MAX(score, most);
    }
    if (most - least < margin)
        thr_rank_pair_tree_set_all_active(tree, scratch->counts);
    else
        thr_rank_pair_tree_order(tree, scratch->rows, scratch->spare, margin, scratch->counts);
}

/* The same by sweeps. */
static void sweep_pairs(const thr_pair_sweep *sweep, double margin, const thr_rank_scratch *scratch) {
    for (uint32_t u = 0; u < sweep->n; u++)
        scratch->rows[u] = (thr_scored_row){.score = scratch->by_label[u], .row = u};
    thr_rank_pair_sweep_order(sweep, scratch->rows, scratch->spare, margin);
    memcpy(scratch->counts, sweep->counts, sweep->n * sizeof *sweep->counts);
}

/* Sum values over the active pairs of a query into scratch->low and high, or both sums into low if high is low. */
static void sum_pairs(const thr_rank_problem *problem, uint64_t query, const double *values, double *high,
                      const thr_rank_scratch *scratch) {
    if (problem->sweeps) {
        const thr_pair_sweep sweep = sweep_of(problem, query);
        thr_rank_pair_sweep_sums(&sweep, values, scratch->low, high);
        return;
    }
    const thr_pair_tree tree = tree_of(problem, query);
    thr_rank_pair_tree_sums(&tree, values, scratch->low, high, scratch->prefixes);
}

/* Multiply scratch->by_label by the rows' weights. */
static void weigh(const double *weights, uint32_t n, const thr_rank_scratch *scratch) {
    for (uint32_t u = 0; u < n && weights != NULL; u++)
        scratch->by_label[u] *= weights[u];
}

/* ------------------------------------------------------------------------------------------------ costs */

/* b^- and b^+ to scratch->low and ->high; without weights they are the counts. */
static void set_counts(const thr_rank_problem *problem, uint64_t query, const double *weights, uint32_t n,
                       const thr_rank_scratch *scratch) {
    if (weights != NULL)
        sum_pairs(problem, query, weights, scratch->high, scratch);
    for (uint32_t u = 0; u < n && weights == NULL; u++) {
        scratch->low[u] = scratch->counts[u].low;
        scratch->high[u] = scratch->counts[u].high;
    }
}

/*
 * Returns the costs of a query's pairs at the scores in scratch->by_label, and writes r by row to scratch->values. The
 * active pairs and their counts remain for products.
 */
static double costs_of(thr_rank_problem *problem, uint64_t query, const thr_rank_scratch *scratch) {
    const thr_pair_tree tree = tree_of(problem, query);
    const uint64_t first = problem->view.offsets[query];
    const uint32_t n = tree.n;
    const uint32_t *rows = problem->rows + first;
    const double *weights = problem->weights != NULL ? problem->weights + first : NULL;
    double *counts = problem->counts + first, *r = scratch->values;
    const double cost = problem->costs[query];
    double slack = 0, product = 0; /* sum of 1 - (s_i - s_j) over active pairs; r s / 2 c_q */
    if (problem->sweeps) {
        const thr_pair_sweep sweep = sweep_of(problem, query);
        sweep_pairs(&sweep, MARGIN, scratch);
    } else {
        find_pairs(&tree, MARGIN, scratch);
    }
    set_counts(problem, query, weights, n, scratch);
    for (uint32_t u = 0; u < n; u++) {
        const double s = scratch->by_label[u], low = scratch->low[u], high = scratch->high[u];
        const double weight = weights != NULL ? weights[u] : 1;
        counts[u] = weight * (low + high);
        r[rows[u]] = (low + high) * s - (low - high);
        slack += weight * (low * (1.0 - s) + high * s);
    }
    weigh(weights, n, scratch);
    sum_pairs(problem, query, scratch->by_label, scratch->low, scratch);
    for (uint32_t u = 0; u < n; u++) {
        const double rest = r[rows[u]] - scratch->low[u], weight = weights != NULL ? weights[u] : 1;
        product += rest * scratch->by_label[u];
        r[rows[u]] = 2 * cost * weight * rest;
    }
    return cost * (product + slack);
}

/* ------------------------------------------------------------------------------------------ diagonal of the Hessian */

/* A query's term: sum of b x^2 - (sum of b x)^2 / sum of b, which equals sum of b (x - m)^2. */
static void close_feature(double *sum, double *square, double all, double twice, double *total) {
    const double rest = *square - *sum * *sum / all;
    *total += rest > 0 ? twice * rest : 0;
    *sum = *square = 0;
}

static void add_dense_diagonal(const thr_rank_problem *problem, uint64_t query, const thr_rank_scratch *scratch,
                               double all, double *total) {
    const size_t n_features = problem->view.n_features;
    const uint64_t first = problem->view.offsets[query], end = problem->view.offsets[query + 1];
    double *restrict sums = scratch->features, *restrict squares = sums + n_features;
    for (uint64_t u = first; u < end; u++) {
        const double count = problem->counts[u];
        const float *x = problem->view.dense + (first + problem->rows[u]) * n_features;
        for (size_t d = 0; d < n_features; d++) {
            const double part = count * (double)x[d];
            sums[d] += part;
            squares[d] += part * (double)x[d];
        }
    }
    for (size_t d = 0; d < n_features; d++)
        close_feature(&sums[d], &squares[d], all, 2 * problem->costs[query], &total[d]);
}

/* In the order of rows, in which a device has a feature's entries. scratch->values gets the counts in that order. */
static void add_sparse_diagonal(const thr_rank_problem *problem, uint64_t query, const thr_rank_scratch *scratch,
                                double all, double *total) {
    const thr_csr *sparse = &problem->view.sparse;
    const uint64_t first = problem->view.offsets[query], end = problem->view.offsets[query + 1];
    double *sums = scratch->features, *squares = sums + problem->view.n_features, *counts = scratch->values;
    for (uint64_t u = first; u < end; u++)
        counts[problem->rows[u]] = problem->counts[u];
    for (uint64_t row = first; row < end; row++)
        for (uint64_t e = sparse->starts[row]; e < sparse->starts[row + 1]; e++) {
            const double x = (double)sparse->values[e], part = counts[row - first] * x;
            sums[sparse->columns[e]] += part;
            squares[sparse->columns[e]] += part * x;
        }
    for (uint64_t e = sparse->starts[first]; e < sparse->starts[end]; e++)
        close_feature(&sums[sparse->columns[e]], &squares[sparse->columns[e]], all, 2 * problem->costs[query],
                      &total[sparse->columns[e]]);
}

static void add_diagonal(const thr_rank_problem *problem, uint64_t query, const thr_rank_scratch *scratch,
                         double *total) {
    double all = 0;
    for (uint64_t u = problem->view.offsets[query]; u < problem->view.offsets[query + 1]; u++)
        all += problem->counts[u];
    if (all > 0)
        (problem->view.dense != NULL ? add_dense_diagonal : add_sparse_diagonal)(problem, query, scratch, all, total);
}

/* ---------------------------------------------------------------------------------------------- passes over a query */

static void evaluate_query(const rank_pass *pass, uint64_t query, const thr_rank_scratch *scratch, size_t chunk) {
    thr_rank_problem *problem = pass->problem;
    const thr_ranking_view *view = &problem->view;
    const uint64_t first = view->offsets[query];
    const uint32_t n = (uint32_t)(view->offsets[query + 1] - first);
    multiply_rows(pass, query, n, scratch);
    problem->chunk_values[chunk] += costs_of(problem, query, scratch);
    thr_rank_rows_add(problem->context->kernels, view, first, n, scratch->values,
                      problem->partial_sums + chunk * view->n_features);
    if (pass->squares)
        add_diagonal(problem, query, scratch, problem->partial_squares + chunk * view->n_features);
}

static void multiply_query(const rank_pass *pass, uint64_t query, const thr_rank_scratch *scratch, size_t chunk) {
    const thr_rank_problem *problem = pass->problem;
    const thr_ranking_view *view = &problem->view;
    const uint64_t first = view->offsets[query];
    const uint32_t n = (uint32_t)(view->offsets[query + 1] - first);
    const uint32_t *rows = problem->rows + first;
    const double *counts = problem->counts + first;
    const double *weights = problem->weights != NULL ? problem->weights + first : NULL;
    const double twice = 2 * problem->costs[query];
    double *sums = scratch->low, *values = scratch->values;
    multiply_rows(pass, query, n, scratch);
    for (uint32_t u = 0; u < n; u++)
        scratch->high[u] = counts[u] * scratch->by_label[u];
    weigh(weights, n, scratch);
    sum_pairs(problem, query, scratch->by_label, sums, scratch);
    for (uint32_t u = 0; u < n; u++)
        values[rows[u]] = twice * (scratch->high[u] - (weights != NULL ? weights[u] : 1) * sums[u]);
    thr_rank_rows_add(problem->context->kernels, view, first, n, values,
                      problem->partial_sums + chunk * view->n_features);
}

/*
 * With the smallest positive margin, the active pairs are those whose better row has no higher score: the wrong ones.
 */
static void count_wrong_pairs(const rank_pass *pass, uint64_t query, const thr_rank_scratch *scratch, size_t chunk) {
    thr_rank_problem *problem = pass->problem;
    const thr_pair_tree tree = tree_of(problem, query);
    double wrong = 0;
    multiply_rows(pass, query, tree.n, scratch);
    find_pairs(&tree, DBL_TRUE_MIN, scratch);
    for (uint32_t u = 0; u < tree.n; u++)
        wrong += scratch->counts[u].low;
    problem->chunk_values[chunk] += wrong;
}

/* ------------------------------------------------------------------------------------------ passes over all queries */

static bool visits_query(const rank_pass *pass, uint64_t query) {
    return pass->counts_right ? pass->which == NULL || pass->which[query] : pass->problem->costs[query] > 0;
}

static void run_chunk(void *arg, size_t chunk, uint32_t worker) {
    const rank_pass *pass = arg;
    thr_rank_problem *problem = pass->problem;
    const size_t n_features = problem->view.n_features;
    const thr_rank_scratch scratch = thr_rank_scratch_of(problem, worker);
    problem->chunk_values[chunk] = 0;
    if (pass->sums)
        memset(problem->partial_sums + chunk * n_features, 0, n_features * sizeof(double));
    if (pass->squares)
        memset(problem->partial_squares + chunk * n_features, 0, n_features * sizeof(double));
    for (uint64_t q = problem->chunks[chunk]; q < problem->chunks[chunk + 1]; q++)
        if (problem->n_pairs[q] != 0 && visits_query(pass, q))
            pass->query(pass, q, &scratch, chunk);
}

static void run(rank_pass *pass) {
    const thr_rank_problem *problem = pass->problem;
    thr_parallel_for(problem->context, problem->n_chunks, run_chunk, pass);
    thr_rank_add_chunks(&problem->range, problem->chunk_values, 1);
    if (pass->sums)
        thr_rank_add_chunks(&problem->range, problem->partial_sums, problem->view.n_features);
    if (pass->squares)
        thr_rank_add_chunks(&problem->range, problem->partial_squares, problem->view.n_features);
}

void thr_rank_sum_losses(thr_rank_problem *problem, const double *w, bool diagonal) {
    bool zeros = true;
    for (uint32_t d = 0; d < problem->view.n_features; d++)
        zeros &= !(w[d] * w[d] > 0);
    rank_pass evaluation = {
        .problem = problem, .query = evaluate_query, .v = zeros ? NULL : w, .sums = true, .squares = diagonal};
    run(&evaluation);
}

double thr_rank_evaluate(thr_rank_problem *problem, const double *w, double *gradient, double *diagonal) {
    thr_rank_sum_losses(problem, w, diagonal != NULL);
    return thr_rank_add_norm(problem, w, problem->partial_sums, problem->chunk_values[0], problem->partial_squares,
                             gradient, diagonal);
}

void thr_rank_sum_products(thr_rank_problem *problem, const double *v) {
    rank_pass product = {.problem = problem, .query = multiply_query, .v = v, .sums = true};
    run(&product);
}

void thr_rank_product(thr_rank_problem *problem, const double *v, double *out) {
    thr_rank_sum_products(problem, v);
    for (size_t d = 0; d < problem->view.n_features; d++)
        out[d] = v[d] + problem->partial_sums[d];
}

uint64_t thr_rank_right_pairs(thr_rank_problem *problem, const double *w, const bool *which, uint64_t *n_pairs) {
    rank_pass counting = {.problem = problem, .query = count_wrong_pairs, .v = w, .counts_right = true, .which = which};
    uint64_t n = 0;
    for (uint64_t q = 0; q < problem->view.n_queries; q++)
        n += which == NULL || which[q] ? problem->n_pairs[q] : 0;
    *n_pairs = n;
    run(&counting);
    for (size_t c = problem->range.first; c < problem->range.end; c += thr_rank_covers(&problem->range, c))
        n -= (uint64_t)problem->chunk_values[c - problem->range.first];
    return n;
}
