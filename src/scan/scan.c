/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan.c - a search for the best k. Queries are spread over the threads in groups that read every tile of codes
 * together, or each query in turn takes all threads. Survivors are rescored by the other planes, refined, and sorted.
 */
#include "scan/scan.h"

#include "base/error.h"
#include "code/encode.h"
#include "parallel/pool.h"
#include "scan/bounds.h"
#include "scan/values.h"
#include "select/bitmap.h"

#include <math.h>
#include <string.h>

thr_status thr_scan_create(thr_context *context, thr_scan **scan_out, thr_error *err) {
    thr_scan *scan = NULL;
    *scan_out = NULL;
    size_t n_lanes = (size_t)context->n_threads * THR_GROUP;
    if (context->gpus != NULL && n_lanes < THR_DEVICE_QUERIES)
        n_lanes = THR_DEVICE_QUERIES;
    THR_TRY(thr_alloc_zero(context, 1, sizeof *scan + n_lanes * sizeof(thr_lane), &scan, "a search", err));
    scan->context = context;
    scan->n_lanes = n_lanes;
    for (size_t i = 0; i < n_lanes; i++)
        scan->lanes[i].number = i;
    *scan_out = scan;
    return THR_OK;
}

static void free_lane(thr_context *context, thr_lane *lane) {
    thr_release(context, lane->vector);
    thr_release(context, lane->code_memory);
    thr_release(context, lane->rest_memory);
    thr_release(context, lane->distances);
    thr_release(context, lane->sample);
    thr_release(context, lane->group_memory);
    thr_release(context, lane->group_distances);
    *lane = (thr_lane){.collector = lane->collector, .number = lane->number};
}

void thr_scan_free(thr_scan *scan) {
    if (scan == NULL)
        return;
    for (size_t i = 0; i < scan->n_lanes; i++) {
        free_lane(scan->context, &scan->lanes[i]);
        thr_select_collector_free(&scan->lanes[i].collector);
    }
    thr_release(scan->context, scan);
}

enum { TILE = THR_TILE_BLOCKS * THR_BLOCK_ITEMS };

static thr_status alloc_lane(thr_context *context, thr_lane *lane, uint32_t n_dims, thr_error *err) {
    THR_TRY(thr_alloc(context, 2 * (size_t)n_dims, sizeof(float), &lane->vector, "a query", err));
    THR_TRY(thr_alloc(context, 1, thr_code_query_size(n_dims), &lane->code_memory, "a query code", err));
    THR_TRY(thr_alloc(context, 1, thr_rest_query_size(n_dims), &lane->rest_memory, "a query code", err));
    THR_TRY(thr_alloc(context, 2 * (size_t)TILE, sizeof(uint32_t), &lane->distances, "distances", err));
    lane->more_distances = lane->distances + TILE;
    return thr_alloc(context, (size_t)THR_SAMPLE_BLOCKS * THR_BLOCK_ITEMS, sizeof(float), &lane->sample, "a sample",
                     err);
}

static thr_status alloc_group(thr_context *context, thr_lane *lane, uint32_t n_dims, uint32_t group, thr_error *err) {
    thr_release(context, lane->group_memory);
    thr_release(context, lane->group_distances);
    lane->group_memory = NULL;
    lane->group_distances = NULL;
    lane->group = 0;
    THR_TRY(thr_alloc(context, 1, thr_code_query_group_size(n_dims, group), &lane->group_memory, "query codes", err));
    THR_TRY(thr_alloc(context, (size_t)group * (TILE + THR_GROUP_GAP), sizeof(uint32_t), &lane->group_distances,
                      "distances", err));
    lane->group = group;
    return THR_OK;
}

thr_status thr_scan_make_room(thr_scan *scan, size_t n_lanes, uint32_t group, uint32_t n_dims, size_t survivors,
                              thr_error *err) {
    if (scan->n_dims < n_dims) {
        for (size_t i = 0; i < scan->n_lanes; i++)
            free_lane(scan->context, &scan->lanes[i]);
        scan->n_dims = n_dims;
    }
    for (size_t i = 0; i < n_lanes; i++) {
        thr_lane *lane = &scan->lanes[i];
        const uint32_t wanted = i % group == 0 ? group : 1; /* a query of a group may have to repeat its pass alone */
        if (lane->sample == NULL) {
            free_lane(scan->context, lane);
            THR_TRY(alloc_lane(scan->context, lane, scan->n_dims, err));
        }
        if (lane->group < wanted)
            THR_TRY(alloc_group(scan->context, lane, scan->n_dims, wanted, err));
        THR_TRY(thr_select_collector_start(&lane->collector, scan->context, survivors, 0, -INFINITY, err));
    }
    return THR_OK;
}

/* A search over all queries. */
typedef struct query_search {
    thr_scan *scan;
    const thr_job *job;
    const thr_matrix *queries;
    size_t group;
} query_search;

/* Turn the survivors in the lane into the answer of query `row`. */
static thr_status answer(const query_search *s, const thr_scan_query *query, thr_lane *lane, uint64_t row,
                         thr_error *err) {
    thr_scan_answer_screened(s->job, query, lane);
    if (thr_answer_rescores(s->job, query))
        thr_scan_rescore(query, lane->collector.items, lane->collector.n);
    thr_scan_answer_rescored(s->job, query, lane);
    if (thr_answer_refines(s->job))
        thr_scan_refine(query, lane, lane->collector.items, lane->collector.n);
    return thr_scan_answer_put(s->job, query, lane, row, err);
}

