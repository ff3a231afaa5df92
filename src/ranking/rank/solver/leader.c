/* SPDX-License-Identifier: Apache-2.0 */
/* parts.c - requests to all parts, and the last additions of their sums. */
#include "rank/solver/leader.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

static size_t size_of_sum(const thr_rank_request *request, size_t n_features) {
    return request->task == THR_RANK_EVALUATE ? 1 + n_features + (request->diagonal ? n_features : 0) : n_features;
}

size_t thr_rank_request_output_size(const thr_rank_request *request, const thr_rank_range *range, uint32_t n_features) {
    const size_t n = n_features;
    size_t n_sums = 0;
    if (request->task == THR_RANK_COUNT)
        return 1;
    if (request->task == THR_RANK_SCALES || request->task == THR_RANK_MATRIX)
        return 1 + n + (request->task == THR_RANK_MATRIX ? n * n : 0);
    for (size_t c = range->first; c < range->end; c += thr_rank_covers(range, c))
        n_sums++;
    return n_sums * size_of_sum(request, n);
}

static thr_status check(const thr_rank_parts *parts, thr_error *err) {
    const size_t n_chunks = parts->n_parts > 0 ? parts->first_chunks[parts->n_parts] : 0;
    if (parts->n_queries == 0 || n_chunks == 0 || n_chunks > THR_RANK_MAX_CHUNKS || parts->first_chunks[0] != 0)
        return thr_fail(
            err, THR_EINVAL,
            "%zu parts, %llu queries, %zu chunks: expected at least one of each, at most %d chunks, and 0 as the "
            "first chunk of part 0",
            parts->n_parts, (unsigned long long)parts->n_queries, n_chunks, (int)THR_RANK_MAX_CHUNKS);
    for (size_t i = 0; i < parts->n_parts; i++)
        if (parts->first_chunks[i] >= parts->first_chunks[i + 1])
            return thr_fail(err, THR_EINVAL, "part %zu has no chunks: first_chunks must increase", i);
    return THR_OK;
}

thr_status thr_rank_leader_start(thr_context *context, const thr_rank_parts *parts, thr_rank_leader *leader,
                                 thr_error *err) {
    *leader = (thr_rank_leader){.parts = parts};
    THR_TRY(check(parts, err));
    const size_t n = parts->n_features, n_chunks = parts->first_chunks[parts->n_parts];
    THR_TRY(thr_rank_problem_create_whole(context, parts, &leader->problem, err));
    const thr_status status =
        thr_alloc(context, n_chunks * (1 + 2 * n), sizeof(double), &leader->sums, "sums of parts", err);
    if (status != THR_OK)
        thr_rank_leader_end(leader);
    return status;
}

void thr_rank_leader_end(thr_rank_leader *leader) {
    if (leader->problem != NULL)
        thr_release(leader->problem->context, leader->sums);
    thr_rank_problem_free(leader->problem);
    *leader = (thr_rank_leader){.parts = NULL};
}

static thr_status ask(const thr_rank_leader *leader, const thr_rank_request *request, double *out, thr_error *err) {
    return leader->parts->run(leader->parts->user, request, out, err);
}

/* ------------------------------------------------------------------------------------------------ sums */

/* Move each part's sums to the places of their chunks; covers[c] is the number of chunks that the sum at c covers. */
static void scatter_sums(const thr_rank_leader *leader, size_t size, size_t *covers) {
    const thr_rank_parts *parts = leader->parts;
    const size_t n_chunks = parts->first_chunks[parts->n_parts];
    size_t n_sums = 0, places[THR_RANK_MAX_CHUNKS];
    for (size_t i = 0; i < parts->n_parts; i++) {
        const thr_rank_range range = {
            .first = parts->first_chunks[i], .end = parts->first_chunks[i + 1], .n_chunks = n_chunks};
        for (size_t c = range.first; c < range.end; c += covers[c]) {
            covers[c] = thr_rank_covers(&range, c);
            places[n_sums++] = c;
        }
    }
    while (n_sums-- > 0)
        memmove(leader->sums + places[n_sums] * size, leader->sums + n_sums * size, size * sizeof(double));
}

