/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.h - allocation through the context's allocator: 64-byte aligned, with checked sizes.
 */
#pragma once

#include <thresher/context.h>

struct thr_kernels;
struct thr_pool;
struct thr_gpus;
struct thr_context_users;
struct thr_way_rates;

/*
 * The context, from which every object is made. The rooms kernel, parallel and context define the tables it points
 * to.
 */
struct thr_context {
    thr_allocator allocator;
    const struct thr_kernels *kernels;
    struct thr_pool *pool;
    uint32_t n_threads;
    thr_isa isa;
    int forced_way; /* a thr_way, or -1 for the fastest */
    thr_progress_fn progress;
    void *progress_user;
    struct thr_gpus *gpus;           /* NULL: CPU only */
    struct thr_context_users *users; /* reference count of the context and its copies */
    struct thr_way_rates *way_rates;
};

/* Take another reference, which thr_context_free releases. Returns the context. */
thr_context *thr_context_retain(thr_context *context);

/* Compute a * b. Returns false on overflow. */
static inline bool thr_mul_size(size_t a, size_t b, size_t *product) {
    return !__builtin_mul_overflow(a, b, product);
}

/*
 * Allocate uninitialised memory for count values of size bytes, 64-byte aligned, at least one byte. `what` names it
 * in err.
 */
thr_status thr_alloc(thr_context *context, size_t count, size_t size, void *memory_out, const char *what,
                     thr_error *err);

/* Like thr_alloc, zeroed. */
thr_status thr_alloc_zero(thr_context *context, size_t count, size_t size, void *memory_out, const char *what,
                          thr_error *err);

/* Grow *memory to at least wanted values of size bytes. The first *capacity values are kept. */
thr_status thr_grow(thr_context *context, void *memory_inout, size_t *capacity, size_t wanted, size_t size,
                    const char *what, thr_error *err);

/* Free memory; NULL is allowed. */
void thr_release(thr_context *context, void *memory);

/* Free each of several; NULLs are allowed. THR_RELEASE(context, a, b, c) counts them. */
void thr_release_each(thr_context *context, void *const *memories, size_t n);

#define THR_RELEASE(context, ...)                                                                                      \
    thr_release_each(context, (void *const[]){__VA_ARGS__}, sizeof((void *const[]){__VA_ARGS__}) / sizeof(void *))
