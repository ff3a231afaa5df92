/* SPDX-License-Identifier: Apache-2.0 */
/* passes.c - prepares passes whose screens run elsewhere, and finishes them. */
#include "cells/passes.h"

#include "base/error.h"

/* Prepare a pass for the best rows. A query of length 0 has no screen: pass->waits stays false. */
static thr_status prepare_best(thr_cells_visit *s, thr_cells_pass *pass, thr_error *err) {
    thr_scan_query_prepare(&s->job, &s->query, 0, s->lane, &pass->query);
    if (pass->query.norm == 0 && s->job.corpus->metric != THR_METRIC_L2)
        return THR_OK;
    s->margin = (thr_margin){.noise.known = false};
    thr_scan_margin_begin(&s->job, &pass->query, s->lane, &s->margin);
    pass->threshold = thr_scan_first_threshold(&s->job, &pass->query, s->lane);
    pass->most = s->job.n_survivors;
    pass->waits = true;
    return thr_select_collector_start(&s->lane->collector, s->job.context, pass->most, pass->threshold, err);
}

/* Prepare a pass for the rows that reach s->least. If it scores all vectors instead, pass->waits stays false. */
static thr_status prepare_radius(thr_cells_visit *s, thr_cells_pass *pass, thr_error *err) {
    s->radius.least_score = s->least;
    THR_TRY(thr_scan_radius_begin(&s->job, &s->query, &s->radius, s->lane, &pass->query, &pass->plan, err));
    pass->threshold = pass->plan.screened;
    pass->most = THR_RADIUS_ROWS;
    pass->waits = !pass->query.skips_screen;
    return THR_OK;
}

/* Take the rows of a pass whose screen is complete: rescore and refine those in the lane's collector. */
static thr_status finish(thr_cells_visit *s, const thr_cells_pass *pass, thr_error *err) {
    thr_lane *lane = s->lane;
    thr_collector *collector = &lane->collector;
    for (size_t i = 0; i < collector->n && pass->rows_of_index; i++)
        collector->items[i].row = thr_cells_subset_from_whole(&s->v->part, collector->items[i].row);
    if (s->least == -INFINITY) {
        thr_select_collector_finish(collector);
        THR_TRY(thr_scan_answer(&s->job, &s->margin, &s->query, 0, lane, 1, err));
        THR_TRY(thr_cells_visit_take_best(s, err));
    } else {
        lane->found.n = 0;
        THR_TRY(thr_scan_radius_finish(&s->job, &s->radius, &pass->plan, lane, &lane->found, err));
        THR_TRY(thr_cells_visit_take_found(s, err));
    }
    thr_cells_visit_end_pass(s);
    return THR_OK;
}

/* Run passes from the one that begins now, until one waits or the search ends. */
static thr_status run_passes(const thr_cells_job *job, uint64_t row, size_t slot, uint64_t least_blocks,
                             thr_error *err) {
    thr_cells_visit *s = &job->workspace->visits[slot];
    thr_cells_pass *pass = &job->workspace->passes[slot];
    pass->waits = false;
    do {
        bool has_rows;
        THR_TRY(thr_cells_visit_start_pass(s, &has_rows, err));
        if (!has_rows)
            continue;
        if (!s->job.exact && s->job.n_blocks >= least_blocks)
            THR_TRY(s->least == -INFINITY ? prepare_best(s, pass, err) : prepare_radius(s, pass, err));
        if (pass->waits)
            return THR_OK;
        THR_TRY(thr_cells_visit_run_pass(s, err));
    } while (thr_cells_visit_next(s));
    return thr_cells_job_end(job, row, slot, err);
}

thr_status thr_cells_pass_begin(const thr_cells_job *job, uint64_t row, size_t slot, uint64_t least_blocks,
                                thr_error *err) {
    thr_cells_job_begin(job, row, slot);
    return run_passes(job, row, slot, least_blocks, err);
}

thr_status thr_cells_pass_continue(const thr_cells_job *job, uint64_t row, size_t slot, uint64_t least_blocks,
                                   thr_error *err) {
    thr_cells_visit *s = &job->workspace->visits[slot];
    thr_cells_pass *pass = &job->workspace->passes[slot];
    pass->waits = false;
    THR_TRY(pass->is_complete ? finish(s, pass, err) : thr_cells_visit_run_pass(s, err));
    return thr_cells_visit_next(s) ? run_passes(job, row, slot, least_blocks, err)
                                   : thr_cells_job_end(job, row, slot, err);
}
