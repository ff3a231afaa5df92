/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapsort.h - sort and search arrays of pointers: heapsort, which unlike qsort never allocates, and binary
 * search.
 */
#pragma once

#include <stddef.h>

typedef int (*thr_compare_fn)(const void *a, const void *b);

/* Sort ascending. Not stable. */
static inline void thr_order(const void **items, size_t n, thr_compare_fn compare) {
    size_t start = n / 2, end = n;
    while (end > 1) {
        const void *sifted = NULL;
        if (start > 0) {
            sifted = items[--start]; /* extends the heap to items[start, n) */
        } else {
            sifted = items[--end]; /* moves the largest item after the heap */
            items[end] = items[0];
        }
        size_t at = start;
        for (size_t child; (child = 2 * at + 1) < end; at = child) {
            child += child + 1 < end && compare(items[child], items[child + 1]) < 0;
            if (compare(sifted, items[child]) >= 0)
                break;
            items[at] = items[child];
        }
        items[at] = sifted;
    }
}

/* Return the item that compares equal to wanted, or NULL. */
static inline const void *thr_order_find(const void *const *items, size_t n, const void *wanted,
                                         thr_compare_fn compare) {
    size_t from = 0, to = n;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        const int order = compare(wanted, items[middle]);
        if (order == 0)
            return items[middle];
        if (order < 0)
            to = middle;
        else
            from = middle + 1;
    }
    return NULL;
}
