/* SPDX-License-Identifier: Apache-2.0 */
#include "index/search/sources.h"

#include "base/error.h"
#include "cells/bounded/search.h"
#include "index/search/model_codes.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------------ workspaces */

static thr_status make_cell_search(thr_context *context, void **piece, thr_error *err) {
    thr_cells_workspace *workspace = NULL;
    const thr_status status = thr_cells_workspace_make(context, &workspace, err);
    *piece = workspace;
    return status;
}

void thr_index_cell_search_free(void *workspace) {
    thr_cells_workspace_free(workspace);
}

static thr_status make_bounded(thr_context *context, void **piece, thr_error *err) {
    thr_bounded_workspace *workspace = NULL;
    const thr_status status = thr_cells_bounded_workspace_make(context, &workspace, err);
    *piece = workspace;
    return status;
}

void thr_index_bounded_free(void *workspace) {
    thr_cells_bounded_workspace_free(workspace);
}

/* ------------------------------------------------------------------------------------------------ the best k */

static thr_status search_cells(thr_index *index, thr_scan *scan, const thr_search_plan *plan, const thr_matrix *queries,
                               const thr_answers *answers, thr_error *err) {
    void *workspace;
    THR_TRY(thr_idle_take(&index->root->cell_searches, make_cell_search, &workspace, err));
    const thr_status status = thr_index_scan_cells(index, scan, workspace, queries, &plan->options, answers, err);
    thr_idle_put(&index->root->cell_searches, workspace);
    return status;
}

static thr_status search_bounded(thr_index *index, thr_scan *scan, const thr_search_plan *plan,
                                 const thr_matrix *queries, const thr_answers *answers, thr_error *err) {
    const thr_cells_corpus corpus = {&index->corpus, index->cells, index->n_segments};
    void *workspace;
    THR_TRY(thr_idle_take(&index->root->bounded_searches, make_bounded, &workspace, err));
    const thr_bounded_search search = {scan, workspace, &corpus, queries, &plan->options};
    const thr_status status = thr_cells_best(&search, answers, err);
    thr_idle_put(&index->root->bounded_searches, workspace);
    return status;
}

static void fill_empty(const thr_answers *answers, uint64_t n_queries) {
    for (uint64_t q = 0; q < n_queries; q++)
        thr_select_answers_put(answers, q, NULL, 0);
    if (answers->n_read != NULL)
        memset(answers->n_read, 0, (size_t)n_queries * sizeof *answers->n_read);
    if (answers->certified != NULL)
        memset(answers->certified, 1, (size_t)n_queries);
}

thr_status thr_index_search_segments(thr_index *index, thr_scan *scan, const thr_search_plan *plan,
                                     const thr_matrix *queries, const thr_answers *answers, thr_error *err) {
    switch (plan->source) {
    case THR_SOURCE_NOTHING:
        fill_empty(answers, queries->n_rows);
        return THR_OK;
    case THR_SOURCE_CELLS:
        return search_cells(index, scan, plan, queries, answers, err);
    case THR_SOURCE_BOUNDED:
        return search_bounded(index, scan, plan, queries, answers, err);
    case THR_SOURCE_VECTORS:
    case THR_SOURCE_CODES:
        break;
    }
    return plan->encodes ? thr_index_search_model_codes(index, scan, plan, queries, answers, err)
                         : thr_index_scan(index, scan, plan, queries, answers, err);
}

/* ------------------------------------------------------------------------------------------------ radius */

static thr_status radius_bounded(thr_index *index, thr_scan *scan, const thr_search_plan *plan,
                                 const thr_matrix *queries, float least_score, thr_found *found, thr_error *err) {
    const thr_cells_corpus corpus = {&index->corpus, index->cells, index->n_segments};
    void *workspace;
    THR_TRY(thr_idle_take(&index->root->bounded_searches, make_bounded, &workspace, err));
    const thr_bounded_search search = {scan, workspace, &corpus, queries, &plan->options};
    const thr_status status = thr_cells_radius(&search, least_score, found, err);
    thr_idle_put(&index->root->bounded_searches, workspace);
    return status;
}

static thr_status radius_of_model_codes(thr_index *index, thr_scan *scan, const thr_search_plan *plan,
                                        const thr_matrix *queries, float least_score, thr_found *found,
                                        thr_error *err) {
    void *workspace = NULL;
    thr_matrix embedded;
    thr_status status = thr_index_embed_queries(index, scan, queries, &workspace, &embedded, err);
    if (status == THR_OK)
        status = thr_scan_radius(scan, &index->corpus, &embedded, least_score, &plan->options, found, err);
    if (workspace != NULL)
        thr_idle_put(&index->root->embedders, workspace);
    return status;
}

thr_status thr_index_radius_of_segments(thr_index *index, thr_scan *scan, const thr_search_plan *plan,
                                        const thr_matrix *queries, float least_score, thr_found *found,
                                        thr_error *err) {
    thr_search_options options = plan->options;
    if (plan->source == THR_SOURCE_BOUNDED)
        return radius_bounded(index, scan, plan, queries, least_score, found, err);
    if (plan->encodes)
        return radius_of_model_codes(index, scan, plan, queries, least_score, found, err);
    if (plan->source == THR_SOURCE_NOTHING) {
        if (options.certified != NULL)
            memset(options.certified, 1, (size_t)queries->n_rows);
        return THR_OK;
    }
    options.exact = plan->source == THR_SOURCE_VECTORS;
    const thr_scan_corpus *corpus = options.exact ? &index->vectors : &index->corpus;
    return thr_scan_radius(scan, corpus, queries, least_score, &options, found, err);
}
