/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot.h - the journal of an open index: reads it, and makes snapshots of the frames. */
#pragma once

#include "index/impl.h"

/*
 * Read the journal that the manifest of an index names, whose other files are open, and show its items. THR_ENOTFOUND;
 * THR_ECORRUPT; THR_EVERSION; THR_EIO; THR_ENOMEM.
 */
thr_status thr_index_snapshot_open(thr_index *index, const char *dir, thr_error *err);

/* Close it. */
void thr_index_snapshot_close(thr_index *index);

/*
 * Read the frames appended since. *newer is a snapshot that shares all but the live rows with index; NULL if there are
 * none.
 * THR_ECORRUPT or another error: the index must be opened again. Free *newer with thr_index_free.
 */
thr_status thr_index_snapshot_refresh(const thr_index *index, thr_index **newer, thr_error *err);

/* Make an index show the newest state of its tail, without a copy. Nothing may search it meanwhile. */
void thr_index_snapshot_show_newest(thr_index *index);

/* Whether the tail holds items, or has removed some, in this snapshot. */
static inline bool thr_index_snapshot_has_changes(const thr_index *index) {
    return index->tail != NULL && index->live.copied;
}
