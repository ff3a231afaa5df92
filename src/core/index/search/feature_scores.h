/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feature_scores.h - supplies a search's scan with posting lists: sums by window, values, and the bits of rows that a
 * target lets through.
 *
 * Threads: one search at a time uses a thr_index_hits_workspace; its lanes may do so concurrently.
 */
#pragma once

#include "hits/hits.h"
#include "scan/scan.h"

typedef struct thr_index_hits_workspace thr_index_hits_workspace;

/* Create; THR_ENOMEM. Free; NULL is allowed. */
thr_status thr_index_feature_scores_make(thr_context *context, thr_index_hits_workspace **workspace, thr_error *err);
void thr_index_feature_scores_free(thr_index_hits_workspace *workspace);

/*
 * Check the features and target of options, for n_queries queries. THR_EUNSUPPORTED if hits is NULL and options have
 * either; THR_EDIM; THR_EINVAL; THR_ERANGE for weights that are not finite, or whose absolute values sum to 2^100 or
 * more (err names the query).
 */
thr_status thr_index_feature_scores_check(const thr_hits *hits, const char *path, const thr_search_options *options,
                                          uint64_t n_queries, thr_error *err);

/*
 * Begin a search of n_lanes lanes: fill in *scan_hits for its corpus, and restrict options->filter to the rows of
 * options->target. The lists' values stay the same until thr_index_feature_scores_end. THR_ENOMEM.
 */
thr_status thr_index_feature_scores_begin(thr_index_hits_workspace *workspace, thr_hits *hits, size_t n_lanes,
                                          thr_search_options *options, thr_scan_hits *scan_hits, thr_error *err);
void thr_index_feature_scores_end(thr_index_hits_workspace *workspace);

/* Let *scan_hits, filled in by thr_index_feature_scores_begin, search on the device of store; NULL: not on a device. */
void thr_index_feature_scores_use(thr_scan_hits *scan_hits, thr_hit_store *store);
