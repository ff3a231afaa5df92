/* SPDX-License-Identifier: Apache-2.0 */
/* setup.c - creating a problem: memory, the levels of labels, pair trees and chunks. */
#include <string.h>

#include "base/error.h"
#include "base/minmax.h"
#include "rank/solver/scratch.h"

/* Rank the query's distinct labels and count its pairs, which are the pairs of rows with different labels. */
static void set_levels(thr_rank_problem *problem, uint64_t query, thr_scored_row *rows, thr_scored_row *spare) {
    const uint64_t first = problem->view.offsets[query];
    const uint32_t n = (uint32_t)(problem->view.offsets[query + 1] - first);
    uint32_t level = 0;
    uint64_t pairs = 0;
    for (uint32_t i = 0; i < n; i++)
        rows[i] = (thr_scored_row){.score = problem->view.labels[first + i], .row = i};
    const thr_scored_row *sorted = thr_rank_sort_scored_rows(rows, spare, n);
    for (uint32_t i = 0, of_level = 0; i < n; i++, of_level++) {
        if (i > 0 && sorted[i].score > sorted[i - 1].score) {
            level++;
            of_level = 0;
        }
        pairs += i - of_level; /* pairs with the rows of lower levels */
        problem->rows[first + i] = sorted[i].row;
        problem->levels[first + i] = level;
    }
    problem->n_pairs[query] = pairs;
    problem->n_all_pairs += pairs;
}

static thr_status check_pairs(const thr_rank_problem *problem, thr_error *err) {
    const thr_ranking_view *view = &problem->view;
    if (problem->n_all_pairs != 0)
        return THR_OK;
    if (view->n_queries == view->n_rows)
        return thr_fail(err, THR_EINVAL,
                        "no pairs to learn from: each of the %llu queries has one row; give rows of the same query the "
                        "same qid",
                        (unsigned long long)view->n_queries);
    return thr_fail(err, THR_EINVAL,
                    "no pairs to learn from: in each of the %llu queries, %llu rows in all, the labels are equal; a "
                    "pair needs two labels within a query",
                    (unsigned long long)view->n_queries, (unsigned long long)view->n_rows);
}

/*
 * Chunks of about equal work, counted as numbers of X plus a constant for each row. Their number depends on the data
 * alone, and their vectors are small compared with X.
 */
enum { VALUES_A_SUM = 32, ROW_WORK = 32 };

typedef struct query_sizes {
    const uint64_t *offsets; /* rows before each query */
    const uint64_t *values;  /* values before each query; NULL: before[row] of its first row, or dense rows */
    const uint64_t *before;
    uint64_t n_queries;
    uint32_t n_features;
} query_sizes;

static uint64_t values_before(const query_sizes *sizes, uint64_t query) {
    if (sizes->values != NULL)
        return sizes->values[query];
    return sizes->before != NULL ? sizes->before[sizes->offsets[query]] : sizes->offsets[query] * sizes->n_features;
}

static double work_before(const query_sizes *sizes, uint64_t query) {
    return (double)values_before(sizes, query) + (double)(ROW_WORK * sizes->offsets[query]);
}

static size_t set_chunks(const query_sizes *sizes, uint64_t *starts) {
    const uint64_t n_queries = sizes->n_queries, n_features = sizes->n_features > 0 ? sizes->n_features : 1;
    uint64_t n = 1 + values_before(sizes, n_queries) / VALUES_A_SUM / n_features;
    n = THR_MIN(n, THR_RANK_MAX_CHUNKS);
    n = THR_MIN(n, n_queries);
    const double all = work_before(sizes, n_queries);
    size_t chunk = 0;
    starts[0] = 0;
    for (uint64_t q = 0; q < n_queries; q++)
        while (chunk + 1 < n && work_before(sizes, q + 1) * (double)n >= all * (double)(chunk + 1))
            starts[++chunk] = q + 1;
    while (chunk < n)
        starts[++chunk] = n_queries;
    return (size_t)n;
}

