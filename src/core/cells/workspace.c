/* SPDX-License-Identifier: Apache-2.0 */
/* workspace.c - memory that later searches of the same index reuse; begins and ends a query in a slot. */
#include "cells/workspace.h"

#include "base/error.h"
#include "base/minmax.h"

enum { SLOT_BYTES = 256 << 20 }; /* for all slots, roughly */

thr_status thr_cells_workspace_make(thr_context *context, thr_cells_workspace **workspace, thr_error *err) {
    THR_TRY(thr_alloc_zero(context, 1, sizeof **workspace, workspace, "a search", err));
    (*workspace)->context = context;
    return THR_OK;
}

static void empty(thr_cells_workspace *w) {
    for (uint32_t i = 0; w->visitors != NULL && i < w->n_slots; i++)
        thr_cells_visitor_free(w->context, &w->visitors[i]);
    THR_RELEASE(w->context, w->visitors, w->visits, w->passes, w->cell_rows, w->n_allowed);
    thr_cells_columns_free(w->context, &w->columns);
    *w = (thr_cells_workspace){.context = w->context};
}

void thr_cells_workspace_free(thr_cells_workspace *workspace) {
    if (workspace == NULL)
        return;
    empty(workspace);
    thr_release(workspace->context, workspace);
}

static void set_cells(thr_cells_workspace *w, const thr_cells_corpus *corpus) {
    for (size_t t = 0, at = 0; t < corpus->n_tables; t++)
        for (uint32_t c = 0; c < corpus->tables[t].n; c++, at++) {
            const thr_cell_table *table = &corpus->tables[t];
            const thr_cell_rows rows = thr_cells_rows_of(corpus, t, c);
            w->cell_rows[at] = rows;
            thr_cells_columns_set(&w->columns, at, corpus->scan->metric, thr_cells_count_rows(&rows, NULL),
                                  &table->cells[c], &table->ends[c]);
            w->n_rows += w->columns.n_rows[at];
        }
}

thr_cells_capacity thr_cells_capacity_of(const thr_cells_plan *plan) {
    return (thr_cells_capacity){.n_dims = plan->corpus->scan->quantiser->n_dims,
                                .n_cells = plan->n_cells,
                                .n_segments = plan->corpus->scan->n_segments,
                                .n_blocks = plan->n_blocks,
                                .n_pass_rows = plan->wanted};
}

uint64_t thr_cells_slots_in_memory(const thr_cells_job *job) {
    const thr_cells_capacity own = thr_cells_capacity_of(&job->plan);
    const uint64_t per_cell = sizeof(thr_segment) + sizeof(thr_block_range) + sizeof(thr_cell_score_model) +
                              sizeof(thr_cell_visited) + 8 * sizeof(double);
    const uint64_t size = (own.n_cells + own.n_segments) * per_cell + own.n_blocks * sizeof(uint64_t) +
                          4 * (own.n_pass_rows + THR_RADIUS_ROWS) * sizeof(thr_candidate);
    const uint64_t n = SLOT_BYTES / size;
    return THR_MAX(job->plan.context->n_threads, n);
}

/* Allocate memory for a plan, unless that of an earlier one suffices. */
static thr_status reserve(thr_cells_workspace *w, const thr_cells_plan *plan, uint32_t n_slots, thr_error *err) {
    static const char what[] = "a search of cells";
    const thr_cells_capacity needed = thr_cells_capacity_of(plan);
    if (w->is_ready && w->n_slots >= n_slots && w->capacity.n_dims >= needed.n_dims &&
        w->capacity.n_cells >= needed.n_cells && w->capacity.n_blocks >= needed.n_blocks &&
        w->capacity.n_pass_rows >= needed.n_pass_rows)
        return THR_OK;
    empty(w);
    w->capacity = needed;
    THR_TRY(thr_alloc(w->context, needed.n_cells, sizeof *w->cell_rows, &w->cell_rows, "cells", err));
    THR_TRY(thr_alloc(w->context, needed.n_cells, sizeof *w->n_allowed, &w->n_allowed, "cells", err));
    THR_TRY(thr_cells_columns_reserve(w->context, needed.n_cells, &w->columns, err));
    THR_TRY(thr_alloc_zero(w->context, n_slots, sizeof *w->visitors, &w->visitors, what, err));
    w->n_slots = n_slots;
    THR_TRY(thr_alloc(w->context, n_slots, sizeof *w->visits, &w->visits, what, err));
    THR_TRY(thr_alloc(w->context, n_slots, sizeof *w->passes, &w->passes, what, err));
    for (uint32_t i = 0; i < n_slots; i++)
        THR_TRY(thr_cells_visitor_reserve(w->context, &needed, &w->visitors[i], err));
    set_cells(w, plan->corpus);
    w->is_ready = true;
    return THR_OK;
}

/* Count the rows of each cell that pass the filter. */
static void count_allowed(thr_cells_workspace *w, thr_cells_plan *plan) {
    const uint64_t *filter = plan->options.filter;
    plan->n_allowed = w->columns.n_rows;
    plan->n_rows = w->n_rows;
    if (filter == NULL)
        return;
    plan->n_allowed = w->n_allowed;
    plan->n_rows = 0;
    for (size_t c = 0; c < plan->n_cells; c++) {
        w->n_allowed[c] = (double)thr_cells_count_rows(&w->cell_rows[c], filter);
        plan->n_rows += w->n_allowed[c];
    }
}

thr_status thr_cells_workspace_prepare(thr_cells_workspace *workspace, thr_cells_plan *plan, uint32_t n_slots,
                                       thr_error *err) {
    THR_TRY(reserve(workspace, plan, n_slots, err));
    for (uint32_t i = 0; i < workspace->n_slots; i++)
        workspace->visitors[i].blocks.n_read = 0;
    plan->cell_rows = workspace->cell_rows;
    plan->columns = &workspace->columns;
    count_allowed(workspace, plan);
    return THR_OK;
}

void thr_cells_job_begin(const thr_cells_job *job, uint64_t row, size_t slot) {
    const thr_matrix query = thr_query_of(job->queries, row);
    thr_cells_visit_begin(&job->plan, &query, &job->scan->lanes[slot], &job->workspace->visitors[slot],
                          &job->workspace->visits[slot]);
}

thr_status thr_cells_job_end(const thr_cells_job *job, uint64_t row, size_t slot, thr_error *err) {
    thr_cells_visit *visit = &job->workspace->visits[slot];
    const thr_found *found = &job->workspace->visitors[slot].found;
    const size_t k = (size_t)job->answers->k;
    THR_TRY(thr_cells_visit_end(visit, err));
    if (job->answers->n_read != NULL)
        job->answers->n_read[row] = visit->n_read;
    thr_select_answers_put(job->answers, row, found->items, THR_MIN(found->n, k));
    return THR_OK;
}

uint64_t thr_cells_blocks_visited(const thr_cells_workspace *workspace) {
    uint64_t n = 0;
    for (uint32_t i = 0; i < workspace->n_slots; i++)
        n += workspace->visitors[i].blocks.n_read;
    return n;
}
