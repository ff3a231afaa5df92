/* SPDX-License-Identifier: Apache-2.0 */
/* device_search.c - rounds of passes on devices, for many queries at once. */
#include "cells/device_search.h"

#include "base/error.h"
#include "parallel/pool.h"
#include "select/bitmap.h"

enum { SLOT_BYTES = 256 << 20 }; /* host memory for all slots, roughly */

/* Queries that are searched at once: slot i has query first + i. */
typedef struct flight {
    const thr_cells_job *job;
    uint64_t first;
    bool begins; /* in the first round, before which no query has begun */
    bool done;   /* devices have screened the passes of the last round */
} flight;

bool thr_cells_can_use_devices(const thr_cells_plan *plan) {
    struct thr_store *store = plan->corpus->scan->store;
    return store != NULL && plan->whole.screen_z > 0 && thr_store_is_resident(store);
}

uint32_t thr_cells_device_slots(const thr_cells_job *job) {
    const thr_cells_capacity own = thr_cells_capacity_of(&job->plan);
    const uint64_t per_cell = sizeof(thr_segment) + sizeof(thr_block_range) + sizeof(thr_cell_score_model) +
                              sizeof(thr_cell_visited) + 8 * sizeof(double);
    const uint64_t size = (own.n_cells + own.n_segments) * per_cell + own.n_blocks * sizeof(uint64_t) +
                          4 * (own.wanted + THR_RADIUS_ROWS) * sizeof(thr_candidate);
    uint64_t n = SLOT_BYTES / size;
    n = n < job->plan.context->n_threads ? job->plan.context->n_threads : n;
    n = n < THR_DEVICE_QUERIES ? n : THR_DEVICE_QUERIES;
    n = n < job->scan->n_lanes ? n : job->scan->n_lanes;
    return (uint32_t)(n < job->queries->n_rows ? n : job->queries->n_rows);
}

/* ------------------------------------------------------------------------------------------------ passes */

/* Prepare a pass for the best rows. p->waits stays false if there is nothing to screen. */
static thr_status prepare_best(thr_cells_visit *s, thr_cells_device_pass *p, thr_error *err) {
    thr_scan_query_prepare(&s->job, &s->query, 0, s->lane, &p->screen);
    if (p->screen.norm == 0 && s->job.corpus->metric != THR_METRIC_L2)
        return THR_OK;
    s->margin = (thr_margin){.noise.known = false};
    thr_scan_margin_begin(&s->job, &p->screen, s->lane, &s->margin);
    p->list.threshold = thr_scan_first_threshold(&s->job, &p->screen, s->lane);
    p->list.most = s->job.n_survivors;
    p->waits = true;
    return thr_select_collector_start(&s->lane->collector, s->job.context, s->job.n_survivors, 0, -INFINITY, err);
}

/* The same for rows that reach a score. */
static thr_status prepare_radius(thr_cells_visit *s, thr_cells_device_pass *p, thr_error *err) {
    s->radius.least_score = s->least;
    THR_TRY(thr_scan_radius_begin(&s->job, &s->query, &s->radius, s->lane, &p->screen, &p->plan, err));
    p->list.threshold = p->plan.screened;
    p->list.most = THR_RADIUS_ROWS;
    p->waits = !p->screen.skips_screen;
    return THR_OK;
}

/* Prepare a pass that was started. p->waits becomes true if devices are to screen its blocks. */
static thr_status prepare(thr_cells_visit *s, thr_cells_device_pass *p, thr_error *err) {
    p->waits = false;
    if (s->job.exact)
        return THR_OK;
    THR_TRY(s->least == -INFINITY ? prepare_best(s, p, err) : prepare_radius(s, p, err));
    p->list.query = &p->screen;
    p->list.runs = s->v->part.runs;
    p->list.n_runs = s->v->part.n_segments;
    p->list.n_rows = s->job.n_allowed;
    p->list.collector = &s->lane->collector;
    return THR_OK;
}