size_t thr_rank_chunks(const uint64_t *offsets, const uint64_t *values, uint64_t n_queries, uint32_t n_features,
                       uint64_t *starts) {
    const query_sizes sizes = {.offsets = offsets, .values = values, .n_queries = n_queries, .n_features = n_features};
    return set_chunks(&sizes, starts);
}

/* The span's chunks, or all. */
static void take_chunks(thr_rank_problem *problem, const thr_rank_span *span) {
    const thr_ranking_view *view = &problem->view;
    const query_sizes sizes = {.offsets = view->offsets,
                               .before = view->dense == NULL ? view->sparse.starts : NULL,
                               .n_queries = view->n_queries,
                               .n_features = view->n_features};
    if (span == NULL) {
        problem->n_chunks = set_chunks(&sizes, problem->chunks);
        problem->range = (thr_rank_range){.end = problem->n_chunks, .n_chunks = problem->n_chunks};
        return;
    }
    problem->n_chunks = span->end - span->first;
    problem->range = (thr_rank_range){.first = span->first, .end = span->end, .n_chunks = span->n_chunks};
    for (size_t c = 0; c <= problem->n_chunks; c++)
        problem->chunks[c] = span->starts[span->first + c] - span->starts[span->first];
}

static thr_status make_rows(thr_rank_problem *problem, thr_error *err) {
    thr_context *context = problem->context;
    const size_t n = (size_t)problem->view.n_rows, n_queries = (size_t)problem->view.n_queries;
    THR_TRY(thr_alloc(context, n_queries, sizeof(double), &problem->costs, "costs of queries", err));
    THR_TRY(thr_alloc(context, n_queries, sizeof(uint64_t), &problem->n_pairs, "numbers of pairs", err));
    THR_TRY(thr_alloc(context, n_queries, sizeof(bool), &problem->all, "marks of queries", err));
    THR_TRY(thr_alloc(context, n_queries + 1, sizeof(size_t), &problem->node_starts, "nodes of queries", err));
    THR_TRY(thr_alloc(context, n_queries + 1, sizeof(size_t), &problem->rank_starts, "ranks of queries", err));
    THR_TRY(thr_alloc(context, n, sizeof(uint32_t), &problem->rows, "an order of rows", err));
    THR_TRY(thr_alloc(context, n, sizeof(uint32_t), &problem->levels, "levels", err));
    THR_TRY(thr_alloc(context, n, sizeof(uint8_t), &problem->masks, "marks of pairs", err));
    return thr_alloc(context, n, sizeof(double), &problem->counts, "counts of pairs", err);
}

/* Build every query's tree; a query without pairs has no nodes. */
static thr_status make_trees(thr_rank_problem *problem, thr_error *err) {
    const thr_ranking_view *view = &problem->view;
    size_t n_nodes = 0, n_ranks = 0;
    for (uint64_t q = 0; q < view->n_queries; q++) {
        const uint32_t n = (uint32_t)(view->offsets[q + 1] - view->offsets[q]);
        size_t ranks = 0;
        problem->node_starts[q] = n_nodes;
        problem->rank_starts[q] = n_ranks;
        n_nodes += thr_rank_pair_tree_shape(problem->levels + view->offsets[q], n, NULL, &ranks);
        n_ranks += ranks;
    }
    problem->node_starts[view->n_queries] = n_nodes;
    problem->rank_starts[view->n_queries] = n_ranks;
    THR_TRY(thr_alloc(problem->context, n_nodes, sizeof(thr_pair_node), &problem->nodes, "trees over levels", err));
    THR_TRY(thr_alloc(problem->context, n_ranks, sizeof(uint16_t), &problem->ranks, "ranks of rows", err));
    for (uint64_t q = 0; q < view->n_queries; q++) {
        const uint32_t n = (uint32_t)(view->offsets[q + 1] - view->offsets[q]);
        (void)thr_rank_pair_tree_shape(problem->levels + view->offsets[q], n, problem->nodes + problem->node_starts[q],
                                       NULL);
    }
    return THR_OK;
}

