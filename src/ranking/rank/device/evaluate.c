/* SPDX-License-Identifier: Apache-2.0 */
/* evaluate.c - evaluations and Hessian products as sequences of operations on a device's stream. */
#include <string.h>

#include "base/error.h"
#include "rank/device/gpu_arrays.h"
#include "rank/solver/sum_tree.h"

thr_rank_queries thr_rank_device_queries(const thr_rank_gpu_problem *d) {
    return (thr_rank_queries){.n_rows = d->problem->view.n_rows,
                              .n_all = d->problem->view.n_queries,
                              .offsets = d->offsets,
                              .listed = d->listed,
                              .n_listed = d->n_listed,
                              .costs = d->costs,
                              .rows = d->rows,
                              .weights = d->weights};
}

thr_rank_pairs thr_rank_device_pairs(const thr_rank_gpu_problem *d) {
    return (thr_rank_pairs){.levels = d->levels,
                            .tree = d->tree,
                            .nodes = d->nodes,
                            .leaves = d->leaves,
                            .n_depths = d->n_depths,
                            .sweep = d->sweeps,
                            .orders = d->orders,
                            .ranks = d->ranks,
                            .masks = d->masks,
                            .all = d->all,
                            .counts = d->pair_counts};
}

/* Upload the list of queries of positive cost, chunk by chunk, if costs changed since the last evaluation. */
static thr_status list_queries(thr_rank_gpu_problem *d, thr_error *err) {
    const thr_rank_problem *p = d->problem;
    const size_t n_queries = (size_t)p->view.n_queries, cost_bytes = n_queries * sizeof(double);
    uint32_t *chunks = d->listing + n_queries;
    if (d->is_listed && memcmp(d->known_costs, p->costs, cost_bytes) == 0)
        return THR_OK;
    d->is_listed = false;
    d->n_listed = 0;
    memcpy(d->known_costs, p->costs, cost_bytes);
    for (size_t c = 0; c < p->n_chunks; c++) {
        chunks[c] = d->n_listed;
        for (uint64_t q = p->chunks[c]; q < p->chunks[c + 1]; q++)
            if (p->n_pairs[q] != 0 && p->costs[q] > 0)
                d->listing[d->n_listed++] = (uint32_t)q;
    }
    chunks[p->n_chunks] = d->n_listed;
    THR_TRY(d->memory.backend->upload(d->memory.stream, d->costs, d->known_costs, cost_bytes, err));
    THR_TRY(d->memory.backend->upload(d->memory.stream, d->listed, d->listing, d->n_listed * sizeof *d->listing, err));
    THR_TRY(d->memory.backend->upload(d->memory.stream, d->chunks, chunks, (p->n_chunks + 1) * sizeof *chunks, err));
    if (d->x.dense == NULL) /* rank_add adds the r of all rows; only those of listed queries are computed */
        THR_TRY(d->memory.backend->clear(d->memory.stream, d->r, (size_t)p->view.n_rows * sizeof(double), err));
    THR_TRY(d->memory.backend->wait(d->memory.stream, err));
    d->is_listed = true;
    return THR_OK;
}

/* Upload v and compute X v; zeros: v is 0, so X v is. */
static thr_status find_scores(thr_rank_gpu_problem *d, const double *v, bool zeros, thr_error *err) {
    const thr_ranking_view *view = &d->problem->view;
    const thr_rank_scores_op op = {.queries = thr_rank_device_queries(d),
                                   .x = d->x,
                                   .v = zeros ? NULL : d->v,
                                   .by_row = d->sums,
                                   .scores = d->scores};
    memcpy(d->pinned, v, view->n_features * sizeof(double));
    THR_TRY(d->memory.backend->upload(d->memory.stream, d->v, d->pinned, view->n_features * sizeof(double), err));
    return d->memory.backend->rank_scores(d->memory.stream, &op, err);
}

