/* SPDX-License-Identifier: Apache-2.0 */
/* add_up.c - a pass over posting lists: moves a cursor per stream, and adds up a window's sums. */
#include "lists/add_up.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

thr_status thr_lists_pass_reserve(thr_context *context, thr_lists_pass *pass, size_t n, thr_error *err) {
    return thr_grow(context, &pass->cursors, &pass->capacity, n > 0 ? n : 1, sizeof *pass->cursors, "a search", err);
}

thr_status thr_lists_pass_start(thr_context *context, thr_lists_pass *pass, const thr_lists_query *query,
                                thr_error *err) {
    THR_TRY(thr_lists_pass_reserve(context, pass, thr_hit_query_streams(query), err));
    pass->query = query;
    pass->next = 0;
    thr_lists_query_rewind(query, pass->cursors);
    return THR_OK;
}

void thr_lists_pass_free(thr_context *context, thr_lists_pass *pass) {
    thr_release(context, pass->cursors);
    pass->cursors = NULL;
    pass->capacity = 0;
}

const int32_t *thr_lists_pass_window(const thr_kernels *kernels, thr_lists_pass *pass, uint32_t window) {
    if (window < pass->next)
        thr_lists_query_rewind(pass->query, pass->cursors);
    if (window != pass->next)
        thr_lists_query_skip(pass->query, pass->cursors, window);
    memset(pass->sums, 0, sizeof pass->sums);
    thr_lists_query_add(kernels, pass->query, pass->cursors, window, pass->sums);
    pass->next = window + 1;
    return pass->sums;
}
