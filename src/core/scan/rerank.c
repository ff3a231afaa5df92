/* SPDX-License-Identifier: Apache-2.0 */
/* rerank.c - exact scores of rows that another search has chosen, query by query, on all threads. */
#include "base/error.h"
#include "parallel/pool.h"
#include "scan/job.h"

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
    thr_search_options options;
    thr_search_options_init(&options);
    options.exact = true;
    const thr_job job = thr_scan_job_make(scan->context, corpus, &options, answers);
    THR_TRY(thr_scan_make_room(scan, corpus, scan->context->n_threads, 1, n, err));
    rerank r = {scan, &job, queries, rows, n};
    return thr_parallel_try(scan->context, (size_t)queries->n_rows, rerank_one, &r, err);
}
