/* SPDX-License-Identifier: Apache-2.0 */
/* workspace.c - the lanes of searches: how many there are, and their memory; and the check of queries. */
#include "base/shortest.h"
#include "base/error.h"
#include "base/minmax.h"
#include "code/encode.h"
#include "scan/radius_plan.h"
#include "scan/job.h"

#include <math.h>

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

size_t thr_scan_group_size(const thr_context *context, uint64_t n_queries) {
    const uint64_t share = THR_CEIL_DIV(n_queries, context->n_threads);
    if (n_queries < context->n_threads || n_queries == 1)
        return 0;
    return (size_t)THR_MIN(share, THR_GROUP);
}

size_t thr_scan_lanes(const thr_context *context, uint64_t n_queries) {
    const size_t size = thr_scan_group_size(context, n_queries);
    return context->n_threads * THR_MAX(size, 1);
}

static void free_lane(thr_context *context, thr_lane *lane) {
    THR_RELEASE(context, lane->vector, lane->code_memory, lane->rest_memory, lane->distances, lane->sample,
                lane->group_memory, lane->group_distances, lane->origins);
    thr_scan_found_free(context, &lane->accepted);
    thr_scan_found_free(context, &lane->found);
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
    THR_TRY(thr_alloc(context, 3 * (size_t)n_dims, sizeof(float), &lane->vector, "a query", err));
    THR_TRY(thr_alloc(context, 1, thr_code_query_size(n_dims), &lane->code_memory, "a query code", err));
    THR_TRY(thr_alloc(context, 1, thr_rest_query_size(n_dims), &lane->rest_memory, "a query code", err));
    THR_TRY(thr_alloc(context, 2 * (size_t)TILE, sizeof(uint32_t), &lane->distances, "distances", err));
    lane->more_distances = lane->distances + TILE;
    return thr_alloc(context, (size_t)THR_SAMPLE_BLOCKS * THR_BLOCK_ITEMS, sizeof(float), &lane->sample, "a sample",
                     err);
}

static thr_status alloc_group(thr_context *context, thr_lane *lane, uint32_t n_dims, uint32_t group, thr_error *err) {
    THR_RELEASE(context, lane->group_memory, lane->group_distances);
    lane->group_memory = NULL;
    lane->group_distances = NULL;
    lane->group_capacity = 0;
    THR_TRY(thr_alloc(context, 1, thr_code_query_group_size(n_dims, group), &lane->group_memory, "query codes", err));
    THR_TRY(thr_alloc(context, (size_t)group * (TILE + THR_GROUP_GAP), sizeof(uint32_t), &lane->group_distances,
                      "distances", err));
    lane->group_capacity = group;
    return THR_OK;
}

thr_status thr_scan_make_room(thr_scan *scan, const thr_scan_corpus *corpus, size_t n_lanes, uint32_t group,
                              size_t survivors, thr_error *err) {
    const uint32_t n_dims = corpus->quantiser->n_dims;
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
        lane->origin_scores = NULL;
        if (corpus->origins != NULL)
            THR_TRY(thr_grow(scan->context, &lane->origins, &lane->origins_capacity, corpus->origins->n,
                             sizeof *lane->origins, "a query", err));
        if (lane->group_capacity < wanted)
            THR_TRY(alloc_group(scan->context, lane, scan->n_dims, wanted, err));
        THR_TRY(thr_select_collector_start(&lane->collector, scan->context, survivors, -INFINITY, err));
    }
    return THR_OK;
}

thr_status thr_scan_check_queries(thr_scan *scan, const thr_scan_corpus *corpus, const thr_matrix *queries,
                                  thr_error *err) {
    const thr_quantiser *quantiser = corpus->quantiser;
    const double longest = thr_longest_row(quantiser->unit);
    THR_TRY(thr_scan_make_room(scan, corpus, 1, 1, 1, err));
    float *vector = scan->lanes[0].vector;
    for (uint64_t row = 0; row < queries->n_rows; row++) {
        THR_TRY(thr_matrix_to_f32(queries, row, 1, vector));
        const double length = sqrt(scan->context->kernels->sum_squares(vector, quantiser->n_dims));
        if (length < THR_SHORTEST)
            THR_TRY(thr_code_check_short(queries, row, "query", row, err));
        if (!(length <= longest))
            return thr_fail(err, THR_ERANGE,
                            "query %llu holds NaN or infinity, or is longer than 2^%d: mend it or leave it out",
                            (unsigned long long)row, quantiser->unit ? 120 : 60);
    }
    return THR_OK;
}
