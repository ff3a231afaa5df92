/* SPDX-License-Identifier: Apache-2.0 */
/* serve_part.c - a part of a ranking: serves the requests of the leader of a training (solver/leader.h). */
#include <string.h>

#include "base/error.h"
#include "rank/solver/precondition.h"
#include "rank/train.h"

struct thr_rank_part {
    thr_context *context;
    thr_rank_problem *problem;
    thr_rank_preconditioner preconditioner; /* its problem is NULL until a sample is asked for */
    bool evaluated;                         /* the active pairs are those of the last evaluation, as products need */
};

static thr_status check_span(const thr_rank_span *span, uint64_t n_queries, thr_error *err) {
    if (span->first >= span->end || span->end > span->n_chunks || span->n_chunks > THR_RANK_MAX_CHUNKS)
        return thr_fail(err, THR_EINVAL, "chunks %zu to %zu of %zu: expected first < end <= n_chunks <= %d",
                        span->first, span->end, span->n_chunks, (int)THR_RANK_MAX_CHUNKS);
    for (size_t c = span->first; c < span->end; c++)
        if (span->starts[c] > span->starts[c + 1])
            return thr_fail(err, THR_EINVAL, "chunk %zu ends before it starts: starts must not decrease", c);
    const uint64_t n = span->starts[span->end] - span->starts[span->first];
    if (n != n_queries)
        return thr_fail(
            err, THR_EDIM,
            "the ranking has %llu queries, but its chunks have %llu: give the rows of exactly those queries",
            (unsigned long long)n_queries, (unsigned long long)n);
    return THR_OK;
}

thr_status thr_rank_part_create(thr_context *context, const thr_ranking *ranking, const thr_rank_span *span,
                                const double *row_weights, thr_rank_part **part, thr_error *err) {
    const thr_ranking_view view = thr_ranking_get_view(ranking);
    *part = NULL;
    THR_TRY(check_span(span, view.n_queries, err));
    THR_TRY(thr_rank_check_weights(row_weights, "row", view.n_rows, err));
    thr_rank_part *made = NULL;
    THR_TRY(thr_alloc_zero(context, 1, sizeof *made, &made, "a part of a ranking", err));
    made->context = thr_context_retain(context);
    const thr_status status = thr_rank_problem_create_part(context, &view, span, row_weights, &made->problem, err);
    THR_RETURN_MADE(status, made, part, thr_rank_part_free);
}

void thr_rank_part_queries(const thr_rank_part *part, uint64_t *n_pairs, double *pair_weights) {
    for (uint64_t q = 0; q < part->problem->view.n_queries; q++) {
        n_pairs[q] = part->problem->n_pairs[q];
        pair_weights[q] = thr_rank_pair_weight(part->problem, q);
    }
}

void thr_rank_part_free(thr_rank_part *part) {
    if (part == NULL)
        return;
    thr_context *context = part->context;
    thr_rank_preconditioner_end(&part->preconditioner);
    thr_rank_problem_free(part->problem);
    thr_release(context, part);
    thr_context_free(context);
}

size_t thr_rank_part_output_size(const thr_rank_part *part, const thr_rank_request *request) {
    return thr_rank_request_output_size(request, &part->problem->range, part->problem->view.n_features);
}

/* ------------------------------------------------------------------------------------------------ requests */

/* Write the sums that the additions within the part have left, in the order of their chunks. */
static void write_sums(const thr_rank_problem *problem, const thr_rank_request *request, double *out) {
    const size_t n = problem->view.n_features;
    const thr_rank_range *range = &problem->range;
    for (size_t c = range->first; c < range->end; c += thr_rank_covers(range, c)) {
        const size_t own = c - range->first;
        if (request->task == THR_RANK_EVALUATE)
            *out++ = problem->chunk_values[own];
        memcpy(out, problem->partial_sums + own * n, n * sizeof *out);
        out += n;
        if (request->task == THR_RANK_EVALUATE && request->diagonal) {
            memcpy(out, problem->partial_squares + own * n, n * sizeof *out);
            out += n;
        }
    }
}

static thr_status evaluate(thr_rank_part *part, const thr_rank_request *request, thr_error *err) {
    thr_rank_problem *problem = part->problem;
    THR_TRY(thr_rank_problem_sweep(problem, request->sweep, err));
    memcpy(problem->costs, request->costs, (size_t)problem->view.n_queries * sizeof(double));
    thr_rank_sum_losses(problem, request->vector, request->diagonal);
    part->evaluated = true;
    return THR_OK;
}

/* The preconditioner's sums are float32. Between parts they are double, which keeps their bits. */
static thr_status add_sample(thr_rank_part *part, const thr_rank_request *request, double *out, thr_error *err) {
    thr_rank_preconditioner *p = &part->preconditioner;
    const size_t n = part->problem->view.n_features;
    const bool matrix = request->task == THR_RANK_MATRIX;
    const thr_rank_sample sample = {.query_step = request->query_step, .row_step = request->row_step};
    double *const sums = out + 1 + n;
    uint64_t place = (uint64_t)out[0];
    if (p->problem == NULL)
        THR_TRY(thr_rank_preconditioner_make(part->problem, false, p, err));
    memcpy(p->scales, out + 1, n * sizeof *out);
    for (size_t i = 0; i < n * n && matrix; i++)
        p->sums[i] = (float)sums[i];
    thr_rank_sample_add(p, &sample, matrix, &place);
    out[0] = (double)place;
    memcpy(out + 1, p->scales, n * sizeof *out);
    for (size_t i = 0; i < n * n && matrix; i++)
        sums[i] = (double)p->sums[i];
    return THR_OK;
}

thr_status thr_rank_part_run(thr_rank_part *part, const thr_rank_request *request, double *out, thr_error *err) {
    uint64_t n_pairs = 0, n_right;
    if (request->task != THR_RANK_EVALUATE && !part->evaluated)
        return thr_fail(err, THR_EINVAL, "the first request to a part is THR_RANK_EVALUATE, not %d",
                        (int)request->task);
    switch (request->task) {
    case THR_RANK_EVALUATE:
        THR_TRY(evaluate(part, request, err));
        write_sums(part->problem, request, out);
        return THR_OK;
    case THR_RANK_PRODUCT:
        thr_rank_sum_products(part->problem, request->vector);
        write_sums(part->problem, request, out);
        return THR_OK;
    case THR_RANK_COUNT:
        n_right = thr_rank_right_pairs(part->problem, request->vector, NULL, &n_pairs);
        *out = (double)(n_pairs - n_right);
        part->evaluated = false;
        return THR_OK;
    case THR_RANK_SCALES:
    case THR_RANK_MATRIX:
        if (request->query_step > 0 && request->row_step > 0)
            return add_sample(part, request, out, err);
        return thr_fail(err, THR_EINVAL, "query_step and row_step of a sample must be at least 1");
    }
    return thr_fail(err, THR_EINVAL, "%d is no thr_rank_task", (int)request->task);
}
