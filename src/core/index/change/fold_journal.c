/* SPDX-License-Identifier: Apache-2.0 */
/* fold_journal.c - a commit that only folds the tail. */
#include "base/error.h"
#include "index/change/change.h"
#include "index/journal/snapshot.h"

/* Opening a journal to append to it mends its header. */
static thr_status mend_journal(const thr_index *index, thr_error *err) {
    thr_journal journal;
    if (index->tail == NULL || !index->tail->journal.header_damaged)
        return THR_OK;
    const thr_journal *read = &index->tail->journal;
    const thr_status status = thr_index_journal_open(index->context, read->path, &read->kind, true, &journal, err);
    thr_index_journal_close(&journal);
    return status;
}

static thr_status fold(thr_commit *c, bool journal, bool *done, thr_error *err) {
    const bool learn = thr_index_commit_tail_items(c) >= THR_TAIL_LEAST_ROWS;
    /* A tail too small to learn a quantiser from is carried over only if removed items make room. */
    *done = thr_index_snapshot_has_changes(c->index) &&
            (c->manifest.n_segments > 0 || learn || c->index->n_tail > thr_index_commit_tail_items(c));
    if (!*done)
        return mend_journal(c->index, err);
    THR_TRY(thr_index_commit_fold(c, learn, err));
    if (journal && !c->manifest.journal.there)
        THR_TRY(thr_index_commit_new_journal(c, NULL, NULL, err));
    return thr_index_commit_publish(c, err);
}

thr_status thr_index_fold_journal(thr_context *context, const char *dir, const thr_build_dir *held, bool journal,
                                  thr_error *err) {
    thr_commit commit;
    bool done = false;
    thr_status status = thr_index_commit_begin(context, dir, held, &commit, err);
    if (status == THR_OK)
        status = fold(&commit, journal, &done, err);
    thr_index_commit_end(&commit);
    if (status == THR_OK && done && held == NULL)
        (void)thr_index_merge_all_due(context, dir, NULL);
    return status;
}
