/* SPDX-License-Identifier: Apache-2.0 */
/* slots.c - makes the memory of searches by bounds, and finds the queries that can skip too few blocks. */
#include "cells/bounded/slots.h"

#include "base/blocks.h"
#include "base/error.h"
#include "base/minmax.h"

#include <math.h>
#include <string.h>

/*
 * A query searches the whole corpus if more than MOST_SAMPLED of the rows of a sample of cells are in cells whose bound
 * reaches its least score. The sample has SAMPLED_CELLS cells or more, evenly spaced in each segment.
 */
enum { SAMPLED_CELLS = 32 };
static const double MOST_SAMPLED = 0.75;

static const char WHAT[] = "a search of cells";

/* ------------------------------------------------------------------------------------------------ memory */

thr_status thr_cells_bounded_workspace_make(thr_context *context, thr_bounded_workspace **workspace, thr_error *err) {
    THR_TRY(thr_alloc_zero(context, 1, sizeof **workspace, workspace, WHAT, err));
    (*workspace)->context = context;
    return THR_OK;
}

static void free_slots(thr_bounded_workspace *w) {
    for (uint32_t i = 0; w->slots != NULL && i < w->n_slots; i++) {
        thr_bounded_slot *slot = &w->slots[i];
        THR_RELEASE(w->context, slot->vector, slot->centroid_scores, slot->bounds, slot->keys, slot->queued, slot->ids,
                    slot->scores);
        thr_cells_blocks_free(w->context, &slot->blocks);
        thr_scan_found_free(w->context, &slot->found);
        thr_cells_subset_free(w->context, &slot->part);
    }
    THR_RELEASE(w->context, w->slots, w->cells);
    w->slots = NULL;
    w->cells = NULL;
    w->n_slots = 0;
}

void thr_cells_bounded_workspace_free(thr_bounded_workspace *workspace) {
    if (workspace == NULL)
        return;
    free_slots(workspace);
    const thr_bounded_fallback *fallback = &workspace->fallback;
    THR_RELEASE(workspace->context, fallback->is_needed, fallback->numbers, fallback->rows, fallback->least,
                fallback->ids, fallback->scores);
    thr_release(workspace->context, workspace);
}

static thr_status reserve_slot(const thr_bounded_workspace *w, const thr_cells_corpus *corpus, thr_bounded_slot *slot,
                               thr_error *err) {
    THR_TRY(thr_alloc(w->context, w->n_dims, sizeof(float), &slot->vector, WHAT, err));
    THR_TRY(thr_alloc(w->context, w->n_cells, sizeof(float), &slot->centroid_scores, WHAT, err));
    THR_TRY(thr_alloc(w->context, w->n_cells, sizeof(double), &slot->bounds, WHAT, err));
    THR_TRY(thr_alloc(w->context, w->n_cells, sizeof(double), &slot->keys, WHAT, err));
    THR_TRY(thr_alloc(w->context, w->n_cells, sizeof(uint32_t), &slot->queued, WHAT, err));
    THR_TRY(thr_cells_blocks_reserve(w->context, w->n_blocks, &slot->blocks, err));
    return thr_cells_subset_reserve(w->context, w->n_cells + corpus->scan->n_segments, w->n_blocks, &slot->part, err);
}

static void set_cells(const thr_bounded_workspace *w, const thr_cells_corpus *corpus) {
    const thr_kernels *kernels = w->context->kernels;
    const float *centre = corpus->scan->kept_centre;
    const thr_cell_rows_kept kept = {.unit_error = (double)thr_scan_kept_errors(corpus->scan).unit_error,
                                     .centre_length =
                                         centre == NULL ? 0 : sqrt(kernels->sum_squares(centre, w->n_dims))};
    for (size_t t = 0, at = 0; t < corpus->n_tables; t++)
        for (uint32_t c = 0; c < corpus->tables[t].n; c++)
            w->cells[at++] = (thr_bounded_cell){.rows = thr_cells_rows_of(corpus, t, c),
                                                .ball = thr_cells_ball(kernels, &kept, &corpus->tables[t], c)};
}

