/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - the queue of writes. One thread at a time, the thread at work, does all that wait. */
#include "index/change/writer.h"

#include "base/error.h"

#include <sched.h>
#include <unistd.h>

enum { GATHER_TRIES = 64 };

/*
 * Take the list, with the mutex held. Threads that shared the last flush may be about to write again: yield a few
 * times, so that they can join this one.
 */
static thr_write *take_all(thr_index_writer *w) {
    for (int i = 0; i < GATHER_TRIES && w->n_waiting < w->n_last; i++) {
        (void)pthread_mutex_unlock(&w->mutex);
        (void)sched_yield();
        (void)pthread_mutex_lock(&w->mutex);
    }
    thr_write *first = w->first;
    w->first = NULL;
    w->last = &w->first;
    w->n_last = w->n_waiting;
    w->n_waiting = 0;
    return first;
}

/* Whether a write was called by a callback of another one, which it would wait for. The mutex is held. */
static bool is_in_a_callback(const thr_index_writer *w, const thr_write *write) {
    const bool is_merge = write->kind == THR_WRITE_MERGE_BEGIN || write->kind == THR_WRITE_MERGE_END;
    return (w->busy && pthread_equal(w->at_work, pthread_self()) != 0) ||
           (w->has_merger && !is_merge && pthread_equal(w->merger, pthread_self()) != 0);
}

thr_status thr_index_writer_run(thr_index_writer *w, thr_write *write, thr_index_change *change, thr_error *err) {
    if (w->lock.owner != getpid())
        return thr_fail(err, THR_EINVAL,
                        "%s: the writer belongs to the process that opened it: open one in this process", w->dir);
    (void)pthread_mutex_lock(&w->mutex);
    if (is_in_a_callback(w, write)) {
        (void)pthread_mutex_unlock(&w->mutex);
        return thr_fail(
            err, THR_EBUSY,
            "%s: the writer is at work in this thread: a callback of that call must wait until it has ended", w->dir);
    }
    if (write->kind == THR_WRITE_ADD)
        thr_index_writer_wait_for_merger(w);
    *w->last = write;
    w->last = &write->next;
    w->n_waiting++;
    while (!write->done) {
        if (w->busy) {
            (void)pthread_cond_wait(&w->changed, &w->mutex);
            continue;
        }
        w->busy = true;
        w->at_work = pthread_self();
        thr_write *first = take_all(w);
        (void)pthread_mutex_unlock(&w->mutex);
        thr_index_writer_work(w, first);
        (void)pthread_mutex_lock(&w->mutex);
        for (thr_write *done = first, *next; done != NULL; done = next) {
            next = done->next;
            done->done = true;
        }
        w->busy = false;
        (void)pthread_cond_broadcast(&w->changed);
    }
    (void)pthread_mutex_unlock(&w->mutex);
    if (change != NULL)
        *change = write->status == THR_OK ? write->change : (thr_index_change){0};
    return thr_pass_on(write->status, &write->error, err);
}
