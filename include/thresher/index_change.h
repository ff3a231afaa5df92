/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_change.h - change an index in its directory: add, replace and remove items, compact.
 *
 * Every call that changes items is one commit: it writes new files, flushes them, and renames a new manifest into
 * place. Merging segments afterwards is a further commit. A call that changes nothing makes none. A call that fails or
 * is killed leaves the index as it was; once it has returned THR_OK the change survives a crash. One change or build at
 * a time may run in a directory; another one gets THR_EBUSY. Any number of processes may search meanwhile.
 *
 * An open index is a snapshot: it keeps showing the items of the commit it was opened at, even after their files were
 * deleted. thr_index_refresh opens a newer commit. A writer (index_writer.h) makes small changes at less cost; the
 * functions here include the items of its journal.
 *
 * New items are coded by the quantiser of the build. A promised recall holds for them too (thr_search_options), except
 * where the calibration's numbers decide; those are for the items of the build.
 *
 * In an index with features, vector, features, multiplier and offset of an item come and go in one commit. Values that
 * thr_hits_set_values has set are not part of it; thr_index_refresh takes them over.
 */
#ifndef THRESHER_INDEX_CHANGE_H
#define THRESHER_INDEX_CHANGE_H

#include <thresher/index.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct thr_index_add_options {
    /*
     * Ids of the new items as for thr_index_build_options, as an array or a file; or names, from a file, for an index
     * with names, which requires them. Neither: the index chooses ids above all that it ever had.
     */
    const uint64_t *ids;
    uint64_t n_ids;
    const char *ids_path;
    bool replace; /* an item with the id or name of one in the index replaces it; false: that is an error */
    /*
     * Features of the new items, in the order of rows, and their values, as for thr_index_build_options: required by an
     * index with features, and by no other. If features are words, they come from a table, whose first column has the
     * ids or names unless those are given. The commit writes the posting lists of added items, and those of all items
     * if many were added since these were written.
     */
    const char *features_path;
    const thr_item_features *features;
    const float *multipliers, *offsets;
    uint64_t n_values;
} thr_index_add_options;

/* The result of a change. */
typedef struct thr_index_change {
    uint64_t n_added;   /* including those that replace others */
    uint64_t n_removed; /* including those replaced */
    uint64_t n_missing; /* ids and names to remove that no item has */
    uint64_t first_id;  /* added items whose ids the index chose have first_id, first_id + 1, ...; else THR_NO_ID */
    uint64_t n_items;   /* in the index now */
    uint64_t n_commits; /* of the index now */
    uint64_t n_zero;    /* zero vectors among the added ones (thr_index_info) */
    /*
     * THR_OK, or why segments that were due have not been merged after the commit: THR_ECANCELED, THR_ENOSPACE, ... The
     * change is durable in any case, and the next one merges them.
     */
    thr_status unmerged;
} thr_index_change;

/*
 * Add all rows of vectors to the index in dir. options and *change may be NULL. A matrix, file or stream without rows
 * is no error, and makes no commit.
 *
 * Each call writes a segment, so add many rows at once (index_writer.h is for few). An index that has no quantiser yet
 * and fewer than 256 items writes a journal instead. When small segments have become many, or a segment holds many
 * removed items, they are rewritten as one, in a commit of its own; if that fails, the added items stay.
 *
 * Returns THR_OK, or
 *   THR_EDIM          other dimensions than the index has; the number of ids or names is not that of rows
 *   THR_EDUPLICATE    an id or a name occurs twice, or is in the index already and replace is false
 *   THR_ERANGE        a row has NaN or infinity, or a length that a build refuses (err names it); no ids are left
 *   THR_EINVAL        names for an index without names, ids for one with names, or neither for one with names; the
 *                     same for features, and numbers where features are words
 *   THR_EMISMATCH     a row is not a code of the index's model, or has another id or name in the table of features
 *   THR_EBUSY         another build or change is running there
 *   and what thr_index_open and the reader return; THR_ENOSPACE, THR_EIO, THR_ECANCELED, THR_ENOMEM
 */
THR_API thr_status thr_index_add(thr_context *context, const char *dir, thr_reader *vectors,
                                 const thr_index_add_options *options, thr_index_change *change, thr_error *err);

/* The items to remove: those with these ids, and in an index with names those with these names. */
typedef struct thr_index_removal {
    const uint64_t *ids;
    uint64_t n_ids;
    const char *const *names;
    uint64_t n_names;
    bool strict; /* an id or name that no item has is THR_ENOTFOUND, and nothing is removed; false: it is skipped */
    /* NULL, or receives the position of the first id that no item has; n_ids + i for name i; n_ids + n_names: none */
    uint64_t *first_missing;
} thr_index_removal;