static thr_status make_slots(thr_bounded_workspace *w, const thr_cells_corpus *corpus, thr_error *err) {
    w->n_dims = corpus->scan->quantiser->n_dims;
    w->n_blocks = thr_blocks_of(corpus->scan->n_rows);
    w->n_cells = thr_cells_count(corpus);
    THR_TRY(thr_alloc(w->context, w->n_cells, sizeof *w->cells, &w->cells, WHAT, err));
    THR_TRY(thr_alloc_zero(w->context, w->context->n_threads, sizeof *w->slots, &w->slots, WHAT, err));
    w->n_slots = w->context->n_threads;
    for (uint32_t i = 0; i < w->n_slots; i++)
        THR_TRY(reserve_slot(w, corpus, &w->slots[i], err));
    set_cells(w, corpus);
    w->is_ready = true;
    return THR_OK;
}

thr_status thr_cells_bounded_prepare(const thr_bounded_search *search, size_t n_survivors, double share,
                                     thr_error *err) {
    thr_bounded_workspace *w = search->workspace;
    thr_bounded_fallback *fallback = &w->fallback;
    const thr_scan_corpus *corpus = search->corpus->scan;
    const size_t n_queries = (size_t)search->queries->n_rows;
    THR_TRY(thr_scan_make_room(search->scan, corpus, w->context->n_threads, 1, n_survivors, err));
    if (!w->is_ready) {
        free_slots(w);
        THR_TRY(make_slots(w, search->corpus, err));
    }
    w->most_blocks = (uint64_t)(share * (double)w->n_blocks);
    for (uint32_t i = 0; i < w->n_slots; i++)
        w->slots[i].blocks.n_read = 0;
    THR_TRY(thr_grow(w->context, &fallback->is_needed, &fallback->is_needed_capacity, n_queries, 1, WHAT, err));
    memset(fallback->is_needed, 0, n_queries);
    return THR_OK;
}

uint64_t thr_cells_bounded_blocks_read(const thr_bounded_workspace *workspace) {
    uint64_t n = workspace->fallback.n * workspace->n_blocks;
    for (uint32_t i = 0; i < workspace->n_slots; i++)
        n += workspace->slots[i].blocks.n_read;
    return n;
}

bool thr_cells_have_bounds(const thr_cells_corpus *corpus) {
    return thr_cells_count(corpus) > 0 && corpus->scan->keep != THR_DTYPE_NONE && corpus->scan->hits == NULL;
}

/* ------------------------------------------------------------------------------------------------ a query */

/*
 * Compute the bounds of the cells 0, step, 2 step, ... of each segment. Their centroid scores are stored without gaps,
 * at the beginning of the segment's part of centroid_scores.
 */
static void find_bounds(const thr_bounded_workspace *w, const thr_cells_corpus *corpus, uint32_t step,
                        thr_bounded_slot *slot) {
    const thr_kernels *kernels = w->context->kernels;
    const thr_rows_kernel score = slot->query.metric == THR_METRIC_L2 ? kernels->l2_f32 : kernels->dot_f32;
    const size_t row_size = w->n_dims * sizeof(float);
    for (size_t t = 0, at = 0; t < corpus->n_tables; at += corpus->tables[t++].n) {
        const uint32_t n = THR_CEIL_DIV(corpus->tables[t].n, step);
        score(slot->centroid_scores + at, slot->vector, corpus->tables[t].centroids, step * row_size, n, w->n_dims);
        for (uint32_t i = 0; i < n; i++)
            slot->bounds[at + i * step] =
                thr_cells_bound(&slot->query, &w->cells[at + i * step].ball, slot->centroid_scores[at + i]);
    }
}

