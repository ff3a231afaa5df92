/* SPDX-License-Identifier: Apache-2.0 */
/*
 * add_up.h - one thread on its way through the windows of posting lists: the sums of the window it is in.
 *
 * Threads: a pass is one thread's; the query that it reads may be shared.
 */
#ifndef THR_LISTS_ADD_UP_H
#define THR_LISTS_ADD_UP_H

#include "lists/query_terms.h"

/* Set up by zeroing; used again and again, its memory grows with the largest query. */
typedef struct thr_lists_pass {
    const thr_lists_query *query;
    thr_hit_cursor *cursors;
    size_t capacity;
    uint32_t next; /* the window that cursors stand before */
    int32_t sums[THR_LISTS_WINDOW];
} thr_lists_pass;

/* Begin with a query, which is borrowed. THR_ENOMEM. */
thr_status thr_lists_pass_start(thr_context *context, thr_lists_pass *pass, const thr_lists_query *query,
                                thr_error *err);

/* Memory for any query of n streams. THR_ENOMEM. */
thr_status thr_lists_pass_reserve(thr_context *context, thr_lists_pass *pass, size_t n, thr_error *err);
void thr_lists_pass_free(thr_context *context, thr_lists_pass *pass);

/*
 * The sums, in units, of the THR_LISTS_WINDOW places of a window, until the next call. Windows may be left out; to go
 * back takes a search from the first one on.
 */
const int32_t *thr_lists_pass_window(const thr_kernels *kernels, thr_lists_pass *pass, uint32_t window);

#endif
