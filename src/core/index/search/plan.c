/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - the decisions of a search, each in one place: the filter, recall, certificates, and what is read. */
#include "index/search/plan.h"

#include "base/error.h"
#include "base/minmax.h"
#include "cells/bounded/search.h"
#include "cells/cell_blocks.h"
#include "index/journal/snapshot.h"
#include "index/search/kept_certificates.h"
#include "select/bitmap.h"

static const char CHANGED[] = "the journal has changes, so no cell is skipped", NO_CELLS[] = "the index has no cells";

/* Restrict the filter to rows with an item. */
static thr_status restrict_to_live(const thr_index *index, thr_search_options *o, thr_search_memory *m,
                                   thr_error *err) {
    const uint64_t *live = index->live.words;
    const size_t n_words = thr_bitmap_words(index->manifest.n_rows);
    if (live == NULL)
        return THR_OK;
    o->filter_bits = index->manifest.n_rows;
    if (o->filter == NULL) {
        o->filter = live;
        return THR_OK;
    }
    THR_TRY(thr_grow(m->context, &m->filter, &m->filter_capacity, n_words, sizeof *m->filter, "a filter", err));
    for (size_t w = 0; w < n_words; w++)
        m->filter[w] = live[w] & o->filter[w];
    o->filter = m->filter;
    return THR_OK;
}

/* Restrict the filter to rows that also meet the target, and begin the sums of features. */
static thr_status begin_lists(thr_index *index, thr_search_plan *plan, thr_error *err) {
    thr_search_options *o = &plan->options;
    thr_search_memory *m = plan->memory;
    const size_t n_lanes = thr_scan_lanes(index->context, plan->n_queries);
    if (o->features == NULL && o->target == NULL)
        return THR_OK;
    if (m->lists == NULL)
        THR_TRY(thr_index_feature_scores_make(index->context, &m->lists, err));
    plan->has_lists = true;
    THR_TRY(thr_index_feature_scores_begin(m->lists, index->hits, n_lanes, o, &plan->sums, err));
    plan->hits = o->features == NULL ? NULL : &plan->sums;
    return THR_OK;
}

void thr_index_plan_end(thr_index *index, thr_search_plan *plan) {
    if (plan->has_lists)
        thr_index_feature_scores_end(plan->memory->lists);
    if (plan->memory != NULL)
        thr_index_memory_return(index, plan->memory);
}

/*
 * Where scores are rounded, only exact searches can be certified, without sums of features: these are no part of the
 * ranges. Other searches then find the same items as without certificates.
 */
static thr_status choose_certificates(thr_index *index, thr_search_plan *plan, thr_error *err) {
    const thr_search_options *o = &plan->options;
    bool ranges = false;
    if (o->certified == NULL)
        return THR_OK;
    if (plan->k == 0)
        ranges = thr_index_scores_are_rounded(index);
    else
        THR_TRY(thr_index_compares_ranges(index, &ranges, err));
    const bool exact = o->exact || (plan->k == 0 && o->recall >= 1);
    plan->compares_ranges = ranges && exact && o->features == NULL && o->target == NULL;
    plan->certifies = !plan->reranks && (!ranges || plan->compares_ranges);
    return THR_OK;
}

static void set_source(thr_search_plan *plan, thr_search_source source, const char *reason) {
    plan->source = source;
    plan->reason = reason;
}

/* Make the scan of all vectors or codes. It scores vectors of its own accord if few rows pass the filter. */
static void plan_scan(const thr_index *index, thr_search_plan *plan, const char *exact, const char *no_cells) {
    thr_search_options *o = &plan->options;
    plan->corpus = o->exact ? index->vectors : index->corpus;
    plan->corpus.hits = plan->hits;
    plan->job = thr_scan_job_make(index->context, &plan->corpus, o, &plan->shape);
    if (plan->job.exact && !o->exact)
        set_source(plan, THR_SOURCE_VECTORS, "they are so few that this costs less than a screen");
    else
        set_source(plan, o->exact ? THR_SOURCE_VECTORS : THR_SOURCE_CODES, o->exact ? exact : no_cells);
}

static const char *why_no_cells(const thr_search_plan *plan, size_t n_cells) {
    return n_cells == 0                  ? NO_CELLS
           : !(plan->options.recall > 0) ? "where the caller gives the counts, no cell is skipped"
           : plan->has_tail              ? CHANGED
           : plan->hits != NULL          ? "features may be anywhere, so no cell is skipped"
           : plan->certifies             ? "a certificate needs all cells"
                                         : "codes without margins skip no cell";
}

