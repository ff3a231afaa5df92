/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot.c - reads the journal of an open index, and makes snapshots of the frames. */
#include "index/journal/snapshot.h"

#include "base/error.h"
#include "select/bitmap.h"

#include <string.h>

enum { READ_TRIES = 3 };

typedef struct reading {
    thr_tail *tail;
    const thr_index *index;
} reading;

static thr_status apply(void *arg, const thr_journal_change *change, thr_error *err) {
    const reading *r = arg;
    const thr_status status = thr_index_tail_apply(r->tail, r->index, change, err);
    r->tail->needs_reopen = r->tail->needs_reopen || status != THR_OK;
    return status;
}

/*
 * A frame that is being written looks torn, and if the next one is complete when its place is read, damaged: so damage
 * must be seen again.
 */
static thr_status read_on(thr_tail *tail, const thr_index *index, thr_error *err) {
    reading r = {tail, index};
    thr_status status = THR_ECORRUPT;
    uint64_t before = tail->journal.end;
    for (int i = 0; i < READ_TRIES && status == THR_ECORRUPT && !tail->needs_reopen; i++) {
        status = thr_index_journal_read(&tail->journal, apply, &r, err);
        if (tail->journal.end > before) /* the writer goes on, so the next damage is not the last one's */
            i = 0;
        before = tail->journal.end;
    }
    return tail->needs_reopen && status == THR_OK
               ? thr_fail(err, THR_ECORRUPT, "%s: was read in part", tail->journal.path)
               : status;
}

/* Show the newest state of the tail; live are its rows, or a copy of them. */
static void show(thr_index *index, const uint64_t *live) {
    const thr_tail *t = index->tail;
    thr_manifest *m = &index->manifest;
    index->n_tail = t->n_rows;
    m->n_items = t->n_items;
    m->next_id = t->next_id;
    m->has_ids = t->own_ids;
    m->n_commits = index->root->n_base_commits + t->n_changes;
    m->n_rows = t->n_rows > 0 ? t->first_row + t->n_rows : index->root->n_segment_rows;
    index->live.words = live;
    index->live.copied = true;
    index->rounding_measured = false;
    index->tail_segment = (thr_segment){.n_items = t->n_rows,
                                        .vectors = t->vectors,
                                        .scales = t->scales,
                                        .inverse_norms = t->inverse_norms,
                                        .halves = t->halves,
                                        .kept = t->keeper.errors};
    index->info.n_items = m->n_items;
    index->info.n_zero = t->n_zero;
    index->info.has_ids = m->has_ids;
    index->info.file_bytes = index->root->base_bytes + t->journal.end;
}

/* Show it with a copy of the live rows. */
static thr_status take(thr_index *index, thr_error *err) {
    const thr_tail *t = index->tail;
    const size_t n_words = thr_bitmap_words(t->first_row + t->n_rows);
    uint64_t *live = NULL;
    THR_TRY(thr_alloc(index->context, n_words, sizeof *live, &live, "live rows", err));
    memcpy(live, t->live, n_words * sizeof *live);
    index->own_live = live;
    show(index, live);
    index->segments_whole =
        thr_select_bitmap_count_range(live, 0, index->root->n_segment_rows) == index->root->n_segment_rows;
    return THR_OK;
}

thr_status thr_index_snapshot_open(thr_index *index, const char *dir, thr_error *err) {
    const thr_manifest *m = &index->manifest;
    const thr_journal_kind kind = {m->journal.build, m->quantiser.n_dims, m->has_names};
    char name[THR_INDEX_FILE_NAME_SIZE], *path = NULL;
    thr_status status = THR_OK;
    index->n_segment_rows = m->n_rows;
    index->n_base_commits = m->n_commits;
    if (!m->journal.there)
        return THR_OK;
    thr_index_file_name_print(THR_INDEX_FILE_JOURNAL, m->journal.build, name);
    THR_TRY(thr_path_join(index->context, dir, name, &path, err));
    THR_TRY_OUT(thr_index_tail_create(index->context, m, index->live.words, &index->tail, err));
    THR_TRY_OUT(thr_index_journal_open(index->context, path, &kind, false, &index->tail->journal, err));
    THR_TRY_OUT(read_on(index->tail, index, err));
    index->base_bytes = index->info.file_bytes;
    index->info.file_bytes += index->tail->journal.end;
    if (index->tail->n_changes > 0)
        status = take(index, err);
out:
    thr_release(index->context, path);
    return status;
}

void thr_index_snapshot_close(thr_index *index) {
    thr_index_tail_free(index->tail);
    thr_release(index->context, index->own_live);
    index->tail = NULL;
    index->own_live = NULL;
}

void thr_index_snapshot_show_newest(thr_index *index) {
    show(index, index->tail->live);
}

/* The tail's mutex is held. */
static thr_status make_snapshot(const thr_index *index, thr_index **newer, thr_error *err) {
    thr_index *root = index->root, *made = NULL;
    THR_TRY(thr_alloc(root->context, 1, sizeof *made, &made, "an index", err));
    *made = (thr_index){.context = root->context, /* borrows all that root owns; workspaces are root's alone */
                        .dir = root->dir,
                        .manifest_path = root->manifest_path,
                        .manifest = root->manifest,
                        .manifest_checksum = root->manifest_checksum,
                        .info = root->info,
                        .n_segments = root->n_segments,
                        .mapped = root->mapped,
                        .cells = root->cells,
                        .segments = root->segments,
                        .corpus = root->corpus,
                        .vectors = root->vectors,
                        .live = root->live,
                        .model = root->model,
                        .root = root,
                        .tail = root->tail};
    const thr_status status = take(made, err);
    if (status != THR_OK) {
        thr_release(root->context, made);
        return status;
    }
    (void)atomic_fetch_add(&root->n_users, 1);
    *newer = made;
    return THR_OK;
}

thr_status thr_index_snapshot_refresh(const thr_index *index, thr_index **newer, thr_error *err) {
    thr_tail *tail = index->tail;
    *newer = NULL;
    if (tail == NULL)
        return THR_OK;
    (void)pthread_mutex_lock(&tail->mutex);
    thr_status status = read_on(tail, index->root, err);
    if (status == THR_OK && index->root->n_base_commits + tail->n_changes != index->manifest.n_commits)
        status = make_snapshot(index, newer, err);
    (void)pthread_mutex_unlock(&tail->mutex);
    return status;
}