/*
 * Whether a list has all rows that the pass needs. A pass for the best rows needs as many as survive; if fewer reach
 * its sampled threshold, this was too high.
 */
static bool is_complete(const thr_cells_visit *s, const thr_store_list *list) {
    if (list->lost)
        return false;
    if (s->least == -INFINITY)
        return list->n_reached >= list->most || list->threshold == -INFINITY;
    return list->n_reached <= list->most;
}

/* Finish a pass whose blocks devices have screened. */
static thr_status finish(thr_cells_visit *s, const thr_cells_device_pass *p, thr_error *err) {
    thr_lane *lane = s->lane;
    thr_collector *collector = &lane->collector;
    for (size_t i = 0; i < collector->n; i++)
        collector->items[i].row = thr_cells_subset_place(&s->v->part, collector->items[i].row);
    lane->n_read = 0;
    if (s->least == -INFINITY) {
        thr_select_collector_finish(collector);
        THR_TRY(thr_scan_margin_answer(&s->job, &s->margin, &s->query, 0, lane, 1, err));
        THR_TRY(thr_cells_visit_take_best(s, err));
    } else {
        lane->found.n = 0;
        THR_TRY(thr_scan_radius_finish(&s->job, &s->radius, &p->plan, lane, &lane->found, err));
        THR_TRY(thr_cells_visit_take_found(s, err));
    }
    thr_cells_visit_end_pass(s);
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ rounds */

/* Finish the pass of a slot that waited for devices, and bring the query to its next such pass, or to its end. */
static thr_status advance(void *arg, size_t slot, uint32_t worker, thr_error *err) {
    const flight *f = arg;
    thr_cells_visit *s = &f->job->workspace->visits[slot];
    thr_cells_device_pass *p = &f->job->workspace->passes[slot];
    bool has_pass = f->begins;
    (void)worker;
    if (f->begins) {
        thr_cells_job_begin(f->job, f->first + slot, slot);
    } else if (!p->waits) {
        return THR_OK;
    } else {
        THR_TRY(f->done && is_complete(s, &p->list) ? finish(s, p, err) : thr_cells_visit_run_pass(s, err));
        has_pass = thr_cells_visit_next(s);
    }
    for (p->waits = false; has_pass; has_pass = thr_cells_visit_next(s)) {
        bool has_rows;
        THR_TRY(thr_cells_visit_start_pass(s, &has_rows, err));
        if (!has_rows)
            continue;
        THR_TRY(prepare(s, p, err));
        if (p->waits)
            return THR_OK;
        THR_TRY(thr_cells_visit_run_pass(s, err));
    }
    return thr_cells_job_end(f->job, f->first + slot, slot, err);
}

/* Search for n queries at once. */
static thr_status search_at_once(flight *f, size_t n, thr_error *err) {
    const thr_cells_job *job = f->job;
    for (f->begins = true;; f->begins = false) {
        thr_store_list *lists[THR_DEVICE_QUERIES];
        size_t n_lists = 0;
        THR_TRY(thr_parallel_try(job->plan.context, n, advance, f, err));
        for (size_t i = 0; i < n; i++)
            if (job->workspace->passes[i].waits)
                lists[n_lists++] = &job->workspace->passes[i].list;
        if (n_lists == 0)
            return THR_OK;
        THR_TRY(thr_store_screen_lists(job->plan.corpus->scan->store, &job->plan.whole, lists, n_lists, &f->done, err));
    }
}

thr_status thr_cells_search_on_devices(const thr_cells_job *job, uint32_t n_slots, thr_error *err) {
    flight f = {.job = job};
    for (; f.first < job->queries->n_rows; f.first += n_slots) {
        const uint64_t left = job->queries->n_rows - f.first;
        THR_TRY(search_at_once(&f, (size_t)(left < n_slots ? left : n_slots), err));
    }
    return THR_OK;
}
