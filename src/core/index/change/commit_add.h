/* SPDX-License-Identifier: Apache-2.0 */
/* commit_add.h - adds rows to an index as segments. */
#pragma once

#include "index/build/ids.h"
#include "index/build/row_source.h"

#include <thresher/index_change.h>

struct thr_build_dir;

typedef struct thr_addition {
    thr_row_source *source;
    thr_ids *ids;                     /* ids read from a text become names in an index with names */
    const thr_hits_changes *features; /* of thr_index_commit_read_features, or NULL */
    bool replace;
} thr_addition;

/*
 * Add all rows in one commit. held as in change.h. Returns as thr_index_add.
 */
thr_status thr_index_commit_add(thr_context *context, const char *dir, const struct thr_build_dir *held,
                                const thr_addition *addition, thr_index_change *change, thr_error *err);

/*
 * Fill in *features with views of the features in options. If options gives neither ids nor names (named: the caller
 * has names), those of the table of features are used: options->ids_path is set to a path that *path owns.
 *
 * THR_EINVAL if features are given both as a file and as numbers; THR_EDIM if the numbers of values and items differ;
 * THR_ENOMEM.
 */
thr_status thr_index_view_features(thr_context *context, thr_index_add_options *options, bool named,
                                   thr_hits_changes *features, char **path, thr_error *err);
