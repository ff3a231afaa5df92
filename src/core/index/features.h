/* SPDX-License-Identifier: Apache-2.0 */
/*
 * features.h - the posting lists of an index: a file of room hits beside the segments, in the order of the index's
 * rows.
 */
#pragma once

#include "index/build/directory.h"
#include "index/build/ids.h"
#include "index/build/row_source.h"

/* The items whose features are indexed. */
typedef struct thr_index_hits_of {
    const thr_ids *ids;
    const thr_row_source *rows;
    uint64_t fingerprint; /* of the model that the weights belong to; 0: none */
} thr_index_hits_of;

/*
 * Build the file from the features of options, if there are any, and check that items have the same ids or names there.
 * *listed receives its line of the manifest, *n_listed the number of items with features.
 *
 * THR_EDIM if the number of rows is known and differs from that of the items with features; THR_EMISMATCH for an item
 * of another name (err names the row); and what thr_hits_build_table and thr_hits_build return.
 */
thr_status thr_index_hits_build(const thr_build_dir *dir, const thr_index_build_options *options,
                                const thr_index_hits_of *of, thr_manifest_hits *listed, uint64_t *n_listed,
                                thr_error *err);

/*
 * Rewrite the file that thr_index_hits_build wrote for rows in another order: new row i is old row rows[i]. All n_rows
 * rows have an item. *listed receives the file's line of the manifest. Returns as thr_hits_rewrite.
 */
thr_status thr_index_hits_reorder(const thr_build_dir *dir, const uint64_t *rows, uint64_t n_rows,
                                  thr_manifest_hits *listed, thr_error *err);

/* The manifest's line of a file of posting lists that was written in dir. */
thr_manifest_hits thr_index_hits_line(const thr_build_dir *dir, const thr_hits *hits);

/* The column of names of a table of features, "TABLE:1". The caller releases *path. */
thr_status thr_index_names_path(thr_context *context, const char *table, char **path, thr_error *err);

/* THR_EMISMATCH for a row whose id or name in ids differs from `there`, that of the row's features. */
thr_status thr_index_fail_names(const thr_ids *ids, uint64_t row, const char *there, thr_error *err);

/* THR_EDIM unless n_listed, the number of items with features, equals n_rows. */
thr_status thr_index_hits_check_count(uint64_t n_listed, uint64_t n_rows, const char *rows_name, thr_error *err);

struct thr_index;

/*
 * Open the file that an index's manifest names, when its segments and live rows are open: index->hits, whose owner is
 * the index. THR_ENOTFOUND; THR_ECORRUPT, also for another file of this name; THR_EVERSION; THR_EIO; THR_ENOMEM.
 */
thr_status thr_index_hits_open(struct thr_index *index, const char *dir, thr_error *err);

/*
 * Take over the values that were set in an earlier snapshot (thr_hits_set_values), by item. Items that are new since,
 * and those that a change gave values, have those of the files. THR_ECHANGED; THR_ENOMEM.
 */
thr_status thr_index_hits_inherit(const struct thr_index *before, struct thr_index *now, thr_error *err);
