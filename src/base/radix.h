/* SPDX-License-Identifier: Apache-2.0 */
/* radix.h - a stable sort of keys with a payload, in memory of the context (the C library's qsort may take its own). */
#ifndef THR_BASE_RADIX_H
#define THR_BASE_RADIX_H

#include "base/memory.h"

typedef struct thr_keyed {
    uint64_t key, row;
} thr_keyed;

/* Sort n pairs by key, a byte at a time from the lowest; bytes that are the same in all keys cost one look. */
thr_status thr_radix_sort(thr_context *context, thr_keyed *pairs, size_t n, thr_error *err);

/* order becomes the numbers 0 to n - 1 by ascending keys; those of equal keys ascend. */
thr_status thr_radix_order(thr_context *context, const uint64_t *keys, uint32_t n, uint32_t *order, thr_error *err);

/*
 * Which of n keys is this one, by their order; false where none is. Keys and order may hold anything: what is found has
 * the key, and nothing outside of both is read.
 */
bool thr_radix_find(const uint64_t *keys, const uint32_t *order, uint32_t n, uint64_t key, uint32_t *number);

#endif
