/* SPDX-License-Identifier: Apache-2.0 */
/* search.c - thr_index_search: checks the options, borrows a scan, and turns its rows into ids. */
#include "index/impl.h"

#include "base/error.h"
#include "code/encode.h"
#include "index/journal/snapshot.h"
#include "index/search/kept_certificates.h"
#include "index/search/bounded.h"
#include "index/search/with_tail.h"
#include "index/search/model_codes.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

thr_status thr_index_check_options(const thr_index *index, const thr_search_options *o, uint64_t k, thr_error *err) {
    if (k == 0)
        return thr_fail(err, THR_EINVAL, "k is 0: ask for at least 1 item");
    if (!(o->recall > 0 && o->recall <= 1))
        return thr_fail(err, THR_EINVAL, "a recall of %g: give a share above 0 and up to 1", (double)o->recall);
    if (o->query_bits > THR_MAX_BITS)
        return thr_fail(err, THR_EINVAL, "%" PRIu32 " query bits: 1 to %d are possible, or 0 for what fits the index",
                        o->query_bits, THR_MAX_BITS);
    if (o->exact && index->manifest.keep == THR_DTYPE_NONE)
        return thr_fail(
            err, THR_EUNSUPPORTED,
            "%s: holds codes only: for exact searches build it with vectors kept, as float32, float16 or int8",
            index->dir);
    if (o->filter != NULL && o->filter_bits != index->manifest.n_rows)
        return thr_fail(err, THR_EINVAL, "a filter of %" PRIu64 " bits for an index of %" PRIu64 " rows",
                        o->filter_bits, index->manifest.n_rows);
    return THR_OK;
}

thr_status thr_index_check_queries(const thr_index *index, const thr_matrix *queries, uint64_t k, thr_error *err) {
    size_t places;
    THR_TRY(thr_code_check_rows(queries, err));
    if (queries->n_dims != index->info.n_dims)
        return thr_fail(err, THR_EDIM, "queries of %" PRIu32 " dimensions for an index of %" PRIu32 ": %s",
                        queries->n_dims, index->info.n_dims, index->dir);
    if (k > SIZE_MAX / sizeof(uint64_t) ||
        !thr_mul_size((size_t)k * sizeof(uint64_t), (size_t)queries->n_rows, &places))
        return thr_fail(err, THR_EINVAL, "%" PRIu64 " queries with %" PRIu64 " results each are too many",
                        queries->n_rows, k);
    return THR_OK;
}

static thr_status check_least_scores(const thr_search_options *options, uint64_t n_queries, thr_error *err) {
    for (uint64_t q = 0; q < n_queries && options->least_scores != NULL; q++)
        if (!(options->least_scores[q] < INFINITY))
            return thr_fail(err, THR_EINVAL,
                            "query %" PRIu64 ": a least score of %g: give a finite score, or -infinity for no limit", q,
                            (double)options->least_scores[q]);
    return THR_OK;
}

/* thr_idle_make: called if no scan of an earlier search is idle. */
static thr_status make_scan(thr_context *context, void **piece, thr_error *err) {
    thr_scan *scan = NULL;
    const thr_status status = thr_scan_create(context, &scan, err);
    *piece = scan;
    return status;
}

/* Measure the noise of a root's codes, unless an earlier search has measured it. Threads may call this at once. */
static thr_status measure_noise(thr_index *root, thr_scan *scan, thr_error *err) {
    thr_status status = THR_OK;
    if (atomic_load(&root->noise_measured))
        return THR_OK;
    (void)pthread_mutex_lock(&root->noise_mutex);
    if (!atomic_load(&root->noise_measured)) {
        status = thr_scan_measure_noise(scan, &root->corpus, &root->noise, err);
        atomic_store(&root->noise_measured, status == THR_OK);
    }
    (void)pthread_mutex_unlock(&root->noise_mutex);
    return status;
}

thr_status thr_index_take_scan(thr_index *index, thr_scan **scan, thr_error *err) {
    void *piece;
    THR_TRY(thr_idle_take(&index->root->scans, make_scan, &piece, err));
    const thr_status status = measure_noise(index->root, piece, err);
    if (status != THR_OK)
        thr_idle_put(&index->root->scans, piece);
    *scan = piece;
    return status;
}

void thr_index_rows_to_ids(const thr_index *index, uint64_t *ids, size_t n) {
    for (size_t i = 0; index->manifest.has_ids && i < n; i++)
        if (ids[i] != THR_NO_ID)
            ids[i] = thr_index_id_of(index, ids[i]);
}

static thr_status make_cell_search(thr_context *context, void **piece, thr_error *err) {
    thr_cells_workspace *workspace = NULL;
    const thr_status status = thr_cells_workspace_make(context, &workspace, err);
    *piece = workspace;
    return status;
}

/* Search some of the cells. */
static thr_status search_cells(thr_index *index, thr_scan *scan, const thr_matrix *queries,
                               const thr_search_options *options, const thr_answers *answers, thr_error *err) {
    void *workspace;
    THR_TRY(thr_idle_take(&index->root->cell_searches, make_cell_search, &workspace, err));
    const thr_status status = thr_index_scan_cells(index, scan, workspace, queries, options, answers, err);
    thr_idle_put(&index->root->cell_searches, workspace);
    return status;
}