/* Whether a sample of cells suggests that most rows are in cells whose bounds reach a score. */
static bool most_reach(const thr_bounded_workspace *w, const thr_cells_corpus *corpus, double least,
                       thr_bounded_slot *slot) {
    const uint32_t step = (uint32_t)(w->n_cells / SAMPLED_CELLS);
    uint64_t n = 0, n_reach = 0;
    if (step < 2)
        return false;
    find_bounds(w, corpus, step, slot);
    for (size_t t = 0, at = 0; t < corpus->n_tables; at += corpus->tables[t++].n)
        for (size_t i = at; i < at + corpus->tables[t].n; i += step) {
            const uint64_t rows = thr_cells_count_rows(&w->cells[i].rows, NULL);
            n += rows;
            n_reach += slot->bounds[i] >= least ? rows : 0;
        }
    return (double)n_reach > MOST_SAMPLED * (double)n;
}

bool thr_cells_bounded_begin_query(const thr_bounded_search *search, const thr_matrix *query, double least,
                                   thr_bounded_slot *slot) {
    const thr_bounded_workspace *w = search->workspace;
    const thr_cells_corpus *corpus = search->corpus;
    slot->query = thr_cells_query_read(w->context->kernels, corpus->scan->metric, query, slot->vector);
    if (!(slot->query.length > 0) && slot->query.metric != THR_METRIC_L2)
        return false;
    if (least > (double)-INFINITY && most_reach(w, corpus, least, slot))
        return false;
    find_bounds(w, corpus, 1, slot);
    thr_cells_blocks_clear(&slot->blocks);
    return true;
}

bool thr_cells_bounded_are_too_many(const thr_bounded_workspace *workspace, uint64_t n_blocks) {
    return n_blocks > workspace->most_blocks;
}

bool thr_cells_bounded_too_many_reach(const thr_bounded_workspace *workspace, const thr_bounded_slot *slot,
                                      double least) {
    uint64_t n = 0;
    for (size_t c = 0; c < workspace->n_cells && !thr_cells_bounded_are_too_many(workspace, n); c++)
        if (slot->bounds[c] >= least)
            n += thr_cells_count_rows(&workspace->cells[c].rows, NULL) / THR_BLOCK_ITEMS + 1;
    return thr_cells_bounded_are_too_many(workspace, n);
}

/* ------------------------------------------------------------------------------------------------ all queries */

bool thr_cells_bounded_is_on_all_lanes(const thr_bounded_search *search) {
    return thr_scan_group_size(search->workspace->context, search->queries->n_rows) == 0;
}

thr_status thr_cells_bounded_run_queries(const thr_bounded_search *search, thr_try_fn search_query, void *arg,
                                         thr_error *err) {
    const size_t n = (size_t)search->queries->n_rows;
    if (!thr_cells_bounded_is_on_all_lanes(search))
        return thr_parallel_try(search->workspace->context, n, search_query, arg, err);
    for (size_t q = 0; q < n; q++)
        THR_TRY(search_query(arg, q, 0, err));
    return THR_OK;
}

thr_status thr_cells_bounded_collect_fallback(const thr_bounded_search *search, thr_matrix *collected, thr_error *err) {
    thr_context *context = search->workspace->context;
    thr_bounded_fallback *f = &search->workspace->fallback;
    const thr_matrix *queries = search->queries;
    const size_t size = queries->n_dims * thr_dtype_size(queries->dtype);
    f->n = 0;
    for (uint64_t q = 0; q < queries->n_rows; q++)
        f->n += f->is_needed[q];
    *collected = *queries;
    collected->n_rows = f->n;
    if (f->n == queries->n_rows)
        return THR_OK;
    THR_TRY(thr_grow(context, &f->numbers, &f->numbers_capacity, f->n, sizeof *f->numbers, WHAT, err));
    THR_TRY(thr_grow(context, &f->rows, &f->rows_capacity, f->n * size, 1, WHAT, err));
    for (uint64_t q = 0, at = 0; q < queries->n_rows; q++)
        if (f->is_needed[q]) {
            memcpy(f->rows + at * size, (const char *)queries->data + q * queries->stride, size);
            f->numbers[at++] = q;
        }
    collected->data = f->rows;
    collected->stride = size;
    return THR_OK;
}
