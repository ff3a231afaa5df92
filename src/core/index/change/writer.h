/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer.h - an open writer, and its queue of writes: additions, removals, folds, compactions, and a merge's ends.
 *
 * One thread at a time is *at work*: it takes all waiting writes, puts those that are small into one frame of the
 * journal, and flushes it. So writes that come during a flush share the next one. Before taking them it yields a few
 * times, until as many writes wait as the last flush had: threads that were woken together write again at about the
 * same time.
 */
#pragma once

#include "index/build/directory.h"
#include "index/build/ids.h"
#include "index/change/merge.h"
#include "index/journal/journal.h"

#include <pthread.h>
#include <thresher/index_writer.h>

typedef struct thr_write {
    enum {
        THR_WRITE_ADD,
        THR_WRITE_REMOVE,
        THR_WRITE_FOLD,
        THR_WRITE_COMPACT,
        THR_WRITE_RECODE,
        THR_WRITE_MERGE_BEGIN,
        THR_WRITE_MERGE_END
    } kind;
    bool replace;
    const float *vectors; /* of n rows to add */
    uint64_t n;
    thr_ids ids;                      /* of these */
    const thr_hits_changes *features; /* of these, or NULL */
    const uint64_t *removed;          /* n_removed ids to remove; NULL: the items of n_removed names, in ids */
    uint64_t n_removed;

    thr_index_change change;
    thr_status status;
    thr_error error;
    bool in_frame; /* waits for the flush */
    bool done;
    struct thr_write *next;
} thr_write;

struct thr_index_writer {
    thr_context *context;
    char *dir;
    thr_build_dir lock; /* only its owner, a process, may use the writer */
    uint32_t most_rows; /* of the journal */
    bool has_journal;   /* thr_manifest_takes_journal; else each write is a commit */
    uint32_t n_dims;
    bool has_names;

    pthread_mutex_t mutex;       /* guards the fields up to n_during_merge */
    pthread_cond_t changed;      /* writes are done, and no thread is at work */
    pthread_cond_t merge_wanted; /* merge_due or closing was set; only the merger waits on it */
    bool busy;
    pthread_t at_work; /* while busy */
    thr_write *first, **last;
    uint32_t n_waiting, n_last; /* writes in the list; writes of the last flush */
    bool merge_due, merging, closing;
    uint32_t n_during_merge; /* commits since the running merge began */

    bool merge_in_calls; /* no merger thread: writes merge after their commits */
    bool has_merger;
    pthread_t merger;
    thr_merge merge;         /* owned by the merger from begin to end, else by the thread at work */
    thr_status merge_status; /* of thr_index_merge_write */

    /* of the thread at work */
    thr_index *index;    /* shows the newest state; NULL: open it again */
    uint64_t n_commits;  /* of the index, as the last durable write left it, or opening it showed */
    thr_journal journal; /* to append to; closed if the index is */
    thr_frame frame;
    uint64_t *ids, *removed; /* of one write */
    size_t ids_capacity, removed_capacity;
};

/* In journal_writes.c: do all writes of a list, in order, and set their status, error and change. */
void thr_index_writer_work(thr_index_writer *writer, thr_write *first);

/* In merge_writes.c: after a commit, wake the merger; without one, merge here, and return as that does. */
thr_status thr_index_writer_committed(thr_index_writer *writer);

/* In merge_writes.c, called by the thread at work: begin a merge; end one, which needs the index closed. */
void thr_index_writer_begin_merge(thr_index_writer *writer);
void thr_index_writer_end_merge(thr_index_writer *writer);

/* Wait, with the mutex held, while the merger is too many commits behind. */
void thr_index_writer_wait_for_merger(thr_index_writer *writer);

/* In merger.c: start the merger thread; let it finish the merges that are due, and join it. */
void thr_index_writer_start_merger(thr_index_writer *writer);
void thr_index_writer_join_merger(thr_index_writer *writer);

/* In queue.c: do a write, with those of others: as the thread at work, or by waiting for it. */
thr_status thr_index_writer_run(thr_index_writer *writer, thr_write *write, thr_index_change *change, thr_error *err);

/*
 * Close the open index and its journal, and cut the spare zeros off the journal's file. The next write opens both
 * again.
 */
void thr_index_writer_close_index(thr_index_writer *writer);
