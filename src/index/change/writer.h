/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer.h - an open writer, and the calls that wait for it.
 *
 * One thread at a time is at work: it takes all calls that wait, puts those that are small into one frame of the
 * journal, and flushes it. So calls that come during a flush share the next one. It waits a moment for as many calls as
 * the last flush had, since threads that were woken together call again at about the same time.
 */
#ifndef THR_INDEX_CHANGE_WRITER_H
#define THR_INDEX_CHANGE_WRITER_H

#include "index/build/directory.h"
#include "index/build/ids.h"
#include "index/impl.h"
#include "index/journal/journal.h"

#include <pthread.h>
#include <thresher/index_writer.h>

typedef struct thr_write {
    enum { THR_WRITE_ADD, THR_WRITE_REMOVE, THR_WRITE_FLUSH, THR_WRITE_COMPACT, THR_WRITE_RECODE } kind;
    bool replace;
    const float *vectors; /* of n rows to add */
    uint64_t n;
    thr_ids ids;             /* of these */
    const uint64_t *removed; /* n_removed ids to remove */
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
    thr_build_dir lock; /* its owner may use the writer */
    uint32_t most_rows; /* of the journal */
    bool codes_only;    /* codes only: no journal */
    uint32_t n_dims;
    bool has_names;

    pthread_mutex_t mutex; /* for those up to n_last */
    pthread_cond_t changed;
    bool busy;
    thr_write *first, **last;
    uint32_t n_waiting, n_last; /* calls in the list; those of the last group */

    /* of the thread at work */
    thr_index *index;    /* shows the newest state; NULL: open it again */
    thr_journal journal; /* to append to; closed if the index is */
    thr_frame frame;
    uint64_t *ids, *removed; /* of one call */
    size_t ids_capacity, removed_capacity;
};

/* In journal_writes.c: do all the writes of a list, in order, and set their status, error and change. */
void thr_index_writer_work(thr_index_writer *writer, thr_write *first);

/* Forget the index that is open. */
void thr_index_writer_close_index(thr_index_writer *writer);

#endif
