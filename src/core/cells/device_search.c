/* SPDX-License-Identifier: Apache-2.0 */
/* device_search.c - rounds of passes on devices, for many queries at once. */
#include "cells/device_search.h"

#include "base/error.h"
#include "base/minmax.h"
#include "cells/passes.h"
#include "parallel/pool.h"
#include "store/listed.h"

/* The queries that are searched at once: slot i has query number first + i. */
typedef struct flight {
    const thr_cells_job *job;
    uint64_t first;
    bool begins; /* this is the first round, which begins the queries */
} flight;

bool thr_cells_can_use_devices(const thr_cells_plan *plan) {
    struct thr_store *store = plan->corpus->scan->store;
    return store != NULL && plan->whole.screen_z > 0 && thr_store_is_resident(store);
}

uint32_t thr_cells_device_slots(const thr_cells_job *job) {
    uint64_t n = thr_cells_slots_in_memory(job);
    n = THR_MIN(n, THR_DEVICE_QUERIES);
    n = THR_MIN(n, job->scan->n_lanes);
    return (uint32_t)THR_MIN(n, job->queries->n_rows);
}

/* Begin the query of a slot, or finish its pass that devices screened; then bring it to its next pass or to its end. */
static thr_status advance(void *arg, size_t slot, uint32_t worker, thr_error *err) {
    const flight *f = arg;
    const uint64_t row = f->first + slot;
    (void)worker;
    if (f->begins)
        return thr_cells_pass_begin(f->job, row, slot, 0, err);
    return f->job->workspace->passes[slot].waits ? thr_cells_pass_continue(f->job, row, slot, 0, err) : THR_OK;
}

static thr_store_list list_of(thr_cells_visit *s, const thr_cells_pass *pass) {
    return (thr_store_list){.query = &pass->query,
                            .runs = s->v->part.runs,
                            .n_runs = s->v->part.n_segments,
                            .n_rows = s->job.n_allowed,
                            .threshold = pass->threshold,
                            .most = pass->most,
                            .collector = &s->lane->collector};
}

/*
 * Whether a list has all rows that its pass needs. A pass for the best rows needs `most` rows; if fewer reached its
 * sampled threshold, that was too high. A pass with a least score needs all rows that reached it.
 */
static bool is_complete(const thr_cells_visit *s, const thr_store_list *list) {
    if (list->lost)
        return false;
    if (s->least == -INFINITY)
        return list->n_reached >= list->most || list->threshold == -INFINITY;
    return list->n_reached <= list->most;
}

/* Screen the passes of all slots that wait. *any receives whether there was one. */
static thr_status screen(const thr_cells_job *job, size_t n_slots, bool *any, thr_error *err) {
    thr_store_list lists[THR_DEVICE_QUERIES], *order[THR_DEVICE_QUERIES];
    size_t slots[THR_DEVICE_QUERIES], n = 0;
    bool done;
    for (size_t i = 0; i < n_slots; i++)
        if (job->workspace->passes[i].waits) {
            lists[n] = list_of(&job->workspace->visits[i], &job->workspace->passes[i]);
            order[n] = &lists[n];
            slots[n++] = i;
        }
    *any = n > 0;
    if (n == 0)
        return THR_OK;
    THR_TRY(thr_store_screen_lists(job->plan.corpus->scan->store, &job->plan.whole, order, n, &done, err));
    for (size_t i = 0; i < n; i++) {
        thr_cells_pass *pass = &job->workspace->passes[slots[i]];
        pass->is_complete = done && is_complete(&job->workspace->visits[slots[i]], &lists[i]);
        pass->rows_of_index = true;
    }
    return THR_OK;
}

/* Search for n queries at once. */
static thr_status search_at_once(flight *f, size_t n, thr_error *err) {
    bool any = true;
    for (f->begins = true; any; f->begins = false) {
        THR_TRY(thr_parallel_try(f->job->plan.context, n, advance, f, err));
        THR_TRY(screen(f->job, n, &any, err));
    }
    return THR_OK;
}

thr_status thr_cells_search_on_devices(const thr_cells_job *job, uint32_t n_slots, thr_error *err) {
    flight f = {.job = job};
    for (; f.first < job->queries->n_rows; f.first += n_slots) {
        const uint64_t left = job->queries->n_rows - f.first;
        THR_TRY(search_at_once(&f, (size_t)THR_MIN(left, n_slots), err));
    }
    return THR_OK;
}
