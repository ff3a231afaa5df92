/* SPDX-License-Identifier: Apache-2.0 */
/* merge_writes.c - the merger's writes in the queue, which begin and end a merge, and what wakes the merger. */
#include "index/change/writer.h"

/*
 * The number of commits that may be made while a merge runs; further adds wait for it. So the level of the newest
 * segments has at most this many, and seven more.
 */
enum { MOST_DURING_MERGE = 32 };

void thr_index_writer_begin_merge(thr_index_writer *w) {
    (void)thr_index_merge_begin(w->context, w->dir, &w->lock, &w->merge, NULL);
    w->lock.has_running_merge = w->merge.active;
    w->lock.merge_build = w->merge.commit.dir.build;
    (void)pthread_mutex_lock(&w->mutex);
    w->merging = w->merge.active;
    w->n_during_merge = 0;
    (void)pthread_mutex_unlock(&w->mutex);
}

void thr_index_writer_end_merge(thr_index_writer *w) {
    if (w->merge_status == THR_OK)
        w->merge_status = thr_index_merge_install(&w->merge, NULL);
    thr_index_merge_end(&w->merge);
    w->lock.has_running_merge = false;
    (void)pthread_mutex_lock(&w->mutex);
    w->merging = false;
    (void)pthread_mutex_unlock(&w->mutex);
}

thr_status thr_index_writer_committed(thr_index_writer *w) {
    if (!w->has_merger)
        return thr_index_merge_all_due(w->context, w->dir, &w->lock);
    (void)pthread_mutex_lock(&w->mutex);
    w->merge_due = true;
    w->n_during_merge++;
    (void)pthread_cond_signal(&w->merge_wanted);
    (void)pthread_mutex_unlock(&w->mutex);
    return THR_OK;
}

void thr_index_writer_wait_for_merger(thr_index_writer *w) {
    while (w->merging && w->n_during_merge >= MOST_DURING_MERGE)
        (void)pthread_cond_wait(&w->changed, &w->mutex);
}
