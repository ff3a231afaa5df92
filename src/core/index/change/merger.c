/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merger.c - the thread of a writer that rewrites segments while other threads change the index. The begin and the end
 * of a merge are writes in the queue. Rewriting the segments takes long and blocks no write.
 */
#include "index/change/writer.h"

#include <unistd.h>

/* Errors are ignored: the next commit tries again. */
static void merge_all(thr_index_writer *w) {
    for (;;) {
        thr_write begin = {.kind = THR_WRITE_MERGE_BEGIN}, end = {.kind = THR_WRITE_MERGE_END};
        (void)thr_index_writer_run(w, &begin, NULL, NULL);
        if (!w->merge.active)
            return;
        w->merge_status = thr_index_merge_write(&w->merge, NULL);
        (void)thr_index_writer_run(w, &end, NULL, NULL);
        if (w->merge_status != THR_OK)
            return;
    }
}

static void *work(void *arg) {
    thr_index_writer *w = arg;
    (void)pthread_mutex_lock(&w->mutex);
    for (;;) {
        while (!w->merge_due && !w->closing)
            (void)pthread_cond_wait(&w->merge_wanted, &w->mutex);
        if (!w->merge_due)
            break;
        w->merge_due = false;
        (void)pthread_mutex_unlock(&w->mutex);
        merge_all(w);
        (void)pthread_mutex_lock(&w->mutex);
    }
    (void)pthread_mutex_unlock(&w->mutex);
    return NULL;
}

/* If no thread can be started, writes merge after their commits. */
void thr_index_writer_start_merger(thr_index_writer *w) {
    w->has_merger = !w->merge_in_calls && pthread_create(&w->merger, NULL, work, w) == 0;
}

/* A forked child has no merger. */
void thr_index_writer_join_merger(thr_index_writer *w) {
    if (!w->has_merger || w->lock.owner != getpid())
        return;
    (void)pthread_mutex_lock(&w->mutex);
    w->closing = true;
    (void)pthread_cond_signal(&w->merge_wanted);
    (void)pthread_mutex_unlock(&w->mutex);
    (void)pthread_join(w->merger, NULL);
}
