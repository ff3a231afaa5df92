/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change.h - one commit: the index before it, and the manifest and live rows after it.
 *
 * begin locks the directory; commit writes the live rows and the manifest; end unlocks, and without a commit deletes
 * what was written.
 */
#ifndef THR_INDEX_CHANGE_CHANGE_H
#define THR_INDEX_CHANGE_CHANGE_H

#include "index/impl.h"

#include <thresher/index_change.h>

typedef struct thr_commit {
    thr_context *context;
    thr_build_dir dir;
    thr_index *index;      /* before */
    thr_manifest manifest; /* after; owns its segments */
    uint64_t *live;        /* after: a bit for each row of the manifest */
} thr_commit;

/* Lock and open. End it whatever this returns. THR_EUNSUPPORTED for format 1; THR_EEXIST; and as thr_index_open. */
thr_status thr_index_commit_begin(thr_context *context, const char *dir, thr_commit *commit, thr_error *err);

/* Make room for the live rows of n_rows rows. Those that there are stay as they are; new ones are not live. */
thr_status thr_index_commit_resize_live(thr_commit *commit, uint64_t n_rows, thr_error *err);

/* Append segments, whose rows are all live. THR_ENOMEM. */
thr_status thr_index_commit_append(thr_commit *commit, const thr_manifest_segment *segments, uint32_t n,
                                   thr_error *err);

/* Publish. manifest.n_items and n_rows are computed. THR_ENOSPACE; THR_EIO; THR_ENOMEM. */
thr_status thr_index_commit_publish(thr_commit *commit, thr_error *err);
void thr_index_commit_end(thr_commit *commit);

/* In rewrite.c: replace segments [first, end) by as few as possible, which have their live items only. */
thr_status thr_index_commit_rewrite(thr_commit *commit, uint32_t first, uint32_t end, thr_error *err);

/* Fill in what the caller learns of the index after a change. */
void thr_index_commit_report(const thr_commit *commit, thr_index_change *change);

/*
 * In maintain.c: write segments again where merge_policy.h requires it, a commit each. Errors are ignored: the next
 * change tries again.
 */
void thr_index_maintain(thr_context *context, const char *dir);

#endif
