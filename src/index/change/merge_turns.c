/* SPDX-License-Identifier: Apache-2.0 */
/* merge_turns.c - what the thread at work does for the merger. */
#include "index/change/writer.h"

/*
 * Commits that may be made while a merge runs; then adds wait for it. So the last level has at most this many segments
 * and seven more.
 */
enum { MOST_SINCE = 32 };

void thr_index_writer_begin_merge(thr_index_writer *w) {
    (void)thr_index_merge_begin(w->context, w->dir, &w->lock, &w->merge, NULL);
    w->lock.spares = w->merge.any;
    w->lock.spared = w->merge.commit.dir.build;
    (void)pthread_mutex_lock(&w->mutex);
    w->merging = w->merge.any;
    w->n_since = 0;
    (void)pthread_mutex_unlock(&w->mutex);
}

void thr_index_writer_end_merge(thr_index_writer *w) {
    if (w->merge_status == THR_OK)
        w->merge_status = thr_index_merge_install(&w->merge, NULL);
    thr_index_merge_end(&w->merge);
    w->lock.spares = false;
    (void)pthread_mutex_lock(&w->mutex);
    w->merging = false;
    (void)pthread_mutex_unlock(&w->mutex);
}

void thr_index_writer_committed(thr_index_writer *w) {
    if (!w->has_merger) {
        thr_index_maintain(w->context, w->dir, &w->lock);
        return;
    }
    (void)pthread_mutex_lock(&w->mutex);
    w->merge_due = true;
    w->n_since++;
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->mutex);
}

void thr_index_writer_wait_for_merger(thr_index_writer *w) {
    while (w->merging && w->n_since >= MOST_SINCE)
        (void)pthread_cond_wait(&w->changed, &w->mutex);
}
