/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h - a fixed set of threads that run the pieces of one loop.
 *
 * Plain pthreads instead of OpenMP: nothing is allocated after creation, ThreadSanitizer can follow every
 * synchronisation, and programs that link the library do not get a second threading runtime.
 */
#pragma once

#include "base/memory.h"

typedef struct thr_pool thr_pool;

/*
 * Start n_threads - 1 threads, which sleep, or as many as the system allows; the caller of thr_parallel_for is the last
 * worker.
 */
thr_status thr_parallel_pool_create(thr_context *context, uint32_t n_threads, thr_pool **pool, thr_error *err);

/* The number of threads that were started, and 1 for the caller. */
uint32_t thr_parallel_pool_threads(const thr_pool *pool);
void thr_parallel_pool_free(thr_context *context, thr_pool *pool);

/*
 * Call fn(arg, piece, worker) for every piece in [0, n_pieces), in any order, on all threads. Returns when all are
 * done. worker is in [0, n_threads); two pieces that run at the same time have different workers. If another caller's
 * loop occupies the pool, or if called from inside a piece, all pieces run on the calling thread as worker 0;
 * therefore scratch must belong to the call, not to the worker number alone.
 */
typedef void (*thr_piece_fn)(void *arg, size_t piece, uint32_t worker);
void thr_parallel_for(thr_context *context, size_t n_pieces, thr_piece_fn fn, void *arg);

/*
 * The same for pieces that can fail. Returns the status and message of the lowest-numbered piece that failed, which
 * are the same for any number of threads. Pieces after a failed one may be skipped.
 */
typedef thr_status (*thr_try_fn)(void *arg, size_t piece, uint32_t worker, thr_error *err);
thr_status thr_parallel_try(thr_context *context, size_t n_pieces, thr_try_fn fn, void *arg, thr_error *err);
