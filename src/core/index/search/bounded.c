/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bounded.c - exact and radius searches by bounds, in workspaces that the index keeps. Radius searches of an index
 * without bounds scan all rows.
 */
#include "index/search/bounded.h"

#include "base/error.h"
#include "cells/bounded/search.h"
#include "index/journal/snapshot.h"

static thr_status make_workspace(thr_context *context, void **piece, thr_error *err) {
    thr_bounded_workspace *workspace = NULL;
    const thr_status status = thr_cells_bounded_workspace_make(context, &workspace, err);
    *piece = workspace;
    return status;
}

void thr_index_bounded_free(void *workspace) {
    thr_cells_bounded_workspace_free(workspace);
}

static thr_cells_corpus corpus_of(const thr_index *index) {
    return (thr_cells_corpus){&index->corpus, index->cells, index->n_segments};
}

/* With changes in the journal searches read all segments, and the tail. */
bool thr_index_has_bounds(const thr_index *index) {
    const thr_cells_corpus corpus = corpus_of(index);
    return thr_cells_have_bounds(&corpus) && !thr_index_snapshot_has_changes(index);
}

thr_status thr_index_scan_radius(thr_index *index, thr_scan *scan, const thr_matrix *queries, float least_score,
                                 const thr_search_options *options, thr_found *found, thr_error *err) {
    const thr_cells_corpus corpus = corpus_of(index);
    void *workspace;
    if (!thr_index_has_bounds(index))
        return thr_scan_radius(scan, &index->corpus, queries, least_score, options, found, err);
    THR_TRY(thr_idle_take(&index->root->bounded_searches, make_workspace, &workspace, err));
    const thr_bounded_search search = {scan, workspace, &corpus, queries, options};
    const thr_status status = thr_cells_radius(&search, least_score, found, err);
    thr_idle_put(&index->root->bounded_searches, workspace);
    return status;
}

thr_status thr_index_scan_exact(thr_index *index, thr_scan *scan, const thr_matrix *queries,
                                const thr_search_options *options, const thr_answers *answers, thr_error *err) {
    const thr_cells_corpus corpus = corpus_of(index);
    void *workspace;
    THR_TRY(thr_idle_take(&index->root->bounded_searches, make_workspace, &workspace, err));
    const thr_bounded_search search = {scan, workspace, &corpus, queries, options};
    const thr_status status = thr_cells_best(&search, answers, err);
    thr_idle_put(&index->root->bounded_searches, workspace);
    return status;
}
