/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idle.h - scratch memory that is not in use: a search takes a piece, has one made where there is none, puts it back.
 *
 * Threads: pieces may be taken and put back by many threads at once.
 */
#ifndef THR_BASE_IDLE_H
#define THR_BASE_IDLE_H

#include <pthread.h>

#include "base/memory.h"

typedef struct thr_idle {
    thr_context *context; /* NULL: not started */
    pthread_mutex_t mutex;
    void **pieces;
    size_t n, n_made, capacity; /* n <= n_made <= capacity, so that putting back never allocates */
} thr_idle;

typedef thr_status thr_idle_make(thr_context *context, void **piece, thr_error *err);

/* Set up by zeroing. THR_ENOMEM. */
thr_status thr_idle_start(thr_idle *idle, thr_context *context, thr_error *err);

/* What make returns; THR_ENOMEM. *piece is NULL after an error. */
thr_status thr_idle_take(thr_idle *idle, thr_idle_make *make, void **piece, thr_error *err);
void thr_idle_put(thr_idle *idle, void *piece);

/* All pieces are back. */
void thr_idle_end(thr_idle *idle, void (*free_piece)(void *piece));

#endif
