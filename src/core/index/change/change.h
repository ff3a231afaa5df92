/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change.h - one commit: the index before it, and the manifest and live rows after it.
 *
 * begin locks the directory; publish writes the live rows and the manifest; end unlocks, and without a publication
 * deletes what was written. Between them, in this order: clear the live rows of items that are removed, fold the tail,
 * append or rewrite segments. A journal without changes stays as it is.
 *
 * held, in all functions: the caller's lock, or NULL to take one. If NULL, thr_index_fold_journal,
 * thr_index_remove_held and thr_index_commit_add merge the segments that are due afterwards; a caller that holds the
 * lock does that itself.
 */
#pragma once

#include "index/build/ids.h"
#include "index/build/row_source.h"
#include "index/impl.h"
#include "index/names.h"

#include <thresher/index_change.h>

typedef struct thr_commit {
    thr_context *context;
    thr_build_dir dir;
    thr_index *index;      /* before */
    thr_manifest manifest; /* after; owns its segments */
    uint64_t *live;        /* one bit per row: of the index with its tail until the fold, then of the manifest */
    bool learned;          /* the commit has learned manifest.quantiser, and owns it */
    float *kept_centre;    /* manifest.kept_centre, if the commit has chosen it */
    bool folded;
    bool keeps_journal;                          /* changes segments only, and the journal stays */
    uint64_t n_carried_items, n_carried_changes; /* in the journal that new_journal wrote */
} thr_commit;

/*
 * Lock and open. Call thr_index_commit_end afterwards, after an error too.
 * THR_EBUSY; and as thr_index_open.
 */
thr_status thr_index_commit_begin(thr_context *context, const char *dir, const thr_build_dir *held, thr_commit *commit,
                                  thr_error *err);

/* Change the number of rows to n_rows. The bits of existing rows are kept; new rows are not live. */
thr_status thr_index_commit_resize_live(thr_commit *commit, uint64_t n_rows, thr_error *err);

/* Append segments, whose rows are all live. THR_ENOMEM. */
thr_status thr_index_commit_append(thr_commit *commit, const thr_manifest_segment *segments, uint32_t n,
                                   thr_error *err);

/*
 * In append.c: encode the rows of a source to segments of the commit. ids has their ids or names, or both, or neither:
 * then added.first_id is the first of the ids that the index chooses. The commit must have a quantiser: call
 * thr_index_commit_learn first if the index has none. added->n is the number of rows. THR_EDIM for none; THR_ERANGE;
 * THR_ENOSPACE; THR_EIO; THR_ENOMEM.
 */
typedef struct thr_appended {
    uint64_t n, first_id;
    uint64_t n_zero; /* zero vectors among them */
} thr_appended;
thr_status thr_index_commit_append_rows(thr_commit *commit, thr_row_source *source, const thr_ids *ids,
                                        thr_appended *added, thr_error *err);

/* Learn the commit's quantiser from a sample of a source. A source is sampled once, before its rows are read. */
thr_status thr_index_commit_learn(thr_commit *commit, thr_row_source *source, thr_error *err);

/* The number of live items of the tail. */
uint64_t thr_index_commit_tail_items(const thr_commit *commit);

/*
 * In fold.c: the live items of the tail become a segment, if there are any, and the manifest names no journal. Without
 * a quantiser: if learn is true, one is learned from them; else they are copied to a new journal. Nothing happens if
 * the journal has no changes. THR_ENOSPACE; THR_EIO; THR_ENOMEM.
 */
thr_status thr_index_commit_fold(thr_commit *commit, bool learn, thr_error *err);

/* In fold.c: in an index without a quantiser, copy the tail's live items and those of *more to a new journal. */
thr_status thr_index_commit_carry(thr_commit *commit, const thr_journal_change *more, thr_error *err);

/*
 * In new_journal.c: the manifest names a new journal, with the items of `first`, if it is not NULL, and of `second`.
 * THR_ENOSPACE; THR_EIO; THR_ENOMEM.
 */
