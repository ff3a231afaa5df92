/* SPDX-License-Identifier: Apache-2.0 */
/* radius.c - finds all rows within a radius: in the cells whose bounds reach the least score. */
#include "cells/bounded/slots.h"

#include "base/error.h"
#include "scan/margins/bounds.h"
#include "scan/pages.h"
#include "scan/radius_plan.h"

typedef struct radius_search {
    thr_bounded_search common;
    thr_radius radius;
    thr_job whole;    /* a search of all rows */
    thr_found *found; /* by query */
} radius_search;

/* Choose the blocks that a query reads. Returns false if it reads the whole corpus instead. */
static bool choose_blocks(const radius_search *s, const thr_matrix *query, thr_bounded_slot *slot) {
    const thr_bounded_workspace *w = s->common.workspace;
    const double least = (double)s->radius.least_score;
    if (!thr_cells_bounded_begin_query(&s->common, query, least, slot) ||
        thr_cells_bounded_too_many_reach(w, slot, least))
        return false;
    thr_cells_blocks_add_segments_without_cells(&slot->blocks, s->common.corpus);
    for (size_t c = 0; c < w->n_cells; c++)
        if (slot->bounds[c] >= least)
            thr_cells_blocks_add_cell(&slot->blocks, &w->cells[c].rows);
    return !thr_cells_bounded_are_too_many(w, slot->blocks.n_pending);
}

/* Search the blocks of slot->part, on all lanes or on one. */
static thr_status search_part(const radius_search *s, const thr_matrix *query, thr_bounded_slot *slot,
                              const thr_search_options *options, thr_lane *lane, thr_found *found, thr_error *err) {
    const thr_answers answers = {.k = 1};
    if (thr_cells_bounded_is_on_all_lanes(&s->common))
        return thr_scan_radius(s->common.scan, &slot->part.corpus, query, s->radius.least_score, options, found, err);
    if (thr_may_read_ahead(&lane->read_ahead))
        thr_scan_read_ahead_blocks(&slot->part.corpus);
    thr_job job = thr_scan_job_of_part(&s->whole, &slot->part.corpus, options, &answers);
    job.measures_queries = !job.exact;
    job.kept_error = s->whole.kept_error;
    return thr_scan_radius_part(&job, query, &s->radius, lane, 1, found, err);
}

static thr_status search_query(void *arg, size_t q, uint32_t worker, thr_error *err) {
    const radius_search *s = arg;
    thr_bounded_slot *slot = &s->common.workspace->slots[worker];
    thr_found *found = &s->found[q];
    const thr_matrix query = thr_query_of(s->common.queries, q);
    thr_search_options options = *s->common.options;
    if (!choose_blocks(s, &query, slot)) {
        s->common.workspace->fallback.is_needed[q] = 1;
        return THR_OK;
    }
    if (options.certified != NULL) {
        options.certified += q;
        *options.certified = 1;
    }
    THR_TRY(thr_cells_blocks_begin_pass(s->whole.context, s->whole.corpus, &slot->blocks, &options, &slot->part, err));
    if (slot->part.n_segments == 0)
        return THR_OK;
    THR_TRY(search_part(s, &query, slot, &options, &s->common.scan->lanes[worker], found, err));
    for (size_t i = 0; i < found->n; i++)
        found->items[i].row = thr_cells_subset_to_whole(&slot->part, found->items[i].row);
    return THR_OK;
}

/* Search the whole corpus for the queries that could skip too little. */
static thr_status search_fallback(const radius_search *s, thr_error *err) {
    const thr_bounded_search *c = &s->common;
    thr_context *context = c->workspace->context;
    const thr_bounded_fallback *f = &c->workspace->fallback;
    const float least_score = s->radius.least_score;
    thr_matrix queries;
    thr_found *found = NULL;
    uint8_t *certified = NULL;
    thr_search_options options = *c->options;
    thr_status status = THR_OK;
    THR_TRY(thr_cells_bounded_collect_fallback(c, &queries, err));
    if (f->n == 0)
        return THR_OK;
    if (f->n == c->queries->n_rows)
        return thr_scan_radius(c->scan, c->corpus->scan, &queries, least_score, &options, s->found, err);
    THR_TRY_OUT(thr_alloc_zero(context, f->n, sizeof *found, &found, "the result", err));
    if (options.certified != NULL) {
        THR_TRY_OUT(thr_alloc(context, f->n, sizeof *certified, &certified, "the result", err));
        options.certified = certified;
    }
    THR_TRY_OUT(thr_scan_radius(c->scan, c->corpus->scan, &queries, least_score, &options, found, err));
    for (size_t i = 0; i < f->n; i++) {
        s->found[f->numbers[i]] = found[i];
        found[i] = (thr_found){0};
        if (certified != NULL)
            c->options->certified[f->numbers[i]] = certified[i];
    }
out:
    for (size_t i = 0; found != NULL && i < f->n; i++)
        thr_scan_found_free(context, &found[i]);
    THR_RELEASE(context, found, certified);
    return status;
}

thr_status thr_cells_radius(const thr_bounded_search *search, float least_score, thr_found *found, thr_error *err) {
    thr_context *context = search->workspace->context;
    const thr_scan_corpus *corpus = search->corpus->scan;
    const thr_search_options *options = search->options;
    const thr_answers answers = {.k = 1};
    radius_search s = {.common = *search,
                       .radius = thr_scan_radius_make(least_score, (double)options->recall),
                       .whole = thr_scan_job_make(context, corpus, options, &answers),
                       .found = found};
    if (s.radius.certain && !options->exact)
        s.whole.kept_error = thr_scan_kept_error(corpus);
    /* With a recall below 1 answers depend on the blocks read, so these must not depend on the batch. */
    const bool any_blocks = s.radius.certain || options->exact;
    const double share = any_blocks && !thr_cells_bounded_is_on_all_lanes(search) ? THR_BOUNDED_SHARE_OF_VECTORS
                                                                                  : THR_BOUNDED_SHARE_OF_CODES;
    THR_TRY(thr_cells_bounded_prepare(search, THR_RADIUS_ROWS, share, err));
    const thr_status status = thr_cells_bounded_run_queries(search, search_query, &s, err);
    for (uint32_t i = 0; i < context->n_threads; i++)
        thr_scan_found_free(context, &search->scan->lanes[i].accepted);
    return status == THR_OK ? search_fallback(&s, err) : status;
}
