/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect_values.c - the screen on a device by values, that is with sums of posting lists. The owner of the posting
 * lists runs one pass over codes and lists, and calls back for the codes. Values have the CPU's bits, so the same rows
 * pass.
 */
#include "base/error.h"
#include "store/chunks.h"
#include "store/queries.h"
#include "scan/values.h"

#include <math.h>

typedef struct hits_screen {
    thr_collecting c; /* has no filter: the pass over lists applies it */
    const thr_store_slice *slice;
    thr_device_codes codes;
    thr_scan_query *queries;
    thr_lane *lanes;
    uint64_t first;
} hits_screen;

bool thr_store_can_add_hits(const thr_store *store) {
    return store->n_slices == 1 && store->slices[0].chunks.n == 0;
}

static void describe_codes(void *arg, uint64_t query, thr_device_scan *scan, float *gain, float *bias) {
    const hits_screen *s = arg;
    const uint32_t i = (uint32_t)(query - s->first);
    thr_store_make_scan(&s->c, s->slice, &s->codes, i, 1, scan);
    *gain = thr_values_gain(&s->queries[i]);
    *bias = s->queries[i].bias;
}

/* Push rows as thr_scan_values_push does: nested codes have sum and row in one number, row x 2^32 + sum. */
static void push_found(void *arg, uint64_t query, const thr_candidate *rows, const int32_t *sums, size_t n,
                       float unit) {
    const hits_screen *s = arg;
    const bool nested = thr_is_nested(s->c.job->corpus);
    thr_collector *collector = &s->lanes[query - s->first].collector;
    s->queries[query - s->first].unit = unit;
    for (size_t i = 0; i < n; i++) {
        const uint32_t sum = (uint32_t)sums[i];
        if (i % THR_BLOCK_ITEMS == 0)
            thr_select_collector_reserve(collector);
        if (nested)
            thr_collector_push(collector, rows[i].row << 32 | sum, rows[i].score, rows[i].distance);
        else
            thr_collector_push(collector, rows[i].row, rows[i].score, sum);
    }
    thr_select_collector_finish(collector);
}

/* Runs with the store locked. */
static thr_status collect(hits_screen *s, size_t n, thr_error *err) {
    thr_store *store = s->c.store;
    thr_store_slice *slice = &store->slices[0];
    const thr_scan_hits *hits = s->c.job->corpus->hits;
    const thr_dense_screen screen = {s, describe_codes, push_found};
    if (!thr_store_can_add_hits(store)) /* another search may have turned resident codes into chunks */
        return thr_fail(err, THR_ENOMEM, "codes and posting lists are more than a GPU has memory for");
    s->codes = thr_store_tiles_view(slice, slice->resident, slice->n_tiles, 0, slice->n_tiles, 0);
    THR_TRY(thr_store_send_queries(&s->c, slice, err));
    THR_TRY(store->backend->wait(slice->stream, err)); /* the lists' pass runs on another stream */
    return hits->collect(hits->arg, &screen, s->first, n, s->c.job->n_survivors, err);
}

thr_status thr_store_collect_values(thr_store *store, const thr_job *job, thr_scan_query *queries, uint64_t first,
                                    size_t n, thr_lane *lanes, thr_error *err) {
    thr_scan_query *pointers[THR_DEVICE_QUERIES];
    thr_search_options options = *job->options;
    thr_job unfiltered = *job;
    options.filter = NULL;
    unfiltered.options = &options;
    for (size_t i = 0; i < n; i++) {
        queries[i].skips_screen = false;
        pointers[i] = &queries[i];
        THR_TRY(thr_select_collector_start(&lanes[i].collector, job->context, job->n_survivors, -INFINITY, err));
    }
    hits_screen s = {.c = {store, &unfiltered, pointers, NULL, (uint32_t)n},
                     .slice = &store->slices[0],
                     .queries = queries,
                     .lanes = lanes,
                     .first = first};
    (void)pthread_mutex_lock(&store->mutex);
    const thr_status status = collect(&s, n, err);
    (void)pthread_mutex_unlock(&store->mutex);
    return status;
}
