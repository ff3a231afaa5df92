/* SPDX-License-Identifier: Apache-2.0 */
/* commit_features.h - the posting lists of a commit. */
#pragma once

#include "hits/rewrite.h"
#include "index/change/change.h"

/* THR_EINVAL if the index has no features and some are given, or if it has features and none are given. */
thr_status thr_index_commit_check_features(const thr_commit *commit, const thr_hits_changes *features, thr_error *err);

/*
 * Read the features of rows to add, and check them. features are those of thr_hits_added_open. Nothing is read for an
 * index without features. *added must be zeroed; free it with thr_hits_added_free, after an error too.
 *
 * THR_EDIM if there are not as many items as rows; THR_EMISMATCH if an item has another id or name than its row; and
 * what thr_hits_added_open returns.
 */
thr_status thr_index_commit_read_features(const thr_commit *commit, const thr_hits_changes *features,
                                          const thr_row_source *source, const thr_ids *ids, thr_hits_added *added,
                                          thr_error *err);

/*
 * Write the posting lists of the commit's live rows: the old rows whose bit in `remaining` is set, then those of added
 * (NULL: none). Rows below first_moved have not moved. Rows of run (NULL: none) are reordered; none of them is below
 * first_moved. If all rows of the first file are below first_moved, that file stays and only the second one is written
 * (hits/join.c); once the second is large, one file is written for all. Does nothing in an index without features.
 * Returns as thr_hits_rewrite.
 */
thr_status thr_index_commit_write_features(thr_commit *commit, const uint64_t *remaining, uint64_t first_moved,
                                           const thr_hits_run *run, const thr_hits_added *added, thr_error *err);
