/* SPDX-License-Identifier: Apache-2.0 */
/* radix.h - a stable sort of keys with payloads, in the context's memory (qsort may allocate its own). */
#pragma once

#include "base/memory.h"

typedef struct thr_keyed {
    uint64_t key, value; /* value: any number that stays with the key */
} thr_keyed;

/* Sort n pairs by key with a byte-wise LSD radix sort. A byte that is equal in all keys is skipped. */
thr_status thr_radix_sort(thr_context *context, thr_keyed *pairs, size_t n, thr_error *err);

/* The first of n sorted pairs whose key is at least `key`; n if there is none. */
size_t thr_radix_first(const thr_keyed *pairs, size_t n, uint64_t key);

/* Set order to the numbers 0 to n - 1, sorted by key; equal keys keep ascending numbers. */
thr_status thr_radix_order(thr_context *context, const uint64_t *keys, uint32_t n, uint32_t *order, thr_error *err);

/*
 * Find a key among n by binary search in their order; false if it is absent. Safe for corrupt arrays: a number that
 * is returned has the key, and nothing outside of both arrays is read.
 */
bool thr_radix_find(const uint64_t *keys, const uint32_t *order, uint32_t n, uint64_t key, uint32_t *number);
