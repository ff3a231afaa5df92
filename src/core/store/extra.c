/* SPDX-License-Identifier: Apache-2.0 */
/* extra.c - collects the rows within extra of the wanted ones by a second pass, with a larger capacity where needed. */
#include "store/extra.h"

#include "base/error.h"
#include "device/keys.h"

#include <math.h>
#include <string.h>

enum { EXTRA_ITEMS = 1 << 16 }; /* initial capacity: the number of rows within extra is unknown */

/*
 * Collect all rows of a slice whose score is at least `least`, into the query's collector. Repeats with the counted
 * capacity where the first was too small.
 */
static thr_status collect_extra(const thr_collecting *c, thr_store_slice *slice, float least, uint64_t n_allowed,
                                thr_error *err) {
    const thr_backend *backend = c->store->backend;
    thr_collector *collector = &c->lanes[0]->collector;
    const thr_query_run only = {0, 1};
    uint32_t bits, capacity = n_allowed < EXTRA_ITEMS ? (uint32_t)n_allowed : EXTRA_ITEMS;
    memcpy(&bits, &least, sizeof bits);
    const uint64_t threshold = thr_device_key_make(thr_device_score_order(bits), UINT32_MAX);
    while (n_allowed > 0) {
        thr_slice_memory m;
        const thr_slice_plan plan = {.n_allowed = n_allowed, .wanted = capacity, .capacity = capacity};
        THR_TRY(thr_store_get_memory(c, slice, &plan, &m, err));
        THR_TRY(backend->upload(slice->stream, m.thresholds, &threshold, sizeof threshold, err));
        THR_TRY(thr_store_emit(c, slice, &plan, &m, only, err));
        THR_TRY(thr_store_choose(c, slice, &plan, &m, only, err));
        THR_TRY(backend->wait(slice->stream, err));
        if (m.host_counts[0] <= capacity) {
            thr_store_push(slice, collector, m.host_chosen, m.host_counts[1]);
            return THR_OK;
        }
        capacity = m.host_counts[0];
    }
    return THR_OK;
}

thr_status thr_store_collect_within(const thr_collecting *c, const thr_slice_plan *plans, float extra, thr_error *err) {
    thr_collector *collector = &c->lanes[0]->collector;
    float worst = INFINITY;
    for (size_t i = 0; i < collector->n; i++)
        worst = collector->items[i].score < worst ? collector->items[i].score : worst;
    if (collector->n < c->job->n_survivors)
        return THR_OK; /* all allowed rows are collected already */
    THR_TRY(thr_select_collector_start(collector, c->job->context, c->job->n_survivors, extra, -INFINITY, err));
    for (uint32_t i = 0; i < c->store->n_slices; i++)
        THR_TRY(collect_extra(c, &c->store->slices[i], worst - extra, plans[i].n_allowed, err));
    thr_select_collector_finish(collector);
    if (collector->status != THR_OK)
        return thr_fail(err, collector->status,
                        "no memory for all rows within extra of the k-th best estimate: lower extra");
    return THR_OK;
}
