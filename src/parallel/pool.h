/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h - a fixed set of threads that run the pieces of one loop.
 *
 * Plain pthreads rather than OpenMP: nothing is allocated after creation, ThreadSanitizer sees every hand-over, and no
 * second runtime is woken in the program that links us.
 */
#ifndef THR_PARALLEL_POOL_H
#define THR_PARALLEL_POOL_H

#include "base/memory.h"

typedef struct thr_pool thr_pool;

/* n_threads - 1 sleeping threads; the caller of thr_parallel_for is the last one. */
thr_status thr_parallel_pool_create(thr_context *context, uint32_t n_threads, thr_pool **pool, thr_error *err);
void thr_parallel_pool_free(thr_context *context, thr_pool *pool);

/*
 * fn(arg, piece, worker) for every piece in [0, n_pieces), in any order, on all threads; returns when all are done.
 * worker is in [0, n_threads) and no two running pieces have the same. While the pool is busy with another caller's
 * loop, or when called from inside a piece, all pieces run on the calling thread as worker 0, so callers need their own
 * scratch.
 */
typedef void (*thr_piece_fn)(void *arg, size_t piece, uint32_t worker);
void thr_parallel_for(thr_context *context, size_t n_pieces, thr_piece_fn fn, void *arg);

/*
 * The same for pieces that can fail: the status and the sentence of the first that did, in the order of pieces, so that
 * they are the same on any number of threads. Pieces behind one that failed may be left out.
 */
typedef thr_status (*thr_try_fn)(void *arg, size_t piece, uint32_t worker, thr_error *err);
thr_status thr_parallel_try(thr_context *context, size_t n_pieces, thr_try_fn fn, void *arg, thr_error *err);

#endif