static thr_status search_vectors(thr_index *index, const thr_matrix *queries, thr_search_options *options,
                                 thr_scan_hits *hits, const thr_answers *answers, thr_error *err) {
    thr_scan *scan;
    thr_index_resolve_recall(index, answers->k, options);
    THR_TRY(thr_index_take_scan(index, &scan, err));
    const thr_cells_corpus cells = {&index->corpus, index->cells, index->n_segments};
    const bool whole = index->n_segments > 0 && !thr_index_snapshot_has_changes(index);
    const bool skip = whole && hits == NULL && thr_cells_may_be_skipped(&cells, options, answers);
    const bool bounded = whole && hits == NULL && options->exact && thr_index_has_bounds(index);
    const bool inputs = index->manifest.model.n_inputs != 0;
    const thr_status status = inputs ? thr_index_search_model_codes(index, scan, queries, options, hits, answers, err)
                              : skip ? search_cells(index, scan, queries, options, answers, err)
                              : bounded ? thr_index_scan_exact(index, scan, queries, options, answers, err)
                              : whole   ? thr_index_scan(index, scan, queries, options, hits, answers, err)
                                        : thr_index_search_with_tail(index, scan, queries, options, answers, err);
    thr_idle_put(&index->root->scans, scan);
    return status;
}

static thr_status search_with_hits(thr_index *index, const thr_matrix *queries, thr_search_options *options,
                                   const thr_answers *answers, thr_error *err) {
    void *workspace;
    thr_scan_hits hits;
    THR_TRY(thr_idle_take(&index->hits_workspaces, thr_index_feature_scores_make, &workspace, err));
    const size_t n_lanes = thr_scan_lanes(index->context, queries->n_rows);
    thr_status status = thr_index_feature_scores_begin(workspace, index->hits, n_lanes, options, &hits, err);
    if (status == THR_OK)
        status = search_vectors(index, queries, options, options->features == NULL ? NULL : &hits, answers, err);
    thr_index_feature_scores_end(workspace);
    thr_idle_put(&index->hits_workspaces, workspace);
    return status;
}

static thr_status search_any(thr_index *index, const thr_matrix *queries, thr_search_options *options,
                             const thr_answers *answers, thr_error *err) {
    return options->features != NULL || options->target != NULL
               ? search_with_hits(index, queries, options, answers, err)
               : search_vectors(index, queries, options, NULL, answers, err);
}

/*
 * Search with certificates for the vectors as given, if the search is exact. Another one finds the items that it finds
 * without certificates, not k of the best k + 1. Sums of features are not part of the ranges of scores.
 */
static thr_status search_certified(thr_index *index, const thr_matrix *queries, thr_search_options *options,
                                   const thr_answers *answers, thr_error *err) {
    thr_wider_answers wider;
    thr_search_options resolved = *options;
    thr_index_resolve_recall(index, answers->k, &resolved);
    if (options->features != NULL || options->target != NULL || !resolved.exact) {
        thr_answers uncertified = *answers;
        uncertified.certified = NULL;
        THR_TRY(search_any(index, queries, options, &uncertified, err));
        memset(answers->certified, 0, (size_t)queries->n_rows);
        return THR_OK;
    }
    options->exact = true;
    thr_status status = thr_index_wider_answers_make(index, queries, answers, &wider, err);
    if (status == THR_OK)
        status = search_any(index, queries, options, &wider.answers, err);
    if (status == THR_OK)
        status = thr_index_wider_answers_put(index, queries, &wider, answers, err);
    thr_index_wider_answers_free(index, &wider);
    return status;
}

thr_status thr_index_search(thr_index *index, const thr_matrix *queries, uint64_t k, const thr_search_options *options,
                            uint64_t *ids, float *scores, thr_error *err) {
    thr_search_options complete;
    if (index == NULL || queries == NULL || ids == NULL)
        return thr_fail(err, THR_EINVAL, "a search needs an index, queries and memory for ids");
    thr_search_options_init(&complete);
    if (options != NULL)
        complete = *options;
    THR_TRY(thr_index_check_options(index, &complete, k, err));
    THR_TRY(thr_index_check_queries(index, queries, k, err));
    THR_TRY(check_least_scores(&complete, queries->n_rows, err));
    THR_TRY(thr_index_feature_scores_check(index->hits, index->manifest_path, &complete, queries->n_rows, err));
    THR_TRY(thr_index_check_unchanged(index, err));
    if (queries->n_rows == 0)
        return THR_OK;
    const thr_answers answers = {.k = k,
                                 .ids = ids,
                                 .scores = scores,
                                 .certified = complete.certified,
                                 .n_read = complete.n_read,
                                 .least_scores = complete.least_scores};
    bool ranges = false;
    void *filter;
    if (complete.certified != NULL)
        THR_TRY(thr_index_compares_ranges(index, &ranges, err));
    thr_status status = thr_index_restrict(index, &complete, &filter, err);
    if (status == THR_OK)
        status = (ranges ? search_certified : search_any)(index, queries, &complete, &answers, err);
    if (filter != NULL)
        thr_idle_put(&index->root->filters, filter);
    if (status == THR_OK)
        thr_index_rows_to_ids(index, ids, (size_t)(k * queries->n_rows));
    return thr_index_check_after(index, status, err);
}