static thr_status take_weights(thr_rank_problem *problem, const double *weights, thr_error *err) {
    const thr_ranking_view *view = &problem->view;
    if (weights == NULL)
        return THR_OK;
    THR_TRY(thr_alloc(problem->context, (size_t)view->n_rows, sizeof(double), &problem->weights, "weights", err));
    for (uint64_t q = 0; q < view->n_queries; q++)
        for (uint64_t u = view->offsets[q]; u < view->offsets[q + 1]; u++)
            problem->weights[u] = weights[view->offsets[q] + problem->rows[u]];
    return THR_OK;
}

static thr_status make_chunks(thr_rank_problem *problem, const thr_rank_span *span, thr_error *err) {
    thr_context *context = problem->context;
    const size_t n_features = problem->view.n_features;
    size_t n_sums = 0;
    THR_TRY(thr_alloc(context, THR_RANK_MAX_CHUNKS + 1, sizeof(uint64_t), &problem->chunks, "chunks of queries", err));
    take_chunks(problem, span);
    if (!thr_mul_size(problem->n_chunks, n_features, &n_sums))
        return thr_fail(err, THR_ENOMEM, "sums of %zu features in %zu chunks: too many", n_features, problem->n_chunks);
    THR_TRY(thr_alloc(context, problem->n_chunks, sizeof(double), &problem->chunk_values, "values of chunks", err));
    THR_TRY(thr_alloc(context, n_sums, sizeof(double), &problem->partial_sums, "sums of chunks", err));
    return thr_alloc(context, n_sums, sizeof(double), &problem->partial_squares, "sums of chunks", err);
}

/* Sizes are sums over memory that is already allocated, so they cannot overflow. */
static thr_status make_scratch(thr_rank_problem *problem, thr_error *err) {
    const size_t n_workers = problem->context->n_threads;
    problem->scratch_size =
        THR_RANK_ROW_SIZE * (size_t)problem->longest + THR_RANK_ENDS + 2 * (size_t)problem->view.n_features;
    size_t n = 0;
    if (!thr_mul_size(n_workers, problem->scratch_size, &n))
        return thr_fail(err, THR_ENOMEM, "memory for queries of %u rows on %zu threads: too large", problem->longest,
                        n_workers);
    THR_TRY(thr_alloc(problem->context, n, sizeof(double), &problem->scratch, "room for the rows of a query", err));
    for (uint32_t worker = 0; worker < n_workers; worker++)
        memset(thr_rank_scratch_of(problem, worker).features, 0, 2 * (size_t)problem->view.n_features * sizeof(double));
    return THR_OK;
}

static thr_status start(thr_rank_problem *problem, const thr_rank_span *span, const double *row_weights,
                        thr_error *err) {
    const thr_ranking_view *view = &problem->view;
    thr_scored_row *rows = NULL;
    thr_status status = THR_OK;
    for (uint64_t q = 0; q < view->n_queries; q++) {
        const uint64_t n = view->offsets[q + 1] - view->offsets[q];
        if (n >= UINT32_MAX)
            return thr_fail(err, THR_EDIM, "query %llu has %llu rows: a query has %u at most",
                            (unsigned long long)view->queries[q], (unsigned long long)n, UINT32_MAX - 1);
        problem->longest = n > problem->longest ? (uint32_t)n : problem->longest;
    }
    THR_TRY(make_rows(problem, err));
    THR_TRY(thr_alloc(problem->context, 2 * (size_t)problem->longest, sizeof *rows, &rows, "labels in order", err));
    for (uint64_t q = 0; q < view->n_queries; q++) {
        problem->costs[q] = 1;
        set_levels(problem, q, rows, rows + problem->longest);
    }
    if (span == NULL)
        THR_TRY_OUT(check_pairs(problem, err));
    THR_TRY_OUT(make_chunks(problem, span, err));
    THR_TRY_OUT(make_trees(problem, err));
    THR_TRY_OUT(take_weights(problem, row_weights, err));
    status = make_scratch(problem, err);
out:
    thr_release(problem->context, rows);
    return status;
}

