/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hit_pass.h - one thread on its way through the windows of posting lists: the sums of the window it is in.
 *
 * Threads: a pass is one thread's; the query that it reads may be shared.
 */
#ifndef THR_HITS_HIT_PASS_H
#define THR_HITS_HIT_PASS_H

#include "hits/hit_query.h"

/* Set up by zeroing; used again and again, its memory grows with the largest query. */
typedef struct thr_hit_pass {
    const thr_hit_query *query;
    thr_hit_cursor *cursors;
    size_t capacity;
    uint32_t next; /* the window that cursors stand before */
    int32_t sums[THR_LISTS_WINDOW];
} thr_hit_pass;

/* Begin with a query, which is borrowed. THR_ENOMEM. */
thr_status thr_hit_pass_start(thr_context *context, thr_hit_pass *pass, const thr_hit_query *query, thr_error *err);

/* Memory for any query of n streams. THR_ENOMEM. */
thr_status thr_hit_pass_reserve(thr_context *context, thr_hit_pass *pass, size_t n, thr_error *err);
void thr_hit_pass_free(thr_context *context, thr_hit_pass *pass);

/*
 * The sums, in units, of the THR_LISTS_WINDOW places of a window, until the next call. Windows may be left out; to go
 * back takes a search from the first one on.
 */
const int32_t *thr_hit_pass_window(const thr_kernels *kernels, thr_hit_pass *pass, uint32_t window);

#endif