/*
 * Remove items. Ids and names are looked up in the newest commit, under the lock of the directory, so items that other
 * processes have added before are removed, too. change->n_removed counts the items, a repeated one once; n_missing
 * counts ids and names that no item has. If nothing is removed there is no commit. The commit writes a bitmap of one
 * bit per row, and a segment of the journal's items if there are any; segments may be merged afterwards.
 *
 * Returns as thr_index_add; THR_EINVAL for names of an index without names; THR_ENOTFOUND with strict.
 */
THR_API thr_status thr_index_remove_items(thr_context *context, const char *dir, const thr_index_removal *removal,
                                          thr_index_change *change, thr_error *err);

/* The same for ids, not strict. */
THR_API thr_status thr_index_remove(thr_context *context, const char *dir, const uint64_t *ids, uint64_t n_ids,
                                    thr_index_change *change, thr_error *err);

/*
 * Rewrite all segments without removed items, as few files as possible; cells are made anew. Vectors, ids and
 * exact scores stay the same. Codes stay the same, too, unless the index has 4,096 items or more and the codes' error
 * has grown by THR_RECODE_PAYS (thr_index_code_error): then this works as thr_index_recode. Needs disk space for a
 * second copy, and memory for a segment's codes. Does nothing if there is nothing to gain. Returns as thr_index_add.
 */
THR_API thr_status thr_index_compact(thr_context *context, const char *dir, thr_index_change *change, thr_error *err);

/*
 * Compact, and learn the codes anew from the current items: their quantiser, all codes, the calibration. Kept
 * vectors, ids and exact scores stay the same, and so does whether vectors are rotated; searches may run meanwhile.
 * Costs about as much as a build. Returns as thr_index_compact, but always writes all segments; THR_EUNSUPPORTED also
 * if the index keeps no vectors, or holds a model's codes.
 */
THR_API thr_status thr_index_recode(thr_context *context, const char *dir, thr_index_change *change, thr_error *err);

/*
 * Compact, but keep the quantiser in any case, and leave no row of a removed item, even if that makes no file smaller:
 * for the shards of a collection, which share a quantiser and whose rows are counted. Returns as thr_index_compact.
 */
THR_API thr_status thr_index_rewrite(thr_context *context, const char *dir, thr_index_change *change, thr_error *err);

/*
 * Measure the error of the codes: the distance of some live items to their codes, divided by their distance to their
 * mean, both as root mean squares. *now is the error of the segments' items; *learned is the error when the quantiser
 * was learned. Either is 0 if it is unknown: without kept vectors or codes, or for a model's codes. If *now exceeds
 * THR_RECODE_PAYS times *learned, thr_index_recode is likely to make searches faster. Returns THR_OK; THR_EINVAL;
 * THR_ECHANGED; THR_ENOMEM.
 */
#define THR_RECODE_PAYS 1.05
THR_API thr_status thr_index_code_error(const thr_index *index, float *now, float *learned, thr_error *err);

/*
 * Open the newest commit of an open index. *newer is NULL if index has it already, which costs one stat a file, and
 * with a journal reads of 48 bytes and at most 4 KiB. The caller frees *newer, and index when its last search has
 * ended. If a writer's journal has grown and nothing else has changed, only its new part is read. Files that were
 * touched, or replaced by the same bytes, are opened again. While another program replaces them, opening is tried again
 * for a tenth of a second.
 *
 * Values that thr_hits_set_values has set in index are taken over by item: by id, or by name where a replaced item got
 * a new id. Items that are new, and those whose multiplier or offset a change has given, have those of the change.
 * Values that are set in index after this call are lost: set those of the newest snapshot. Returns as thr_index_open.
 */
THR_API thr_status thr_index_refresh(const thr_index *index, thr_index **newer, thr_error *err);

/*
 * An index that refreshes itself. Every take shows the newest commit; a snapshot lives until its last user puts it
 * back.
 *
 *   thr_index_follower_take(follower, &index, &err);
 *   thr_index_search(index, ...);
 *   thr_index_follower_put(index);
 *
 * Threads: many threads may take, search and put at once. A thread that takes waits while another one opens a newer
 * commit; searches that run do not.
 */
typedef struct thr_index_follower thr_index_follower;

/* Open the index in dir. The caller frees *follower. Returns as thr_index_open. */
THR_API thr_status thr_index_follower_open(thr_context *context, const char *dir, thr_index_follower **follower,
                                           thr_error *err);

/* All snapshots must have been put back; NULL is allowed. */
THR_API void thr_index_follower_free(thr_index_follower *follower);

/*
 * Take the newest commit. Return *index with _put, and do not free it. Returns as thr_index_refresh; after an error
 * *index is NULL, and the next take tries again.
 */
THR_API thr_status thr_index_follower_take(thr_index_follower *follower, thr_index **index, thr_error *err);

/* Put a snapshot back; NULL is allowed. */
THR_API void thr_index_follower_put(thr_index *index);

#ifdef __cplusplus
}
#endif

#endif
