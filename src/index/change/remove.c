/* SPDX-License-Identifier: Apache-2.0 */
/* remove.c - thr_index_remove. */
#include "base/error.h"
#include "index/change/change.h"

/* Clear the live bits of these ids, and return how many were set. A repeated id counts once. */
static uint64_t clear_rows(thr_commit *commit, const uint64_t *ids, uint64_t n_ids) {
    uint64_t n = 0, row;
    for (uint64_t i = 0; i < n_ids; i++)
        if (thr_index_row(commit->index, ids[i], &row)) {
            const uint64_t bit = UINT64_C(1) << row % 64;
            n += (commit->live[row / 64] & bit) != 0;
            commit->live[row / 64] &= ~bit;
        }
    return n;
}

thr_status thr_index_remove_held(thr_context *context, const char *dir, const thr_build_dir *held, const uint64_t *ids,
                                 uint64_t n_ids, thr_index_change *change, thr_error *err) {
    thr_commit commit;
    *change = (thr_index_change){0};
    thr_status status = thr_index_commit_begin(context, dir, held, &commit, err);
    if (status == THR_OK) {
        change->n_removed = clear_rows(&commit, ids, n_ids);
        if (change->n_removed > 0)
            status = thr_index_commit_fold(&commit, false, err);
        if (change->n_removed > 0 && status == THR_OK)
            status = thr_index_commit_publish(&commit, err);
        if (change->n_removed == 0)
            commit.manifest.n_commits--;
        thr_index_commit_report(&commit, change);
    }
    thr_index_commit_end(&commit);
    if (status == THR_OK && change->n_removed > 0 && held == NULL)
        thr_index_merge_all_due(context, dir, NULL);
    return status;
}

thr_status thr_index_remove(thr_context *context, const char *dir, const uint64_t *ids, uint64_t n_ids,
                            thr_index_change *change, thr_error *err) {
    thr_index_change unused;
    if (context == NULL || (ids == NULL && n_ids > 0))
        return thr_fail(err, THR_EINVAL, "removing items needs a context and ids");
    return thr_index_remove_held(context, dir, NULL, ids, n_ids, change != NULL ? change : &unused, err);
}
