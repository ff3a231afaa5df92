/* SPDX-License-Identifier: Apache-2.0 */
#include "parallel/pool.h"

#include "base/error.h"

#include <pthread.h>
#include <stdatomic.h>

struct thr_pool {
    pthread_mutex_t busy; /* held by the caller whose loop runs */
    pthread_mutex_t lock; /* guards the fields below, except next */
    pthread_cond_t start, done;
    uint64_t round; /* number of loops started: a worker joins each once */
    uint32_t n_workers, n_running;
    bool stopping;
    thr_piece_fn fn;
    void *arg;
    size_t n_pieces;
    atomic_size_t next; /* the next unclaimed piece */
    pthread_t threads[];
};

static void run_pieces(thr_pool *pool, uint32_t worker) {
    for (;;) {
        size_t piece = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
        if (piece >= pool->n_pieces)
            return;
        pool->fn(pool->arg, piece, worker);
    }
}

static void *worker_main(void *arg) {
    thr_pool *pool = arg;
    (void)pthread_mutex_lock(&pool->lock);
    const uint32_t worker = ++pool->n_workers; /* the caller is worker 0 */
    (void)pthread_cond_signal(&pool->done);
    for (uint64_t seen = 0;;) {
        while (pool->round == seen && !pool->stopping)
            (void)pthread_cond_wait(&pool->start, &pool->lock);
        if (pool->stopping)
            break;
        seen = pool->round;
        (void)pthread_mutex_unlock(&pool->lock);
        run_pieces(pool, worker);
        (void)pthread_mutex_lock(&pool->lock);
        if (--pool->n_running == 0)
            (void)pthread_cond_signal(&pool->done);
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return NULL;
}

thr_status thr_parallel_pool_create(thr_context *context, uint32_t n_threads, thr_pool **pool_out, thr_error *err) {
    const uint32_t n_workers = n_threads - 1;
    thr_pool *pool = NULL;
    *pool_out = NULL;
    THR_TRY(thr_alloc_zero(context, 1, sizeof *pool + n_workers * sizeof(pthread_t), &pool, "threads", err));
    (void)pthread_mutex_init(&pool->busy, NULL);
    (void)pthread_mutex_init(&pool->lock, NULL);
    (void)pthread_cond_init(&pool->start, NULL);
    (void)pthread_cond_init(&pool->done, NULL);
    uint32_t started = 0;
    while (started < n_workers && pthread_create(&pool->threads[started], NULL, worker_main, pool) == 0)
        started++;
    (void)pthread_mutex_lock(&pool->lock);
    while (pool->n_workers < started)
        (void)pthread_cond_wait(&pool->done, &pool->lock);
    (void)pthread_mutex_unlock(&pool->lock);
    *pool_out = pool;
    return THR_OK;
}

uint32_t thr_parallel_pool_threads(const thr_pool *pool) {
    return pool->n_workers + 1;
}

void thr_parallel_pool_free(thr_context *context, thr_pool *pool) {
    if (pool == NULL)
        return;
    (void)pthread_mutex_lock(&pool->lock);
    pool->stopping = true;
    const uint32_t n_workers = pool->n_workers;
    (void)pthread_cond_broadcast(&pool->start);
    (void)pthread_mutex_unlock(&pool->lock);
    for (uint32_t i = 0; i < n_workers; i++)
        (void)pthread_join(pool->threads[i], NULL);
    (void)pthread_cond_destroy(&pool->start);
    (void)pthread_cond_destroy(&pool->done);
    (void)pthread_mutex_destroy(&pool->lock);
    (void)pthread_mutex_destroy(&pool->busy);
    thr_release(context, pool);
}

void thr_parallel_for(thr_context *context, size_t n_pieces, thr_piece_fn fn, void *arg) {
    thr_pool *pool = context->pool;
    if (n_pieces <= 1 || pool == NULL || pool->n_workers == 0 || pthread_mutex_trylock(&pool->busy) != 0) {
        for (size_t piece = 0; piece < n_pieces; piece++)
            fn(arg, piece, 0);
        return;
    }
    (void)pthread_mutex_lock(&pool->lock);
    pool->fn = fn;
    pool->arg = arg;
    pool->n_pieces = n_pieces;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    pool->n_running = pool->n_workers;
    pool->round++;
    (void)pthread_cond_broadcast(&pool->start);
    (void)pthread_mutex_unlock(&pool->lock);
    run_pieces(pool, 0);
    (void)pthread_mutex_lock(&pool->lock);
    while (pool->n_running > 0)
        (void)pthread_cond_wait(&pool->done, &pool->lock);
    (void)pthread_mutex_unlock(&pool->lock);
    (void)pthread_mutex_unlock(&pool->busy);
}

typedef struct attempt {
    thr_try_fn fn;
    void *arg;
    atomic_size_t failed; /* the first failed piece; SIZE_MAX: none */
    pthread_mutex_t lock; /* guards the rest, and changes of failed */
    thr_status status;
    thr_error *err;
} attempt;

/* Pieces are handed out in order, so every piece before a failed one is run. */
static void try_piece(void *arg, size_t piece, uint32_t worker) {
    attempt *a = arg;
    thr_error err = {.status = THR_OK};
    if (piece > atomic_load_explicit(&a->failed, memory_order_relaxed))
        return;
    const thr_status status = a->fn(a->arg, piece, worker, &err);
    if (status == THR_OK)
        return;
    (void)pthread_mutex_lock(&a->lock);
    if (piece < atomic_load_explicit(&a->failed, memory_order_relaxed)) {
        atomic_store_explicit(&a->failed, piece, memory_order_relaxed);
        a->status = status;
        if (a->err != NULL)
            *a->err = err;
    }
    (void)pthread_mutex_unlock(&a->lock);
}

thr_status thr_parallel_try(thr_context *context, size_t n_pieces, thr_try_fn fn, void *arg, thr_error *err) {
    attempt a = {.fn = fn, .arg = arg, .failed = SIZE_MAX, .lock = PTHREAD_MUTEX_INITIALIZER, .err = err};
    thr_parallel_for(context, n_pieces, try_piece, &a);
    (void)pthread_mutex_destroy(&a.lock);
    return a.status;
}
