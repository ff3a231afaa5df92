/* SPDX-License-Identifier: Apache-2.0 */
/* merge_all_due.c - after a change, rewrites segments where the policy requires it. */
#include "index/change/merge.h"

static thr_status merge_once(thr_context *context, const char *dir, const thr_build_dir *held, bool *done) {
    thr_merge merge;
    thr_status status = thr_index_merge_begin(context, dir, held, &merge, NULL);
    *done = !merge.active;
    if (merge.active)
        status = thr_index_merge_write(&merge, NULL);
    if (merge.active && status == THR_OK)
        status = thr_index_merge_install(&merge, NULL);
    thr_index_merge_end(&merge);
    return status;
}

thr_status thr_index_merge_all_due(thr_context *context, const char *dir, const thr_build_dir *held) {
    thr_status status = THR_OK;
    for (bool done = false; !done && status == THR_OK;)
        status = merge_once(context, dir, held, &done);
    return status;
}