/* Ask for sums over chunks, and add them up: the total is at the start of leader->sums. */
static thr_status sum(const thr_rank_leader *leader, const thr_rank_request *request, thr_error *err) {
    const size_t n_chunks = leader->parts->first_chunks[leader->parts->n_parts];
    const size_t size = size_of_sum(request, leader->parts->n_features);
    const thr_rank_range all = {.end = n_chunks, .n_chunks = n_chunks};
    size_t covers[THR_RANK_MAX_CHUNKS];
    THR_TRY(ask(leader, request, leader->sums, err));
    scatter_sums(leader, size, covers);
    for (size_t step = 1; step < n_chunks; step *= 2)
        for (size_t c = 0; c < n_chunks; c += 2 * step)
            if (covers[c] == step) {
                thr_rank_add_chunk(&all, leader->sums, size, c, step);
                covers[c] *= 2;
            }
    return THR_OK;
}

thr_status thr_rank_leader_evaluate(thr_rank_leader *leader, const double *w, double *gradient, double *diagonal,
                                    double *value, thr_error *err) {
    const thr_rank_problem *problem = leader->problem;
    const thr_rank_request request = {.task = THR_RANK_EVALUATE,
                                      .sweep = problem->sweeps,
                                      .diagonal = diagonal != NULL,
                                      .vector = w,
                                      .costs = problem->costs};
    THR_TRY(sum(leader, &request, err));
    *value = thr_rank_add_norm(problem, w, leader->sums + 1, leader->sums[0],
                               leader->sums + 1 + problem->view.n_features, gradient, diagonal);
    return THR_OK;
}

thr_status thr_rank_leader_product(thr_rank_leader *leader, const double *v, double *out, thr_error *err) {
    const thr_rank_request request = {.task = THR_RANK_PRODUCT, .vector = v};
    THR_TRY(sum(leader, &request, err));
    for (uint32_t d = 0; d < leader->parts->n_features; d++)
        out[d] = v[d] + leader->sums[d];
    return THR_OK;
}

thr_status thr_rank_leader_right_pairs(thr_rank_leader *leader, const double *w, uint64_t *n_right, thr_error *err) {
    const thr_rank_request request = {.task = THR_RANK_COUNT, .vector = w};
    THR_TRY(ask(leader, &request, leader->sums, err));
    *n_right = leader->problem->n_all_pairs;
    for (size_t i = 0; i < leader->parts->n_parts; i++)
        *n_right -= (uint64_t)leader->sums[i];
    return THR_OK;
}

thr_status thr_rank_leader_precondition(thr_rank_leader *leader, thr_rank_preconditioner *p, thr_error *err) {
    const size_t n = leader->parts->n_features;
    const thr_rank_sample sample = thr_rank_sample_choose(leader->problem);
    thr_rank_request request = {.task = THR_RANK_SCALES, .query_step = sample.query_step, .row_step = sample.row_step};
    double *room = NULL;
    thr_context *context = leader->problem->context;
    THR_TRY(thr_alloc_zero(context, 1 + n + n * n, sizeof *room, &room, "a matrix of features", err));
    for (size_t d = 0; d < n; d++)
        room[1 + d] = 1;
    thr_status status = ask(leader, &request, room, err);
    THR_TRY_OUT(status);
    for (size_t d = 0; d < n; d++)
        p->scales[d] = room[1 + d] = sqrt(room[1 + d]);
    room[0] = 0;
    request.task = THR_RANK_MATRIX;
    THR_TRY_OUT(ask(leader, &request, room, err));
    for (size_t i = 0; i < n * n; i++)
        p->sums[i] = (float)room[1 + n + i];
    thr_rank_preconditioner_factorise(p);
out:
    thr_release(context, room);
    return status;
}