/* Search n queries from row on, with a lane each, or one query on all n_lanes. */
static thr_status search_group(const query_search *s, uint64_t row, size_t n, thr_lane *lanes, uint32_t n_lanes,
                               thr_error *err) {
    thr_scan_query queries[THR_GROUP];
    for (size_t i = 0; i < n; i++) {
        thr_scan_query_prepare(s->job, s->queries, row + i, &lanes[i], &queries[i]);
        THR_TRY(thr_scan_values_begin(&queries[i], row + i, &lanes[i], n_lanes, err));
    }
    THR_TRY(thr_scan_collect(s->job, queries, n, lanes, n_lanes, err));
    for (size_t i = 0; i < n; i++)
        THR_TRY(answer(s, &queries[i], &lanes[i], row + i, err));
    return THR_OK;
}

static thr_status run_group(void *arg, size_t group, uint32_t worker, thr_error *err) {
    const query_search *s = arg;
    const uint64_t row = (uint64_t)group * s->group, left = s->queries->n_rows - row;
    return search_group(s, row, left < s->group ? (size_t)left : s->group, &s->scan->lanes[(size_t)worker * s->group],
                        1, err);
}

thr_status thr_scan_check_queries(thr_scan *scan, const thr_scan_target *target, const thr_matrix *queries,
                                  thr_error *err) {
    const thr_quantiser *quantiser = target->quantiser;
    const double longest = thr_longest_row(quantiser->unit);
    THR_TRY(thr_scan_make_room(scan, 1, 1, quantiser->n_dims, 1, err));
    float *vector = scan->lanes[0].vector;
    for (uint64_t row = 0; row < queries->n_rows; row++) {
        THR_TRY(thr_matrix_to_f32(queries, row, 1, vector));
        if (!(sqrt(scan->context->kernels->sum_squares(vector, quantiser->n_dims)) <= longest))
            return thr_fail(err, THR_ERANGE,
                            "query %llu holds NaN or infinity, or is longer than 2^%d: mend it or leave it out",
                            (unsigned long long)row, quantiser->unit ? 120 : 60);
    }
    return THR_OK;
}

uint64_t thr_scan_count_allowed(const thr_scan_target *target, const uint64_t *filter) {
    return filter == NULL ? target->n_items : thr_select_bitmap_count_range(filter, 0, target->n_items);
}

thr_job thr_scan_job_make(thr_context *context, const thr_scan_target *target, const thr_search_options *options,
                          const thr_answers *answers) {
    thr_job job = {.context = context, .target = target, .options = options, .answers = answers};
    const uint64_t k = answers->k;
    job.query_bits = options->query_bits != 0  ? options->query_bits
                     : target->query_bits != 0 ? target->query_bits
                                               : THR_QUERY_BITS;
    job.n_blocks = (target->n_items + THR_BLOCK_ITEMS - 1) / THR_BLOCK_ITEMS;
    job.n_allowed = thr_scan_count_allowed(target, options->filter);
    job.exact = options->exact || thr_scan_rows_are_cheaper(target, options->filter, job.n_allowed);
    /* A margin is measured from the k-th best; without vectors more candidates are of no use. */
    uint64_t wanted = options->n_candidates > k ? options->n_candidates : k;
    if (job.exact || options->extra >= 0 || target->keep == THR_DTYPE_NONE)
        wanted = k;
    wanted = wanted < job.n_allowed ? wanted : job.n_allowed;
    uint64_t survivors = options->n_survivors > wanted ? options->n_survivors : wanted;
    if (job.exact || !thr_is_nested(target))
        survivors = wanted;
    survivors = survivors < job.n_allowed ? survivors : job.n_allowed;
    job.wanted = wanted == 0 ? 1 : (size_t)wanted;
    job.survivors = survivors == 0 ? 1 : (size_t)survivors;
    job.bounded = answers->certified != NULL && !job.exact && target->keep != THR_DTYPE_NONE;
    job.kept_error = job.bounded ? thr_scan_kept_error(target, context->kernels) : 0;
    return job;
}

/* Fewer queries than threads run one after the other, each on all threads; else groups of equal size per thread. */
static bool one_by_one_is_best(const thr_context *context, uint64_t n_queries) {
    return n_queries < context->n_threads || n_queries == 1;
}

static size_t group_size(const thr_context *context, uint64_t n_queries) {
    const uint64_t share = (n_queries + context->n_threads - 1) / context->n_threads;
    return share < THR_GROUP ? (size_t)share : THR_GROUP;
}

size_t thr_scan_lanes(const thr_context *context, uint64_t n_queries) {
    return context->n_threads * (one_by_one_is_best(context, n_queries) ? 1 : group_size(context, n_queries));
}

thr_status thr_scan_search(thr_scan *scan, const thr_scan_target *target, const thr_matrix *queries,
                           const thr_search_options *options, const thr_answers *answers, thr_error *err) {
    thr_context *context = scan->context;
    const thr_job job = thr_scan_job_make(context, target, options, answers);
    const bool one_by_one = one_by_one_is_best(context, queries->n_rows);
    const size_t group = group_size(context, queries->n_rows), n_lanes = thr_scan_lanes(context, queries->n_rows);
    THR_TRY(thr_scan_make_room(scan, n_lanes, one_by_one ? 1 : (uint32_t)group, target->quantiser->n_dims,
                               job.survivors, err));
    THR_TRY(thr_scan_check_queries(scan, target, queries, err));
    query_search s = {scan, &job, queries, group};
    if (one_by_one) {
        for (uint64_t row = 0; row < queries->n_rows; row++)
            THR_TRY(search_group(&s, row, 1, scan->lanes, context->n_threads, err));
        return THR_OK;
    }
    return thr_parallel_try(context, (size_t)((queries->n_rows + group - 1) / group), run_group, &s, err);
}