/* Download v + X' r to out, and the sum of costs if there are any. Synchronises. */
static thr_status add_rows(thr_rank_gpu_problem *d, double *out, const double *costs, double *sum, thr_error *err) {
    const thr_rank_problem *p = d->problem;
    const size_t n = p->view.n_features;
    double *host_out = d->pinned + n, *host_values = d->pinned + 3 * n;
    const thr_rank_add_op op = {.queries = thr_rank_device_queries(d),
                                .x = d->x,
                                .n_chunks = (uint32_t)p->n_chunks,
                                .chunks = d->chunks,
                                .r = d->r,
                                .v = d->v,
                                .partial = d->partial,
                                .out = d->out,
                                .costs = costs,
                                .values = d->values};
    THR_TRY(d->memory.backend->rank_add(d->memory.stream, &op, err));
    THR_TRY(d->memory.backend->download(d->memory.stream, host_out, d->out, n * sizeof(double), err));
    if (costs != NULL)
        THR_TRY(
            d->memory.backend->download(d->memory.stream, host_values, d->values, p->n_chunks * sizeof(double), err));
    THR_TRY(d->memory.backend->wait(d->memory.stream, err));
    memcpy(out, host_out, n * sizeof(double));
    if (costs != NULL) {
        thr_rank_add_chunks(&(thr_rank_range){.end = p->n_chunks, .n_chunks = p->n_chunks}, host_values, 1);
        *sum = host_values[0];
    }
    return THR_OK;
}

static thr_status find_diagonal(thr_rank_gpu_problem *d, double *diagonal, thr_error *err) {
    const thr_rank_problem *p = d->problem;
    const size_t n = p->view.n_features;
    double *host = d->pinned + 2 * n;
    const thr_rank_diagonal_op op = {.queries = thr_rank_device_queries(d),
                                     .x = d->x,
                                     .n_chunks = (uint32_t)p->n_chunks,
                                     .chunks = d->chunks,
                                     .counts = d->counts,
                                     .sums = d->sums,
                                     .partial = d->partial,
                                     .out = d->diagonal};
    THR_TRY(d->memory.backend->rank_diagonal(d->memory.stream, &op, err));
    THR_TRY(d->memory.backend->download(d->memory.stream, host, d->diagonal, n * sizeof(double), err));
    THR_TRY(d->memory.backend->wait(d->memory.stream, err));
    memcpy(diagonal, host, n * sizeof(double));
    return THR_OK;
}

thr_status thr_rank_device_evaluate(thr_rank_gpu_problem *d, const double *w, double *gradient, double *diagonal,
                                    double *value, thr_error *err) {
    const uint32_t n = d->problem->view.n_features;
    double squares = 0, costs = 0;
    for (uint32_t i = 0; i < n; i++)
        squares += w[i] * w[i];
    d->sweeps = d->problem->sweeps;
    THR_TRY(list_queries(d, err));
    THR_TRY(find_scores(d, w, !(squares > 0), err));
    const thr_rank_order_op order = {.queries = thr_rank_device_queries(d),
                                     .pairs = thr_rank_device_pairs(d),
                                     .scores = d->scores,
                                     .spare = d->spare};
    THR_TRY(d->memory.backend->rank_order(d->memory.stream, &order, err));
    const thr_rank_costs_op cost = {.queries = order.queries,
                                    .pairs = order.pairs,
                                    .scores = d->scores,
                                    .sums = d->sums,
                                    .counts = d->counts,
                                    .r = d->r,
                                    .costs = d->query_costs};
    THR_TRY(d->memory.backend->rank_costs(d->memory.stream, &cost, err));
    THR_TRY(add_rows(d, gradient, d->query_costs, &costs, err));
    *value = 0.5 * squares + costs;
    return diagonal == NULL ? THR_OK : find_diagonal(d, diagonal, err);
}

thr_status thr_rank_device_product(thr_rank_gpu_problem *d, const double *v, double *out, thr_error *err) {
    THR_TRY(find_scores(d, v, false, err));
    const thr_rank_hessian_op hessian = {.queries = thr_rank_device_queries(d),
                                         .pairs = thr_rank_device_pairs(d),
                                         .counts = d->counts,
                                         .scores = d->scores,
                                         .sums = d->sums,
                                         .r = d->r};
    THR_TRY(d->memory.backend->rank_hessian(d->memory.stream, &hessian, err));
    return add_rows(d, out, NULL, NULL, err);
}

thr_status thr_rank_device_counts(thr_rank_gpu_problem *d, thr_error *err) {
    const thr_rank_problem *p = d->problem;
    THR_TRY(d->memory.backend->download(d->memory.stream, p->counts, d->counts, (size_t)p->view.n_rows * sizeof(double),
                                        err));
    return d->memory.backend->wait(d->memory.stream, err);
}