double thr_rank_pair_weight(const thr_rank_problem *problem, uint64_t query) {
    double before = 0, sum = 0, level = 0;
    if (problem->pair_weights != NULL)
        return problem->pair_weights[query];
    if (problem->weights == NULL)
        return (double)problem->n_pairs[query];
    for (uint64_t u = problem->view.offsets[query]; u < problem->view.offsets[query + 1]; u++) {
        if (u > problem->view.offsets[query] && problem->levels[u] != problem->levels[u - 1]) {
            before += level;
            level = 0;
        }
        sum += before * problem->weights[u];
        level += problem->weights[u];
    }
    return sum;
}

static thr_status create(thr_context *context, const thr_ranking_view *view, thr_rank_problem **problem,
                         thr_error *err) {
    *problem = NULL;
    THR_TRY(thr_alloc_zero(context, 1, sizeof **problem, problem, "a ranking problem", err));
    (*problem)->context = context;
    (*problem)->view = *view;
    return THR_OK;
}

static thr_status created(thr_status status, thr_rank_problem **problem) {
    if (status != THR_OK) {
        thr_rank_problem_free(*problem);
        *problem = NULL;
    }
    return status;
}

thr_status thr_rank_problem_create_part(thr_context *context, const thr_ranking_view *view, const thr_rank_span *span,
                                        const double *row_weights, thr_rank_problem **problem, thr_error *err) {
    THR_TRY(create(context, view, problem, err));
    return created(start(*problem, span, row_weights, err), problem);
}

thr_status thr_rank_problem_create(thr_context *context, const thr_ranking_view *view, const double *row_weights,
                                   thr_rank_problem **problem, thr_error *err) {
    return thr_rank_problem_create_part(context, view, NULL, row_weights, problem, err);
}

static thr_status start_whole(thr_rank_problem *problem, const thr_rank_parts *parts, thr_error *err) {
    const size_t n = (size_t)parts->n_queries;
    problem->n_chunks = parts->first_chunks[parts->n_parts];
    problem->pair_weights = parts->pair_weights;
    THR_TRY(thr_alloc(problem->context, n, sizeof(double), &problem->costs, "costs of queries", err));
    THR_TRY(thr_alloc(problem->context, n, sizeof(uint64_t), &problem->n_pairs, "numbers of pairs", err));
    for (size_t q = 0; q < n; q++)
        problem->n_all_pairs += problem->n_pairs[q] = parts->n_pairs[q];
    return check_pairs(problem, err);
}

thr_status thr_rank_problem_create_whole(thr_context *context, const thr_rank_parts *parts, thr_rank_problem **problem,
                                         thr_error *err) {
    const thr_ranking_view view = {.n_rows = parts->offsets[parts->n_queries],
                                   .n_queries = parts->n_queries,
                                   .n_features = parts->n_features,
                                   .offsets = parts->offsets};
    THR_TRY(create(context, &view, problem, err));
    return created(start_whole(*problem, parts, err), problem);
}

thr_status thr_rank_problem_sweep(thr_rank_problem *problem, bool sweep, thr_error *err) {
    const size_t n = problem->rows != NULL ? (size_t)problem->view.n_rows : 0; /* a leader has no rows */
    if (sweep && n != 0 && problem->orders == NULL)
        THR_TRY(thr_alloc(problem->context, n, sizeof(uint32_t), &problem->orders, "orders of scores", err));
    if (sweep && n != 0 && problem->pair_counts == NULL)
        THR_TRY(thr_alloc(problem->context, n, sizeof(thr_pair_counts), &problem->pair_counts, "counts of pairs", err));
    problem->sweeps = sweep;
    return THR_OK;
}

void thr_rank_problem_free(thr_rank_problem *problem) {
    if (problem == NULL)
        return;
    thr_context *context = problem->context;
    THR_RELEASE(context, problem->costs, problem->n_pairs, problem->rows, problem->levels, problem->weights,
                problem->counts, problem->masks, problem->node_starts, problem->rank_starts, problem->all,
                problem->nodes, problem->ranks, problem->orders, problem->pair_counts, problem->chunks,
                problem->partial_sums, problem->partial_squares, problem->chunk_values, problem->scratch, problem);
}
