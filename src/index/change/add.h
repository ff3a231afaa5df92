/* SPDX-License-Identifier: Apache-2.0 */
/* add.h - adds rows to an index as segments. */
#pragma once

#include "index/build/ids.h"
#include "index/build/row_source.h"

#include <thresher/index_change.h>

struct thr_build_dir;

typedef struct thr_addition {
    thr_row_source *source;
    thr_ids *ids;                     /* read from a text, they become names if items have names */
    const thr_hits_changes *features; /* of thr_index_commit_read_features, or NULL */
    bool replace;
} thr_addition;

/*
 * Add all rows in one commit. held: the lock if the caller has it already, or NULL; then the segments are maintained.
 * Returns as thr_index_add.
 */
thr_status thr_index_commit_add(thr_context *context, const char *dir, const struct thr_build_dir *held,
                                const thr_addition *addition, thr_index_change *change, thr_error *err);
