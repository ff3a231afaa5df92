/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan.c - a search for the best k. Each thread answers a group of queries, which read every tile of codes together;
 * or all threads work on one query after the other. Survivors are rescored by the other planes, refined,
 * and sorted.
 */
#include "scan/scan.h"

#include "base/error.h"
#include "base/minmax.h"
#include "parallel/pool.h"
#include "scan/margins/margin.h"
#include "scan/radius_plan.h"
#include "scan/job.h"

/* A search over all queries. */
typedef struct query_search {
    thr_scan *scan;
    const thr_job *job;
    const thr_matrix *queries;
    size_t group_size;
} query_search;

/* Select query number q of the hits, if there are any, on each of n_lanes lanes. */
static thr_status begin_hits(thr_scan_query *query, uint64_t q, thr_lane *lanes, size_t n_lanes, thr_error *err) {
    const thr_scan_hits *hits = query->corpus->hits;
    for (size_t i = 0; hits != NULL && i < n_lanes; i++) {
        THR_TRY(hits->begin(hits->arg, q, lanes[i].number, &query->unit, err));
        lanes[i].sums = NULL;
    }
    return THR_OK;
}

/* Search n queries from q on, with a lane and a margin each, or one query on all n_lanes. */
static thr_status search_group(const query_search *s, uint64_t q, size_t n, thr_lane *lanes, uint32_t n_lanes,
                               thr_margin *margins, thr_error *err) {
    const thr_job *job = s->job;
    thr_scan_query queries[THR_GROUP];
    for (size_t i = 0; i < n; i++) {
        thr_scan_query_prepare(job, s->queries, q + i, &lanes[i], &queries[i]);
        THR_TRY(begin_hits(&queries[i], q + i, &lanes[i], n_lanes, err));
        thr_scan_margin_begin(job, &queries[i], &lanes[i], &margins[i]);
        lanes[i].floor = thr_scan_margin_floor(job, &queries[i], &margins[i], q + i);
    }
    for (size_t i = 0; i < (n == 1 ? n_lanes : n); i++)
        lanes[i].n_read = 0;
    THR_TRY(thr_scan_collect(job, queries, n, lanes, n_lanes, err));
    for (size_t i = 0; i < n; i++)
        THR_TRY(thr_scan_answer(job, &margins[i], s->queries, q + i, &lanes[i], n_lanes, err));
    return THR_OK;
}

thr_status thr_scan_search_one(const thr_job *job, const thr_matrix *query, thr_lane *lane, thr_margin *margin,
                               thr_error *err) {
    const query_search s = {NULL, job, query, 1};
    *margin = (thr_margin){.noise.known = false};
    return search_group(&s, 0, 1, lane, 1, margin, err);
}

static thr_status run_group(void *arg, size_t group, uint32_t worker, thr_error *err) {
    const query_search *s = arg;
    const uint64_t q = (uint64_t)group * s->group_size, left = s->queries->n_rows - q;
    thr_margin margins[THR_GROUP];
    return search_group(s, q, left < s->group_size ? (size_t)left : s->group_size,
                        &s->scan->lanes[(size_t)worker * s->group_size], 1, margins, err);
}

thr_status thr_scan_run(thr_scan *scan, const thr_job *job, const thr_matrix *queries, thr_error *err) {
    thr_context *context = scan->context;
    const size_t group_size = thr_scan_group_size(context, queries->n_rows);
    THR_TRY(thr_scan_make_room(scan, job->corpus, thr_scan_lanes(context, queries->n_rows),
                               (uint32_t)THR_MAX(group_size, 1), thr_scan_most_survivors(job), err));
    query_search s = {scan, job, queries, group_size};
    if (group_size == 0) {
        thr_margin margin;
        for (uint64_t q = 0; q < queries->n_rows; q++)
            THR_TRY(search_group(&s, q, 1, scan->lanes, context->n_threads, &margin, err));
        return THR_OK;
    }
    return thr_parallel_try(context, (size_t)THR_CEIL_DIV(queries->n_rows, group_size), run_group, &s, err);
}

thr_status thr_scan_search(thr_scan *scan, const thr_scan_corpus *corpus, const thr_matrix *queries,
                           const thr_search_options *options, const thr_answers *answers, thr_error *err) {
    const thr_job job = thr_scan_job_make(scan->context, corpus, options, answers);
    THR_TRY(thr_scan_check_queries(scan, corpus, queries, err));
    return thr_scan_run(scan, &job, queries, err);
}

/* ------------------------------------------------------------------------------------------------ rerank */

/* Rows that another search has chosen, scored query by query, on all threads. */
typedef struct rerank {
    thr_scan *scan;
    const thr_job *job;
    const thr_matrix *queries;
    const uint64_t *rows;
    size_t n;
} rerank;

static thr_status rerank_one(void *arg, size_t row, uint32_t worker, thr_error *err) {
    const rerank *r = arg;
    thr_lane *lane = &r->scan->lanes[worker];
    thr_scan_query query;
    thr_scan_query_prepare(r->job, r->queries, row, lane, &query);
    THR_TRY(thr_select_collector_start(&lane->collector, r->scan->context, r->n, -INFINITY, err));
    const uint64_t *rows = r->rows + row * r->n;
    for (size_t i = 0; i < r->n && rows[i] != THR_NO_ID; i++)
        thr_collector_push(&lane->collector, rows[i], 0, 0);
    thr_scan_refine(&query, lane, lane->collector.items, lane->collector.n);
    return thr_scan_answer_put(r->job, &query, lane, row, err);
}

thr_status thr_scan_rerank(thr_scan *scan, const thr_scan_corpus *corpus, const thr_matrix *queries,
                           const uint64_t *rows, size_t n, const thr_answers *answers, thr_error *err) {
    const thr_search_options options = {.exact = true};
    const thr_job job = thr_scan_job_make(scan->context, corpus, &options, answers);
    THR_TRY(thr_scan_make_room(scan, corpus, scan->context->n_threads, 1, n, err));
    rerank r = {scan, &job, queries, rows, n};
    return thr_parallel_try(scan->context, (size_t)queries->n_rows, rerank_one, &r, err);
}