thr_status thr_index_commit_new_journal(thr_commit *commit, const thr_journal_change *first,
                                        const thr_journal_change *second, thr_error *err);

/*
 * In fold_journal.c: fold in a commit of its own, with a new journal if journal is true. If the journal has no changes,
 * or its items would only be copied to a new journal, nothing is committed, but a damaged header of it is mended.
 */
thr_status thr_index_fold_journal(thr_context *context, const char *dir, const thr_build_dir *held, bool journal,
                                  thr_error *err);

/*
 * Make a commit that changes segments only: its live rows are those before the journal's changes, and the journal is
 * kept. THR_ENOMEM.
 */
thr_status thr_index_commit_keep_journal(thr_commit *commit, thr_error *err);

/* Publish. manifest.n_items and n_rows are computed. THR_ENOSPACE; THR_EIO; THR_ENOMEM. */
thr_status thr_index_commit_publish(thr_commit *commit, thr_error *err);
void thr_index_commit_end(thr_commit *commit);

/* New segments; their items are those of `rows`, in that order. */
typedef struct thr_rewritten {
    thr_manifest written; /* has the segments, and the errors of codes that were made again */
    uint64_t *rows, n_rows;
} thr_rewritten;

/*
 * In rewrite.c: write the live items of segments [first, end) to as few as possible. Free *made whatever this returns.
 */
thr_status thr_index_commit_write_run(thr_commit *commit, uint32_t first, uint32_t end, thr_rewritten *made,
                                      thr_error *err);
void thr_index_rewritten_free(thr_context *context, thr_rewritten *made);

/* In rewrite.c: replace segments [first, end) by these, less the items removed since they were written. */
thr_status thr_index_commit_replace(thr_commit *commit, uint32_t first, uint32_t end, const thr_rewritten *made,
                                    thr_error *err);

/*
 * In rewrite.c: replace segments [first, end) by as few as possible, without removed items. Vectors are copied. So are
 * codes, so every estimate stays the same; but codes relative to centroids are made again, and so are all codes if the
 * commit has learned a quantiser, which requires that the run is all segments.
 */
thr_status thr_index_commit_rewrite(thr_commit *commit, uint32_t first, uint32_t end, thr_error *err);

/*
 * In recode.c: learn a quantiser from the live items of all segments, and rewrite them. THR_EUNSUPPORTED without kept
 * vectors.
 */
thr_status thr_index_commit_recode(thr_commit *commit, thr_error *err);

/*
 * In recalibrate.c: calibrate with the segments' own items, if there are enough and no padding rows between segments.
 * THR_ENOMEM; THR_ECANCELED.
 */
thr_status thr_index_commit_calibrate(thr_commit *commit, thr_error *err);

/* thr_index_remove_items with a lock; names are in a list of any form, instead of removal->names. */
thr_status thr_index_remove_held(thr_context *context, const char *dir, const thr_build_dir *held,
                                 const thr_index_removal *removal, const thr_name_list *names, thr_index_change *change,
                                 thr_error *err);

/* thr_index_compact, thr_index_recode, or thr_index_rewrite. */
typedef enum thr_compaction { THR_COMPACT, THR_COMPACT_RECODE, THR_COMPACT_REWRITE } thr_compaction;

/* One of them with a lock. */
thr_status thr_index_compact_held(thr_context *context, const char *dir, const thr_build_dir *held, thr_compaction kind,
                                  thr_index_change *change, thr_error *err);

/* Fill in what the caller learns of the index after a change. */
void thr_index_commit_report(const thr_commit *commit, thr_index_change *change);

/*
 * In merge_all_due.c: rewrite segments where merge_policy.h requires it (merge.h), each in a commit of its own. After
 * an error, which is returned, the next change tries again.
 */
thr_status thr_index_merge_all_due(thr_context *context, const char *dir, const thr_build_dir *held);
