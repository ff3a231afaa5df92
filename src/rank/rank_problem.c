/* SPDX-License-Identifier: Apache-2.0 */
/* Passes over the queries of all chunks: evaluations, products, steps along a line. */
#include "rank/rank_problem.h"

#include <float.h>
#include <string.h>

#include "parallel/pool.h"
#include "rank/rank_scratch.h"

static thr_pair_rows rows_of(const thr_rank_problem *problem, uint64_t query) {
    const uint64_t first = problem->view.offsets[query];
    return (thr_pair_rows){.n = (uint32_t)(problem->view.offsets[query + 1] - first),
                           .n_levels = problem->n_levels[query],
                           .levels = problem->sorted_levels + first,
                           .lows = problem->lows + first,
                           .highs = problem->highs + first};
}

/* A pass over all queries; of a chunk, numbers go to the chunk's own. */
typedef struct rank_pass {
    thr_rank_problem *problem;
    void (*query)(const struct rank_pass *pass, uint64_t query, const thr_rank_scratch *scratch, size_t chunk);
    const double *v; /* w, v or d */
    double step;
    bool sums, squares; /* what is added up by feature */
    bool judges;        /* queries of which, or all, not those whose pairs cost something */
    const bool *which;
} rank_pass;

static void take_mean_off(double *values, uint32_t n) {
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += values[i];
    const double mean = sum / n;
    for (uint32_t i = 0; i < n; i++)
        values[i] -= mean;
}

/* Order and levels by these scores, beginning with the order there is, and thresholds for a margin. */
static void set_order(thr_rank_problem *problem, uint64_t query, const double *scores, double margin,
                      const thr_rank_scratch *scratch) {
    const uint64_t first = problem->view.offsets[query];
    const uint32_t n = (uint32_t)(problem->view.offsets[query + 1] - first);
    uint32_t *order = problem->order + first;
    for (uint32_t p = 0; p < n; p++)
        scratch->rows[p] = (thr_scored_row){.score = scores[order[p]], .row = order[p]};
    const thr_scored_row *sorted = thr_scored_rows_sort(scratch->rows, scratch->spare, n);
    for (uint32_t p = 0; p < n; p++) {
        order[p] = sorted[p].row;
        problem->sorted_levels[first + p] = problem->levels[first + sorted[p].row];
    }
    thr_pair_thresholds(sorted, n, margin, problem->lows + first, problem->highs + first);
}

/* ------------------------------------------------------------------------------------------------ costs */

/*
 * The costs of a query's pairs at these scores, and r by row in scratch->force. Leaves order, thresholds and counts
 * behind. Sums of values 1 are counts, exact in double.
 */
static double costs_of(thr_rank_problem *problem, uint64_t query, const double *scores,
                       const thr_rank_scratch *scratch) {
    set_order(problem, query, scores, 1.0, scratch);
    const thr_pair_rows rows = rows_of(problem, query);
    const uint64_t first = problem->view.offsets[query];
    const uint32_t *order = problem->order + first;
    uint32_t *counts = problem->counts + first;
    const double cost = problem->costs[query];
    double slack = 0, product = 0; /* sum of 1 - (s_i - s_j) over active pairs, and r s / 2 c_q */
    for (uint32_t p = 0; p < rows.n; p++)
        scratch->sorted[p] = 1.0;
    thr_pair_sums(&rows, scratch->sorted, scratch->low, scratch->high, scratch->sums);
    for (uint32_t p = 0; p < rows.n; p++) {
        const double s = scores[order[p]], below = scratch->low[p], above = scratch->high[p];
        counts[p] = (uint32_t)(below + above);
        scratch->force[order[p]] = (below + above) * s - (below - above);
        slack += below * (1.0 - s);
        scratch->sorted[p] = s;
    }
    thr_pair_sums(&rows, scratch->sorted, scratch->low, scratch->high, scratch->sums);
    for (uint32_t p = 0; p < rows.n; p++) {
        const double force = scratch->force[order[p]] - (scratch->low[p] + scratch->high[p]);
        product += force * scratch->sorted[p];
        slack += scratch->low[p];
        scratch->force[order[p]] = 2 * cost * force;
    }
    return cost * (product + slack);
}

/* ------------------------------------------------------------------------------------------------ the diagonal */

