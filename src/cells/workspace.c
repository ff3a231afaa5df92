/* SPDX-License-Identifier: Apache-2.0 */
/* workspace.c - memory that searches of one index use again. */
#include "cells/workspace.h"

#include "base/error.h"

thr_status thr_cells_workspace_make(thr_context *context, thr_cells_workspace **workspace, thr_error *err) {
    THR_TRY(thr_alloc_zero(context, 1, sizeof **workspace, workspace, "a search", err));
    (*workspace)->context = context;
    return THR_OK;
}

static void empty(thr_cells_workspace *w) {
    for (uint32_t i = 0; w->visitors != NULL && i < w->n_threads; i++)
        thr_cells_visitor_free(w->context, &w->visitors[i]);
    thr_release(w->context, w->visitors);
    thr_release(w->context, w->visits);
    thr_release(w->context, w->places);
    *w = (thr_cells_workspace){.context = w->context};
}

void thr_cells_workspace_free(thr_cells_workspace *workspace) {
    if (workspace == NULL)
        return;
    empty(workspace);
    thr_release(workspace->context, workspace);
}

static void place_cells(const thr_cells_workspace *w, const thr_cells_corpus *corpus) {
    for (size_t t = 0, at = 0; t < corpus->n_tables; t++)
        for (uint32_t c = 0; c < corpus->tables[t].n; c++, at++) {
            const thr_cell_table *table = &corpus->tables[t];
            const uint64_t first_row = corpus->scan->segments[t].first_row;
            w->places[at] = thr_cells_place_of(first_row + table->cells[c].first, first_row + thr_cell_end(table, c),
                                               &table->cells[c], table->ends == NULL ? NULL : &table->ends[c]);
        }
}

/* Allocate for a plan, where the memory of earlier ones does not suffice. */
static thr_status reserve(thr_cells_workspace *w, const thr_cells_plan *plan, thr_error *err) {
    const thr_cells_capacity wanted = {.n_dims = plan->corpus->scan->quantiser->n_dims,
                                       .n_cells = plan->n_cells,
                                       .n_segments = plan->corpus->scan->n_segments,
                                       .n_blocks = plan->n_blocks,
                                       .wanted = plan->wanted};
    if (w->is_ready && w->capacity.n_dims >= wanted.n_dims && w->capacity.n_cells >= wanted.n_cells &&
        w->capacity.n_blocks >= wanted.n_blocks && w->capacity.wanted >= wanted.wanted)
        return THR_OK;
    empty(w);
    w->capacity = wanted;
    THR_TRY(thr_alloc(w->context, wanted.n_cells, sizeof *w->places, &w->places, "cells", err));
    THR_TRY(
        thr_alloc_zero(w->context, w->context->n_threads, sizeof *w->visitors, &w->visitors, "a search of cells", err));
    THR_TRY(thr_alloc(w->context, w->context->n_threads, sizeof *w->visits, &w->visits, "a search of cells", err));
    w->n_threads = w->context->n_threads;
    for (uint32_t i = 0; i < w->n_threads; i++)
        THR_TRY(thr_cells_visitor_reserve(w->context, &wanted, &w->visitors[i], err));
    place_cells(w, plan->corpus);
    w->is_ready = true;
    return THR_OK;
}

thr_status thr_cells_workspace_prepare(thr_cells_workspace *workspace, thr_cells_plan *plan, thr_error *err) {
    THR_TRY(reserve(workspace, plan, err));
    for (uint32_t i = 0; i < workspace->n_threads; i++)
        workspace->visitors[i].n_blocks = 0;
    plan->places = workspace->places;
    return THR_OK;
}

uint64_t thr_cells_blocks_visited(const thr_cells_workspace *workspace) {
    uint64_t n = 0;
    for (uint32_t i = 0; i < workspace->n_threads; i++)
        n += workspace->visitors[i].n_blocks;
    return n;
}
