/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_writer.h - create an empty index, and change an index item by item.
 *
 * A writer holds the lock of an index's directory. A small change is appended to the index's journal and is durable
 * when the call returns. It costs one flush of the journal; concurrent changes of several threads share a flush. A
 * journal of thr_index_writer_options.journal_rows items, or of 64 MiB, becomes a segment. Searches find the journal's
 * items like all others, and score them exactly.
 *
 * After a crash the index has all changes of a call or none. A call that fails leaves the index as it was. Readers see
 * later calls by thr_index_refresh (index_change.h), which reads only what was appended if no segment was written.
 *
 * Rows are taken as float32. An index of codes only, of a model's codes, or with features has no journal: every change
 * of it is a commit, as by thr_index_add, and costs several flushes.
 *
 * Threads: many threads may use a writer at once. It has a thread of its own, which merges segments. A forked
 * child must open a writer of its own: calls with its parent's return THR_EINVAL. The kernel releases the lock when the
 * process has exited or was killed, and the children that it forked meanwhile have exited or called exec. Where flock
 * does nothing, as on some network file systems, allow one writing process.
 */
#ifndef THRESHER_INDEX_WRITER_H
#define THRESHER_INDEX_WRITER_H

#include <thresher/index_change.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct thr_index_create_options {
    uint32_t n_dims; /* 1 or more */
    thr_metric metric;
    uint32_t item_bits; /* as for thr_index_build_options */
    thr_dtype keep;     /* the same */
    uint32_t lead_bits;
    bool names;   /* items have names */
    bool replace; /* replace an existing index */
} thr_index_create_options;

/*
 * Create an index without items in dir. It can be opened, searched and changed. Its quantiser is learned when the
 * journal becomes a segment, if the index then has 256 live items: by a call of index_change.h, or by a writer
 * whose journal is full or that is given many rows at once, is flushed or compacted. Until then all items are in the
 * journal and are scored exactly.
 *
 * Returns THR_OK; THR_EINVAL for options out of range; THR_EEXIST, THR_EBUSY, THR_ENOSPACE, THR_EIO and THR_ENOMEM as
 * thr_index_build.
 */
THR_API thr_status thr_index_create(thr_context *context, const char *dir, const thr_index_create_options *options,
                                    thr_error *err);

typedef struct thr_index_writer thr_index_writer;

typedef struct thr_index_writer_options {
    /*
     * The journal becomes a segment when it has this many items, removed ones included. The largest value is 4,096, or
     * as many as fit 16 MiB of float32 if that is fewer, but at least 256; 0 and larger values mean the largest. Below
     * 4 every add writes a segment. Smaller journals make searches faster and changes slower.
     */
    uint32_t journal_rows;
    /*
     * Which thread merges small segments, and rewrites segments with many removed items. false: a thread of the
     * writer, while other calls go on. true: the thread whose commit makes it necessary, before its call returns.
     */
    bool merge_in_calls;
} thr_index_writer_options;

/*
 * Open an index for writing. options may be NULL. The caller frees *writer.
 *
 * Returns THR_OK; THR_EBUSY while another writer, change or build is at work in dir; and what thr_index_open returns.
 */
THR_API thr_status thr_index_writer_open(thr_context *context, const char *dir, const thr_index_writer_options *options,
                                         thr_index_writer **writer, thr_error *err);

/*
 * Wait for merges that are due, and release the lock; NULL is allowed. No call may be running. The journal stays; the
 * next open reads it.
 */
THR_API void thr_index_writer_free(thr_index_writer *writer);

/*
 * Add the rows of vectors (any dtype). ids or names has one element per row; if both are NULL the index chooses ids. An
 * index with names requires names. Upsert replaces items with the same ids or names. More rows than a quarter of a
 * journal are written as a segment. change may be NULL.
 *
 * Returns as thr_index_add; THR_EDUPLICATE if an id or a name occurs twice, or, unless upserting, is in the index;
 * THR_ECHANGED if the directory was moved or deleted, or another one has its path now; THR_EBUSY from a callback of the
 * context that runs in a call of this writer, or in its merging thread. Other calls return these, too.
 */
THR_API thr_status thr_index_writer_add(thr_index_writer *writer, const thr_matrix *vectors, const uint64_t *ids,
                                        const char *const *names, thr_index_change *change, thr_error *err);
THR_API thr_status thr_index_writer_upsert(thr_index_writer *writer, const thr_matrix *vectors, const uint64_t *ids,
                                           const char *const *names, thr_index_change *change, thr_error *err);

/*
 * Add the rows of vectors with all that thr_index_add takes: ids, an array or a file; features and their values;
 * options->replace upserts. names has one element per row, or is NULL; give names, ids or a file of either. An index
 * with features requires features. Vectors, features, multipliers and offsets of the rows come in one commit. options
 * and change may be NULL. Returns as thr_index_writer_add; THR_EINVAL, THR_EDIM and THR_EMISMATCH for features, as
 * thr_index_add.
 */
THR_API thr_status thr_index_writer_write(thr_index_writer *writer, const thr_matrix *vectors, const char *const *names,
                                          const thr_index_add_options *options, thr_index_change *change,
                                          thr_error *err);

/* Remove items; ids that no item has are skipped. Returns as thr_index_remove. */
THR_API thr_status thr_index_writer_remove(thr_index_writer *writer, const uint64_t *ids, uint64_t n_ids,
                                           thr_index_change *change, thr_error *err);

/* The same by names; those that no item has are skipped. THR_EINVAL also for an index without names. */
THR_API thr_status thr_index_writer_remove_names(thr_index_writer *writer, const char *const *names, uint64_t n_names,
                                                 thr_index_change *change, thr_error *err);

/* Turn the journal into a segment, unless it has too few items to learn a quantiser from. Returns as thr_index_add. */
THR_API thr_status thr_index_writer_flush(thr_index_writer *writer, thr_error *err);

/* As thr_index_compact, under the writer's lock; the journal becomes a segment first. */
THR_API thr_status thr_index_writer_compact(thr_index_writer *writer, thr_index_change *change, thr_error *err);

/* The same for thr_index_recode. */
THR_API thr_status thr_index_writer_recode(thr_index_writer *writer, thr_index_change *change, thr_error *err);

#ifdef __cplusplus
}
#endif

#endif
