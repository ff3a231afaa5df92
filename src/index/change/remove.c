/* SPDX-License-Identifier: Apache-2.0 */
/* remove.c - thr_index_remove and thr_index_compact. */
#include "base/error.h"
#include "index/build/segment_stream.h"
#include "index/change/change.h"
#include "index/journal/snapshot.h"

#include <string.h>

/* Clear the rows of the ids. An id that occurs twice is removed once. */
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
    if (status == THR_OK && change->n_removed > 0)
        thr_index_maintain(context, dir, held);
    return status;
}

thr_status thr_index_remove(thr_context *context, const char *dir, const uint64_t *ids, uint64_t n_ids,
                            thr_index_change *change, thr_error *err) {
    thr_index_change unused;
    if (context == NULL || (ids == NULL && n_ids > 0))
        return thr_fail(err, THR_EINVAL, "removing items needs a context and ids");
    return thr_index_remove_held(context, dir, NULL, ids, n_ids, change != NULL ? change : &unused, err);
}

/* Whether the segments could be fewer, or smaller. */
static bool can_gain(const thr_commit *commit) {
    const thr_manifest *m = &commit->manifest;
    const uint64_t most = thr_index_segment_items(m->quantiser.n_dims, m->quantiser.item_bits, 0);
    return m->n_items > 0 && (m->live.there || m->n_segments > (m->n_items + most - 1) / most);
}

thr_status thr_index_compact_held(thr_context *context, const char *dir, const thr_build_dir *held,
                                  thr_index_change *change, thr_error *err) {
    thr_commit commit;
    *change = (thr_index_change){0};
    THR_TRY(thr_index_flush(context, dir, held, false, err));
    thr_status status = thr_index_commit_begin(context, dir, held, &commit, err);
    if (status == THR_OK && commit.index->hits != NULL)
        status = thr_fail(err, THR_EUNSUPPORTED, "%s: has features, so it cannot be compacted: build it again", dir);
    if (status == THR_OK && !thr_index_journal_has_changes(commit.index) && can_gain(&commit)) {
        status = thr_index_commit_rewrite(&commit, 0, commit.manifest.n_segments, err);
        if (status == THR_OK)
            status = thr_index_commit_publish(&commit, err);
    } else if (status == THR_OK) {
        commit.manifest.n_commits--;
    }
    if (status == THR_OK)
        thr_index_commit_report(&commit, change);
    thr_index_commit_end(&commit);
    return status;
}

thr_status thr_index_compact(thr_context *context, const char *dir, thr_index_change *change, thr_error *err) {
    thr_index_change unused;
    if (context == NULL)
        return thr_fail(err, THR_EINVAL, "compacting an index needs a context");
    return thr_index_compact_held(context, dir, NULL, change != NULL ? change : &unused, err);
}