/* What a query adds: sum of b x^2 - (sum of b x)^2 / sum of b, which is sum of b (x - m)^2. */
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
    for (uint64_t p = first; p < end; p++) {
        const double count = problem->counts[p];
        const float *x = problem->view.dense + (first + problem->order[p]) * n_features;
        for (size_t d = 0; d < n_features; d++) {
            const double part = count * (double)x[d];
            sums[d] += part;
            squares[d] += part * (double)x[d];
        }
    }
    for (size_t d = 0; d < n_features; d++)
        close_feature(&sums[d], &squares[d], all, 2 * problem->costs[query], &total[d]);
}

static void add_sparse_diagonal(const thr_rank_problem *problem, uint64_t query, const thr_rank_scratch *scratch,
                                double all, double *total) {
    const thr_csr *sparse = &problem->view.sparse;
    const uint64_t first = problem->view.offsets[query], end = problem->view.offsets[query + 1];
    double *sums = scratch->features, *squares = sums + problem->view.n_features;
    for (uint64_t p = first; p < end; p++) {
        const uint64_t row = first + problem->order[p];
        for (uint64_t e = sparse->starts[row]; e < sparse->starts[row + 1]; e++) {
            const double x = (double)sparse->values[e], part = problem->counts[p] * x;
            sums[sparse->columns[e]] += part;
            squares[sparse->columns[e]] += part * x;
        }
    }
    for (uint64_t e = sparse->starts[first]; e < sparse->starts[end]; e++)
        close_feature(&sums[sparse->columns[e]], &squares[sparse->columns[e]], all, 2 * problem->costs[query],
                      &total[sparse->columns[e]]);
}

static void add_diagonal(const thr_rank_problem *problem, uint64_t query, const thr_rank_scratch *scratch,
                         double *total) {
    double all = 0;
    for (uint64_t p = problem->view.offsets[query]; p < problem->view.offsets[query + 1]; p++)
        all += problem->counts[p];
    if (all > 0)
        (problem->view.dense != NULL ? add_dense_diagonal : add_sparse_diagonal)(problem, query, scratch, all, total);
}

/* ------------------------------------------------------------------------------------------------ of a query */

static void evaluate_query(const rank_pass *pass, uint64_t query, const thr_rank_scratch *scratch, size_t chunk) {
    thr_rank_problem *problem = pass->problem;
    const thr_ranking_view *view = &problem->view;
    const uint64_t first = view->offsets[query];
    const uint32_t n = (uint32_t)(view->offsets[query + 1] - first);
    double *scores = problem->scores + first;
    thr_rank_rows_times(problem->context->kernels, view, first, n, pass->v, scores);
    take_mean_off(scores, n);
    problem->chunk_values[chunk] += costs_of(problem, query, scores, scratch);
    thr_rank_rows_add(problem->context->kernels, view, first, n, scratch->force,
                      problem->partial_sums + chunk * view->n_features);
    if (pass->squares)
        add_diagonal(problem, query, scratch, problem->partial_squares + chunk * view->n_features);
}

static void multiply_query(const rank_pass *pass, uint64_t query, const thr_rank_scratch *scratch, size_t chunk) {
    const thr_rank_problem *problem = pass->problem;
    const thr_ranking_view *view = &problem->view;
    const thr_pair_rows rows = rows_of(problem, query);
    const uint64_t first = view->offsets[query];
    const uint32_t *order = problem->order + first, *counts = problem->counts + first;
    const double twice = 2 * problem->costs[query];
    double *values = scratch->values;
    thr_rank_rows_times(problem->context->kernels, view, first, rows.n, pass->v, values);
    take_mean_off(values, rows.n);
    for (uint32_t p = 0; p < rows.n; p++)
        scratch->sorted[p] = values[order[p]];
    thr_pair_sums(&rows, scratch->sorted, scratch->low, scratch->high, scratch->sums);
    for (uint32_t p = 0; p < rows.n; p++)
        values[order[p]] = twice * (counts[p] * scratch->sorted[p] - (scratch->low[p] + scratch->high[p]));
    thr_rank_rows_add(problem->context->kernels, view, first, rows.n, values,
                      problem->partial_sums + chunk * view->n_features);
}

static void aim_query(const rank_pass *pass, uint64_t query, const thr_rank_scratch *scratch, size_t chunk) {
    (void)scratch, (void)chunk;
    const thr_rank_problem *problem = pass->problem;
    const thr_ranking_view *view = &problem->view;
    const uint64_t first = view->offsets[query];
    const uint32_t n = (uint32_t)(view->offsets[query + 1] - first);
    double *steps = problem->steps + first;
    thr_rank_rows_times(problem->context->kernels, view, first, n, pass->v, steps);
    take_mean_off(steps, n);
}

