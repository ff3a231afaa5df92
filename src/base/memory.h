/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.h - the context's memory: 64-byte aligned, sizes checked, through the caller's allocator.
 */
#ifndef THR_BASE_MEMORY_H
#define THR_BASE_MEMORY_H

#include <thresher/context.h>

struct thr_kernels;
struct thr_pool;
struct thr_gpus;
struct thr_context_users;
struct thr_plans;

/* How GPUs find the best of a stream: THR_SELECT (docs/kernels.md). */
typedef enum thr_selection {
    THR_SELECTION_THRESHOLD, /* a threshold by a sample */
    THR_SELECTION_BUCKETS,   /* the best of every bucket, then those that the certificate leaves in doubt: exact */
    THR_SELECTION_PAPER,     /* the best of every bucket, as published: some are missed */
    THR_N_SELECTIONS
} thr_selection;

/* What everything is made from. The tables it points to belong to the rooms kernel, parallel and context. */
struct thr_context {
    thr_allocator allocator;
    const struct thr_kernels *kernels;
    struct thr_pool *pool;
    uint32_t n_threads;
    thr_isa isa;
    int forced_way; /* a thr_way, or -1: the fastest */
    thr_selection selection;
    uint32_t bucket_items; /* in every bucket; 0: as a search needs them */
    thr_progress_fn progress;
    void *progress_user;
    struct thr_gpus *gpus;           /* NULL: the CPU alone */
    struct thr_context_users *users; /* of the context and of its copies */
    struct thr_plans *plans;
};

/* a * b, or false when that is more than SIZE_MAX. */
static inline bool thr_mul_size(size_t a, size_t b, size_t *product) {
    return !__builtin_mul_overflow(a, b, product);
}

/* Uninitialised memory for count values of size bytes, 64-byte aligned; at least one byte. what names it in err. */
thr_status thr_alloc(thr_context *context, size_t count, size_t size, void *memory_out, const char *what,
                     thr_error *err);

/* The same, zeroed. */
thr_status thr_alloc_zero(thr_context *context, size_t count, size_t size, void *memory_out, const char *what,
                          thr_error *err);

/* Grow *memory to at least wanted values of size bytes, keeping all *capacity values that it has room for. */
thr_status thr_grow(thr_context *context, void *memory_inout, size_t *capacity, size_t wanted, size_t size,
                    const char *what, thr_error *err);

/* Free; NULL is allowed. */
void thr_release(thr_context *context, void *memory);

#endif
