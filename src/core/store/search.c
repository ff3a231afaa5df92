/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search.c - a search whose screen runs on devices: batches of queries with a lane each. Threads of the host do the
 * steps for which the devices lack memory, and with margins all steps after the screen.
 */
#include "store/store.h"

#include "base/error.h"
#include "parallel/pool.h"
#include "scan/margins/margin.h"
#include "scan/radius_plan.h"

typedef struct search_batch {
    const thr_job *job;
    const thr_matrix *queries;
    thr_lane *lanes;
    uint64_t row; /* of the batch's first query */
    thr_scan_query prepared[THR_DEVICE_QUERIES];
    thr_margin margins[THR_DEVICE_QUERIES]; /* where the job keeps a recall */
} search_batch;

static void prepare_one(void *arg, size_t i, uint32_t worker) {
    search_batch *b = arg;
    (void)worker;
    b->lanes[i].n_read = 0;
    thr_scan_query_prepare(b->job, b->queries, b->row + i, &b->lanes[i], &b->prepared[i]);
    thr_scan_margin_begin(b->job, &b->prepared[i], &b->lanes[i], &b->margins[i]);
}

static void rescore_one(void *arg, size_t i, uint32_t worker) {
    search_batch *b = arg;
    thr_lane *lane = &b->lanes[i];
    (void)worker;
    thr_scan_answer_note_left_out(b->job, &b->prepared[i], lane);
    if (thr_answer_rescores(b->job, &b->prepared[i]) && !thr_store_can_rescore(b->job->corpus->store))
        thr_scan_rescore(&b->prepared[i], lane->collector.items, lane->collector.n);
}

static void refine_one(void *arg, size_t i, uint32_t worker) {
    search_batch *b = arg;
    thr_lane *lane = &b->lanes[i];
    (void)worker;
    thr_scan_answer_choose_candidates(b->job, &b->prepared[i], lane);
    if (thr_answer_refines(b->job) && !thr_store_can_refine(b->job->corpus->store))
        thr_scan_refine(&b->prepared[i], lane, lane->collector.items, lane->collector.n);
}

static thr_status put_one(void *arg, size_t i, uint32_t worker, thr_error *err) {
    search_batch *b = arg;
    (void)worker;
    return thr_scan_answer_put(b->job, &b->prepared[i], &b->lanes[i], b->row + i, err);
}

/* With margins, all steps after the screen: what is rescored and refined depends on scores found before. */
static thr_status answer_one(void *arg, size_t i, uint32_t worker, thr_error *err) {
    search_batch *b = arg;
    (void)worker;
    return thr_scan_answer(b->job, &b->margins[i], b->queries, b->row + i, &b->lanes[i], 1, err);
}

/* Search n queries from b->row on. Steps on devices alternate with steps on threads, which take one query each. */
static thr_status run_batch(search_batch *b, size_t n, thr_error *err) {
    thr_context *context = b->job->context;
    thr_store *store = b->job->corpus->store;
    thr_parallel_for(context, n, prepare_one, b);
    THR_TRY(b->job->corpus->hits == NULL
                ? thr_store_collect(store, b->job, b->prepared, n, b->lanes, err)
                : thr_store_collect_values(store, b->job, b->prepared, b->row, n, b->lanes, err));
    if (b->job->screen_z > 0)
        return thr_parallel_try(context, n, answer_one, b, err);
    thr_parallel_for(context, n, rescore_one, b);
    if (thr_is_nested(b->job->corpus) && thr_store_can_rescore(store))
        THR_TRY(thr_store_rescore(store, b->job, b->prepared, n, b->lanes, err));
    thr_parallel_for(context, n, refine_one, b);
    if (thr_answer_refines(b->job) && thr_store_can_refine(store))
        THR_TRY(thr_store_refine(store, b->job, b->prepared, n, b->lanes, err));
    return thr_parallel_try(context, n, put_one, b, err);
}

thr_status thr_store_run(thr_scan *scan, const thr_job *job, const thr_matrix *queries, thr_error *err) {
    uint64_t n_lanes = queries->n_rows < scan->n_lanes ? queries->n_rows : scan->n_lanes;
    n_lanes = n_lanes < THR_DEVICE_QUERIES ? n_lanes : THR_DEVICE_QUERIES;
    THR_TRY(thr_scan_make_room(scan, job->corpus, (size_t)n_lanes, 1, thr_scan_most_survivors(job), err));
    search_batch b = {.job = job, .queries = queries, .lanes = scan->lanes};
    for (uint64_t left = queries->n_rows; left > 0;) {
        const size_t n = (size_t)(left < n_lanes ? left : n_lanes);
        b.row = queries->n_rows - left;
        THR_TRY(run_batch(&b, n, err));
        left -= n;
    }
    return THR_OK;
}
