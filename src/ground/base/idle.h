/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idle.h - a free list of scratch objects: a search takes one, which is created if none is free, and returns it.
 *
 * Threads: any number of threads may take and put at once.
 */
#pragma once

#include <pthread.h>

#include "base/memory.h"

typedef struct thr_idle {
    thr_context *context; /* NULL: not initialised */
    pthread_mutex_t mutex;
    void **pieces;
    size_t n, n_made, capacity; /* n <= n_made <= capacity, so thr_idle_put never allocates */
} thr_idle;

typedef thr_status thr_idle_make(thr_context *context, void **piece, thr_error *err);

/* Make a piece of size zeroed bytes that begins with its context. THR_ENOMEM. */
thr_status thr_idle_piece(thr_context *context, size_t size, void **piece, thr_error *err);

/* Initialise with zeros first. THR_ENOMEM. */
thr_status thr_idle_start(thr_idle *idle, thr_context *context, thr_error *err);

/* Returns the status of make, or THR_ENOMEM. *piece is NULL after an error. */
thr_status thr_idle_take(thr_idle *idle, thr_idle_make *make, void **piece, thr_error *err);
void thr_idle_put(thr_idle *idle, void *piece);

/* Free all pieces. Every piece must have been put back. */
void thr_idle_end(thr_idle *idle, void (*free_piece)(void *piece));