static void step_query(const rank_pass *pass, uint64_t query, const thr_rank_scratch *scratch, size_t chunk) {
    thr_rank_problem *problem = pass->problem;
    const uint64_t first = problem->view.offsets[query];
    const uint32_t n = (uint32_t)(problem->view.offsets[query + 1] - first);
    for (uint32_t i = 0; i < n; i++)
        scratch->values[i] = problem->scores[first + i] + pass->step * problem->steps[first + i];
    problem->chunk_values[chunk] += costs_of(problem, query, scratch->values, scratch);
}

/*
 * With the least margin there is, the rows from lows[p] on are those whose score is not below p's: of lower levels,
 * they are wrong.
 */
static void judge_query(const rank_pass *pass, uint64_t query, const thr_rank_scratch *scratch, size_t chunk) {
    thr_rank_problem *problem = pass->problem;
    const thr_ranking_view *view = &problem->view;
    const uint64_t first = view->offsets[query];
    const uint32_t n = (uint32_t)(view->offsets[query + 1] - first);
    thr_rank_rows_times(problem->context->kernels, view, first, n, pass->v, scratch->values);
    set_order(problem, query, scratch->values, DBL_TRUE_MIN, scratch);
    const thr_pair_rows rows = rows_of(problem, query);
    for (uint32_t p = 0; p < n; p++)
        scratch->sorted[p] = 1.0;
    thr_pair_sums(&rows, scratch->sorted, scratch->low, scratch->high, scratch->sums);
    for (uint32_t p = 0; p < n; p++)
        problem->chunk_values[chunk] += scratch->low[p];
}

/* ------------------------------------------------------------------------------------------------ of all */

static bool takes(const rank_pass *pass, uint64_t query) {
    return pass->judges ? pass->which == NULL || pass->which[query] : pass->problem->costs[query] > 0;
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
        if (problem->n_pairs[q] != 0 && takes(pass, q))
            pass->query(pass, q, &scratch, chunk);
}

/* The sum of all chunks' values. */
static double run(rank_pass *pass) {
    const thr_rank_problem *problem = pass->problem;
    double sum = 0;
    thr_parallel_for(problem->context, problem->n_chunks, run_chunk, pass);
    for (size_t c = 0; c < problem->n_chunks; c++)
        sum += problem->chunk_values[c];
    return sum;
}

static void add_chunks(const thr_rank_problem *problem, const double *partial, double *out) {
    const size_t n = problem->view.n_features;
    for (size_t c = 0; c < problem->n_chunks; c++)
        for (size_t d = 0; d < n; d++)
            out[d] += partial[c * n + d];
}

double thr_rank_evaluate(thr_rank_problem *problem, const double *w, double *gradient, double *diagonal) {
    const size_t n = problem->view.n_features;
    rank_pass evaluation = {
        .problem = problem, .query = evaluate_query, .v = w, .sums = true, .squares = diagonal != NULL};
    const double costs = run(&evaluation);
    double squares = 0;
    for (size_t d = 0; d < n; d++) {
        squares += w[d] * w[d];
        gradient[d] = w[d];
    }
    add_chunks(problem, problem->partial_sums, gradient);
    if (diagonal != NULL) {
        for (size_t d = 0; d < n; d++)
            diagonal[d] = 1;
        add_chunks(problem, problem->partial_squares, diagonal);
    }
    return 0.5 * squares + costs;
}

void thr_rank_product(thr_rank_problem *problem, const double *v, double *out) {
    rank_pass product = {.problem = problem, .query = multiply_query, .v = v, .sums = true};
    (void)run(&product);
    memcpy(out, v, problem->view.n_features * sizeof *out);
    add_chunks(problem, problem->partial_sums, out);
}

void thr_rank_aim(thr_rank_problem *problem, const double *d) {
    rank_pass aim = {.problem = problem, .query = aim_query, .v = d};
    (void)run(&aim);
}

double thr_rank_costs_along(thr_rank_problem *problem, double step) {
    rank_pass line = {.problem = problem, .query = step_query, .step = step};
    return run(&line);
}

uint64_t thr_rank_right_pairs(thr_rank_problem *problem, const double *w, const bool *which, uint64_t *n_pairs) {
    rank_pass judgement = {.problem = problem, .query = judge_query, .v = w, .judges = true, .which = which};
    uint64_t n = 0;
    for (uint64_t q = 0; q < problem->view.n_queries; q++)
        n += which == NULL || which[q] ? problem->n_pairs[q] : 0;
    *n_pairs = n;
    return n - (uint64_t)run(&judgement);
}
