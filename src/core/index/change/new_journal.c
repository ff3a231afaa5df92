/* SPDX-License-Identifier: Apache-2.0 */
/* new_journal.c - begins a new journal: empty, or with items that are too few for a segment. */
#include "base/error.h"
#include "index/change/change.h"
#include "index/journal/journal.h"

static thr_status write_changes(thr_commit *c, const char *path, const thr_journal_kind *kind,
                                const thr_journal_change *first, const thr_journal_change *second, thr_error *err) {
    thr_frame frame = {.context = c->context};
    thr_journal journal;
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_index_journal_open(c->context, path, kind, true, &journal, err));
    thr_index_frame_begin(&frame);
    if (first != NULL)
        THR_TRY_OUT(thr_index_frame_add(&frame, first, kind->n_dims, err));
    if (second != NULL)
        THR_TRY_OUT(thr_index_frame_add(&frame, second, kind->n_dims, err));
    THR_TRY_OUT(thr_index_journal_append(&journal, &frame, err));
out:
    thr_index_journal_close(&journal);
    thr_release(c->context, frame.bytes);
    return status;
}

static void count_carried(thr_commit *commit, const thr_journal_change *change) {
    if (change == NULL)
        return;
    commit->n_carried_items += change->n_added;
    commit->n_carried_changes++;
}

thr_status thr_index_commit_new_journal(thr_commit *commit, const thr_journal_change *first,
                                        const thr_journal_change *second, thr_error *err) {
    char *path = NULL;
    thr_manifest *m = &commit->manifest;
    const thr_journal_kind kind = {commit->dir.build, m->quantiser.n_dims, m->has_names};
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_index_build_dir_file_path(&commit->dir, THR_INDEX_FILE_JOURNAL, &path, err));
    THR_TRY_OUT(thr_index_journal_create(commit->context, path, &kind, err));
    if (first != NULL || second != NULL)
        THR_TRY_OUT(write_changes(commit, path, &kind, first, second, err));
    m->journal = (thr_manifest_journal){true, commit->dir.build};
    count_carried(commit, first);
    count_carried(commit, second);
out:
    thr_release(commit->context, path);
    return status;
}