/* exact: why all vectors are scored, if they are. */
static void choose_source_of_best(const thr_index *index, thr_search_plan *plan, const char *exact) {
    const thr_search_options *o = &plan->options;
    const thr_cells_corpus cells = {&index->corpus, index->cells, index->n_segments};
    const bool any_cells = !plan->has_tail && plan->hits == NULL;
    if (any_cells && thr_cells_may_be_skipped(&cells, o, &plan->shape))
        set_source(plan, THR_SOURCE_CELLS, NULL);
    else if (any_cells && o->exact && thr_cells_have_bounds(&cells))
        set_source(plan, THR_SOURCE_BOUNDED, exact);
    else
        plan_scan(index, plan, exact, why_no_cells(plan, thr_cells_count(&cells)));
}

/* Each query of a search within a radius decides by itself between codes and vectors (scan/radius_plan.h). */
static void choose_source_of_radius(const thr_index *index, thr_search_plan *plan) {
    const thr_cells_corpus cells = {&index->corpus, index->cells, index->n_segments};
    if (!plan->has_tail && thr_cells_have_bounds(&cells))
        set_source(plan, THR_SOURCE_BOUNDED, NULL);
    else
        set_source(plan, plan->options.exact ? THR_SOURCE_VECTORS : THR_SOURCE_CODES,
                   thr_cells_count(&cells) == 0 ? NO_CELLS : CHANGED);
}

/* The candidates of a model's codes that are scored by the vectors: their number alone decides the recall. */
static uint64_t n_reranked(const thr_index *index, const thr_search_plan *plan) {
    const uint64_t n = THR_MAX(plan->options.n_candidates, plan->k);
    return THR_MIN(n, index->corpus.n_rows);
}

/* Codes of given vectors, made by a model: within a radius they bound no score of a vector. */
static void choose_source_of_inputs(const thr_index *index, thr_search_plan *plan, const char *exact) {
    const bool vectors = plan->options.exact || (plan->k == 0 && index->vectors.keep != THR_DTYPE_NONE);
    if (plan->k > 0)
        plan_scan(index, plan, exact, "the codes are a model's, without cells");
    else if (vectors)
        set_source(plan, THR_SOURCE_VECTORS, "the model's codes bound no score of a vector");
    else
        set_source(plan, THR_SOURCE_CODES, NO_CELLS);
}

thr_status thr_index_plan_begin(thr_index *index, uint64_t n_queries, uint64_t k, const thr_search_options *options,
                                thr_search_plan *plan, thr_error *err) {
    const bool inputs = index->manifest.model.n_inputs != 0, vectors = index->vectors.keep != THR_DTYPE_NONE;
    const char *exact = NULL;
    *plan = (thr_search_plan){.options = *options, .n_queries = n_queries, .k = k};
    thr_search_options *o = &plan->options;
    THR_TRY(thr_index_memory_take(index, &plan->memory, err));
    THR_TRY(restrict_to_live(index, o, plan->memory, err));
    THR_TRY(begin_lists(index, plan, err));
    if (k > 0)
        exact = thr_index_resolve_recall(index, k, o);
    plan->encodes = inputs && !o->exact && (k > 0 || !vectors);
    plan->reranks = plan->encodes && vectors;
    THR_TRY(choose_certificates(index, plan, err));
    plan->has_tail = !inputs && (index->n_segments == 0 || thr_index_snapshot_has_changes(index));
    plan->tail_filter = o->filter;
    if (plan->has_tail && index->segments_whole && o->filter == index->live.words)
        o->filter = NULL;
    plan->n_found = plan->reranks ? n_reranked(index, plan) : k + (plan->compares_ranges && k < index->manifest.n_rows);
    plan->shape = (thr_answers){.k = plan->n_found, .certified = plan->certifies ? o->certified : NULL};
    if (inputs)
        choose_source_of_inputs(index, plan, exact);
    else if (index->n_segments == 0)
        set_source(plan, THR_SOURCE_NOTHING, NULL);
    else if (k == 0)
        choose_source_of_radius(index, plan);
    else
        choose_source_of_best(index, plan, exact);
    return THR_OK;
}
