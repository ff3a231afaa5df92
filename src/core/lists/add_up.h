/* SPDX-License-Identifier: Apache-2.0 */
/*
 * add_up.h - a pass over posting lists, window by window: computes the sums of one window at a time.
 *
 * Threads: a pass belongs to one thread; threads may share the query that it reads.
 */
#pragma once

#include "lists/query_terms.h"

/* A term's position: the next stretch, and its next element. */
typedef struct thr_lists_cursor {
    uint32_t stretch, element;
} thr_lists_cursor;

/* Initialise with zeros. May be used for any number of queries; its memory grows with the largest. */
typedef struct thr_lists_pass {
    const thr_lists_query *query;
    thr_lists_cursor *cursors;
    size_t capacity;
    uint32_t next; /* the window at which the cursors are */
    int32_t sums[THR_LISTS_WINDOW];
} thr_lists_pass;

/* Start a query, which is borrowed. THR_ENOMEM. */
thr_status thr_lists_pass_start(thr_context *context, thr_lists_pass *pass, const thr_lists_query *query,
                                thr_error *err);

/* Allocate memory for any query of n terms. THR_ENOMEM. */
thr_status thr_lists_pass_reserve(thr_context *context, thr_lists_pass *pass, size_t n, thr_error *err);
void thr_lists_pass_free(thr_context *context, thr_lists_pass *pass);

/*
 * Add the sums, in units, of the THR_LISTS_WINDOW places of a window to sums. Windows may be skipped. Ascending windows
 * are fastest: an earlier window makes the terms start again from their first stretch.
 */
void thr_lists_pass_add(const thr_kernels *kernels, thr_lists_pass *pass, uint32_t window, int32_t *sums);

/* The same, from zero. The sums are valid until the next call. */
const int32_t *thr_lists_pass_window(const thr_kernels *kernels, thr_lists_pass *pass, uint32_t window);
