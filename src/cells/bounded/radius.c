/* SPDX-License-Identifier: Apache-2.0 */
/* radius.c - finds all rows within a radius: in the cells whose bounds reach the least score. */
#include "cells/bounded/slots.h"

#include "base/error.h"
#include "scan/margins/bounds.h"
#include "scan/pages.h"
#include "scan/radius_plan.h"

typedef struct radius_search {
    thr_scan *scan;
    thr_cells_bounded *workspace;
    const thr_cells_corpus *corpus;
    const thr_matrix *queries;
    const thr_search_options *options;
    thr_radius radius;
    thr_job whole;     /* a search of all rows */
    thr_found *found;  /* by query */
    bool on_all_lanes; /* one query after the other, each on all threads */
} radius_search;

/* Mark the blocks that a query reads. Returns false if it reads the whole corpus instead. */
static bool choose_blocks(const radius_search *s, const thr_matrix *query, thr_bounded_slot *slot) {
    const thr_cells_bounded *w = s->workspace;
    const double least = (double)s->radius.least_score;
    if (!thr_cells_bounded_begin(w, s->corpus, query, least, slot) ||
        thr_cells_bounded_is_whole(w, thr_cells_bounded_count(w, slot, least)))
        return false;
    thr_cells_blocks_add_segments_without_cells(&slot->blocks, s->corpus);
    for (size_t c = 0; c < w->n_cells; c++)
        if (slot->bounds[c] >= least)
            thr_cells_blocks_add_cell(&slot->blocks, &w->cells[c].place);
    return !thr_cells_bounded_is_whole(w, slot->blocks.n_pending);
}

/* Search the blocks of slot->part, on all lanes or on one. */
static thr_status search_part(const radius_search *s, const thr_matrix *query, thr_bounded_slot *slot,
                              const thr_search_options *options, thr_lane *lane, thr_found *found, thr_error *err) {
    const thr_answers answers = {.k = 1};
    if (s->on_all_lanes)
        return thr_scan_radius(s->scan, &slot->part.corpus, query, s->radius.least_score, options, found, err);
    if (thr_may_read_ahead(&lane->read_ahead))
        thr_scan_read_ahead_blocks(&slot->part.corpus);
    thr_job job = thr_scan_job_of_part(&s->whole, &slot->part.corpus, options, &answers);
    job.measures_queries = !job.exact;
    job.kept_error = s->whole.kept_error;
    return thr_scan_radius_part(&job, query, &s->radius, lane, 1, found, err);
}

static thr_status search_query(void *arg, size_t q, uint32_t worker, thr_error *err) {
    const radius_search *s = arg;
    thr_bounded_slot *slot = &s->workspace->slots[worker];
    thr_found *found = &s->found[q];
    const thr_matrix query = thr_bounded_query(s->queries, q);
    thr_search_options options = *s->options;
    if (!choose_blocks(s, &query, slot)) {
        s->workspace->rest.is_whole[q] = 1;
        return THR_OK;
    }
    if (options.certified != NULL) {
        options.certified += q;
        *options.certified = 1;
    }
    THR_TRY(
        thr_cells_blocks_begin_pass(s->workspace->context, s->corpus->scan, &slot->blocks, &options, &slot->part, err));
    if (slot->part.n_segments == 0)
        return THR_OK;
    THR_TRY(search_part(s, &query, slot, &options, &s->scan->lanes[worker], found, err));
    for (size_t i = 0; i < found->n; i++)
        found->items[i].row = thr_cells_subset_row(&slot->part, found->items[i].row);
    return THR_OK;
}

/* Search the whole corpus for the queries that are left. */
static thr_status search_rest(const radius_search *s, thr_error *err) {
    thr_context *context = s->workspace->context;
    const thr_bounded_rest *rest = &s->workspace->rest;
    const float least_score = s->radius.least_score;
    thr_matrix queries;
    thr_found *found = NULL;
    uint8_t *certified = NULL;
    thr_search_options options = *s->options;
    thr_status status = THR_OK;
    THR_TRY(thr_cells_bounded_collect_rest(s->workspace, s->queries, &queries, err));
    if (rest->n == 0)
        return THR_OK;
    if (rest->n == s->queries->n_rows)
        return thr_scan_radius(s->scan, s->corpus->scan, &queries, least_score, &options, s->found, err);
    THR_TRY_OUT(thr_alloc_zero(context, rest->n, sizeof *found, &found, "the result", err));
    if (options.certified != NULL) {
        THR_TRY_OUT(thr_alloc(context, rest->n, sizeof *certified, &certified, "the result", err));
        options.certified = certified;
    }
    THR_TRY_OUT(thr_scan_radius(s->scan, s->corpus->scan, &queries, least_score, &options, found, err));
    for (size_t i = 0; i < rest->n; i++) {
        s->found[rest->numbers[i]] = found[i];
        found[i] = (thr_found){0};
        if (certified != NULL)
            s->options->certified[rest->numbers[i]] = certified[i];
    }
out:
    for (size_t i = 0; found != NULL && i < rest->n; i++)
        thr_scan_found_free(context, &found[i]);
    THR_RELEASE(context, found, certified);
    return status;
}

thr_status thr_cells_radius(const thr_bounded_parts *parts, const thr_matrix *queries, float least_score,
                            const thr_search_options *options, thr_found *found, thr_error *err) {
    thr_scan *scan = parts->scan;
    thr_cells_bounded *workspace = parts->workspace;
    const thr_cells_corpus *corpus = parts->corpus;
    thr_context *context = workspace->context;
    const thr_answers answers = {.k = 1};
    radius_search s = {.scan = scan,
                       .workspace = workspace,
                       .corpus = corpus,
                       .queries = queries,
                       .options = options,
                       .radius = thr_scan_radius_make(least_score, (double)options->recall),
                       .whole = thr_scan_job_make(context, corpus->scan, options, &answers),
                       .found = found,
                       .on_all_lanes = queries->n_rows < context->n_threads || queries->n_rows == 1};
    if (s.radius.certain && !options->exact)
        s.whole.kept_error = thr_scan_kept_error(corpus->scan, context->kernels);
    /* With less recall answers depend on the blocks, so these do not depend on the batch. */
    const double share = (s.radius.certain || options->exact) && !s.on_all_lanes ? THR_BOUNDED_SHARE_OF_VECTORS
                                                                                 : THR_BOUNDED_SHARE_OF_CODES;
    THR_TRY(thr_scan_make_room(scan, context->n_threads, 1, corpus->scan->quantiser->n_dims, THR_RADIUS_ROWS, err));
    THR_TRY(thr_scan_check_queries(scan, corpus->scan, queries, err));
    THR_TRY(thr_cells_bounded_prepare(workspace, corpus, queries->n_rows, share, err));
    const thr_status status = thr_cells_bounded_run(workspace, queries->n_rows, s.on_all_lanes, search_query, &s, err);
    for (uint32_t i = 0; i < context->n_threads; i++)
        thr_scan_found_free(context, &scan->lanes[i].accepted);
    return status == THR_OK ? search_rest(&s, err) : status;
}
