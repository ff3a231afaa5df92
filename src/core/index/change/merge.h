/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge.h - rewrites a run of segments in three steps, so that other commits can be made during the second, which takes
 * long: begin chooses the run, write makes the new segments, install publishes them in a commit of its own.
 *
 * The journal is not changed: its changes name items by ids, which stay the same. Items whose removal was committed
 * meanwhile are removed from the new segments, too.
 */
#pragma once

#include "index/change/change.h"

typedef struct thr_merge {
    thr_commit commit; /* the snapshot to merge, never published; its directory has the new files */
    uint32_t first, end;
    thr_rewritten made;
    bool active; /* a run was chosen, and end has not been called */
} thr_merge;

/* Whether a published commit has a run to merge; true if memory is too small to find out. */
bool thr_index_merge_is_due(const thr_commit *commit);

/*
 * Choose a run by merge_policy.h; merge->active is false if there is none, or after an error. held as for
 * thr_index_commit_begin. Until thr_index_merge_end, other commits must not delete the files of build number
 * merge->commit.dir.build.
 */
thr_status thr_index_merge_begin(thr_context *context, const char *dir, const thr_build_dir *held, thr_merge *merge,
                                 thr_error *err);

/* Write the new segments. THR_ENOSPACE; THR_EIO; THR_ENOMEM; THR_ECHANGED. */
thr_status thr_index_merge_write(thr_merge *merge, thr_error *err);

/* Publish them, unless another commit has replaced the run meanwhile. Returns as thr_index_commit_publish. */
thr_status thr_index_merge_install(thr_merge *merge, thr_error *err);

/* Delete the new segments unless they were installed. */
void thr_index_merge_end(thr_merge *merge);
