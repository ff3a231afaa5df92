/* SPDX-License-Identifier: Apache-2.0 */
/* journal_writes.c - does the waiting writes: small ones share a frame of the journal, others are a commit each. */
#include "base/error.h"
#include "base/minmax.h"
#include "base/radix.h"
#include "index/change/commit_add.h"
#include "index/change/change.h"
#include "index/names.h"
#include "index/change/writer.h"
#include "index/journal/snapshot.h"

#include <inttypes.h>
#include <unistd.h>

enum {
    LARGE_WRITE_DIVISOR = 4, /* more than a quarter of a journal's items become a segment at once */
    MOST_REMOVED = 1 << 16,  /* ids of one removal; each is looked for among the journal's rows */
};

void thr_index_writer_close_index(thr_index_writer *w) {
    if (w->lock.owner == getpid()) /* a forked child leaves the file alone */
        thr_index_journal_give_back_room(&w->journal);
    thr_index_journal_close(&w->journal);
    thr_index_free(w->index);
    w->index = NULL;
}

/* ------------------------------------------------------------------------------------------------ the journal */

static thr_status begin_journal(thr_index_writer *w, thr_error *err) {
    thr_commit commit;
    thr_status status = thr_index_commit_begin(w->context, w->dir, &w->lock, &commit, err);
    if (status == THR_OK)
        status = thr_index_commit_new_journal(&commit, NULL, NULL, err);
    if (status == THR_OK)
        status = thr_index_commit_publish(&commit, err);
    thr_index_commit_end(&commit);
    return status;
}

static thr_status open_journal(thr_index_writer *w, thr_error *err) {
    const thr_journal *read = &w->index->tail->journal;
    THR_TRY(thr_index_journal_open(w->context, read->path, &read->kind, true, &w->journal, err));
    w->journal.last = read->last;
    w->journal.end = read->end;
    w->journal.checksum = read->checksum;
    w->journal.keeps_room = true;
    return thr_index_journal_trim(&w->journal, err);
}

/* Expect the changes that this writer has acknowledged: another program may have put older files in their place. */
static thr_status check_kept(thr_index_writer *w, const thr_index *index, thr_error *err) {
    const uint64_t n = thr_index_n_commits(index);
    if (n < w->n_commits)
        return thr_fail(err, THR_ECHANGED,
                        "%s: it shows %" PRIu64 " commits, and this writer left %" PRIu64
                        ": another program has replaced its files, and nothing was written: restore the index, and "
                        "open it again",
                        w->dir, n, w->n_commits);
    w->n_commits = n;
    return THR_OK;
}

/* Open the index and its journal, unless they are open. Begin a journal if there is none. */
static thr_status open_index(thr_index_writer *w, thr_error *err) {
    if (w->index != NULL)
        return THR_OK;
    THR_TRY(thr_index_build_dir_check(&w->lock, err));
    thr_status status = thr_index_open(w->context, w->dir, &w->index, err);
    if (status == THR_OK)
        status = check_kept(w, w->index, err);
    if (status == THR_OK && !w->index->manifest.journal.there) {
        thr_index_writer_close_index(w);
        status = begin_journal(w, err);
        if (status == THR_OK)
            status = thr_index_open(w->context, w->dir, &w->index, err);
    }
    if (status == THR_OK)
        status = open_journal(w, err);
    if (status == THR_OK)
        thr_index_snapshot_show_newest(w->index);
    else
        thr_index_writer_close_index(w);
    return status;
}

/*
 * Check that readers of the index find the changes that were appended to the journal: another program may have deleted
 * the directory, or replaced its files. If the MANIFEST was touched, or replaced by a copy, *reopen becomes true: the
 * next write opens the index again.
 */
static thr_status check_place(thr_index_writer *w, bool *reopen, thr_error *err) {
    bool same;
    THR_TRY(thr_index_journal_check_there(&w->journal, err));
    *reopen = !thr_map_is_at(&w->index->root->manifest_map, w->index->root->manifest_path);
    if (!*reopen)
        return THR_OK;
    THR_TRY(thr_index_build_dir_check(&w->lock, err));
    THR_TRY(thr_index_is_newest_manifest(w->index->root, &same, err));
    return same ? THR_OK
                : thr_fail(err, THR_ECHANGED,
                           "%s: another program has replaced the MANIFEST of an open writer, and nothing was written: "
                           "open the index again",
                           w->dir);
}

/* Flush the frame. All writes of the list that are in it have its status. */
static void commit_frame(thr_index_writer *w, thr_write *first) {
    thr_error why = {.status = THR_OK};
    bool reopen = false;
    if (w->index == NULL || w->frame.n_changes == 0) /* the index is open as long as a frame has changes */
        return;
    thr_status status = thr_index_journal_check_there(&w->journal, &why);
    if (status == THR_OK)
        status = thr_index_journal_append(&w->journal, &w->frame, &why);
    if (status == THR_OK) {
        status = check_place(w, &reopen, &why);
        if (status != THR_OK)
            thr_index_journal_take_back(&w->journal);
    }
    if (status == THR_OK)
        w->n_commits = w->index->manifest.n_commits;
    for (thr_write *write = first; write != NULL; write = write->next) {
        if (write->in_frame && status != THR_OK)
            write->status = thr_pass_on(status, &why, &write->error);
        write->in_frame = false;
    }
    thr_index_frame_begin(&w->frame);
    if (status != THR_OK || reopen)
        thr_index_writer_close_index(w); /* it may show changes that the journal does not have */
}

/* ------------------------------------------------------------------------------------------------ into the frame */

typedef struct resolving {
    thr_index_writer *writer;
    const thr_write *write;
    uint32_t n_removed;
    uint64_t n_missing;
} resolving;

/* Row `row` of the index has the id or name of item `item` of the write: note it for removal, or fail. */
static thr_status note_replaced(void *arg, uint64_t item, uint64_t row, thr_error *err) {
    resolving *r = arg;
    if (!r->write->replace)
        return thr_index_ids_fail_present(&r->write->ids, item, r->writer->dir, err);
    r->writer->removed[r->n_removed++] = thr_index_id_of(r->writer->index, row);
    return THR_OK;
}

static thr_status resolve_added(resolving *r, thr_error *err) {
    thr_index_writer *w = r->writer;
    const thr_write *write = r->write;
    const uint64_t next = w->index->tail->next_id;
    const thr_name_list names = {.offsets = write->ids.offsets, .bytes = write->ids.names, .n = (size_t)write->n};
    uint64_t row;
    THR_TRY(thr_grow(w->context, &w->ids, &w->ids_capacity, (size_t)write->n, sizeof *w->ids, "ids", err));
    THR_TRY(thr_grow(w->context, &w->removed, &w->removed_capacity, (size_t)write->n, sizeof *w->removed, "ids", err));
    if (write->ids.offsets != NULL)
        THR_TRY(thr_index_find_names(w->index, &names, note_replaced, r, err));
    if (write->ids.ids == NULL && write->n > THR_NO_ID - next)
        return thr_fail(err, THR_ERANGE, "%s: no ids are left: give ids", w->dir);
    for (uint64_t i = 0; i < write->n; i++) {
        w->ids[i] = write->ids.ids != NULL ? write->ids.ids[i] : next + i;
        if (write->ids.ids != NULL && thr_index_row(w->index, w->ids[i], &row))
            THR_TRY(note_replaced(r, i, row, err));
    }
    return THR_OK;
}

/* Sort ids and drop repeated ones. */
static thr_status sort_distinct(thr_context *context, uint64_t *ids, uint32_t *n, thr_error *err) {
    thr_keyed *pairs = NULL;
    uint32_t n_distinct = 0;
    if (*n < 2)
        return THR_OK;
    THR_TRY(thr_alloc(context, *n, sizeof *pairs, &pairs, "ids", err));
    for (uint32_t i = 0; i < *n; i++)
        pairs[i] = (thr_keyed){ids[i], i};
    const thr_status status = thr_radix_sort(context, pairs, *n, err);
    for (uint32_t i = 0; i < *n && status == THR_OK; i++)
        if (i == 0 || pairs[i].key != pairs[i - 1].key)
            ids[n_distinct++] = pairs[i].key;
    *n = n_distinct;
    thr_release(context, pairs);
    return status;
}

static thr_status note_removed(void *arg, uint64_t item, uint64_t row, thr_error *err) {
    resolving *r = arg;
    (void)item;
    (void)err;
    r->writer->removed[r->n_removed++] = thr_index_id_of(r->writer->index, row);
    return THR_OK;
}

/* The names to remove; none if ids are. */
static thr_name_list removed_names(const thr_write *write) {
    return (thr_name_list){.offsets = write->ids.offsets,
                           .bytes = write->ids.names,
                           .n = write->removed == NULL ? (size_t)write->ids.n : 0};
}

static thr_status resolve_removed(resolving *r, thr_error *err) {
    thr_index_writer *w = r->writer;
    const thr_write *write = r->write;
    const thr_name_list names = removed_names(write);
    uint64_t row;
    THR_TRY(thr_grow(w->context, &w->removed, &w->removed_capacity, (size_t)write->n_removed, sizeof *w->removed, "ids",
                     err));
    if (names.n > 0)
        THR_TRY(thr_index_find_names(w->index, &names, note_removed, r, err));
    for (uint64_t i = 0; write->removed != NULL && i < write->n_removed; i++)
        if (thr_index_row(w->index, write->removed[i], &row))
            w->removed[r->n_removed++] = write->removed[i];
    r->n_missing = write->n_removed - r->n_removed;
    return sort_distinct(w->context, w->removed, &r->n_removed, err);
}

/* Put a write into the frame, and apply it, so that the next ones see it. */
static thr_status put_into_frame(thr_index_writer *w, thr_write *write, thr_error *err) {
    resolving r = {w, write, 0, 0};
    const size_t size = w->frame.size;
    const uint64_t n_zero = w->index->tail->n_zero;
    if (write->kind == THR_WRITE_ADD)
        THR_TRY(thr_index_tail_check_vectors(w->context, &w->index->manifest, write->vectors, (uint32_t)write->n,
                                             "vectors", err));
    THR_TRY(write->kind == THR_WRITE_ADD ? resolve_added(&r, err) : resolve_removed(&r, err));
    const bool names = write->kind == THR_WRITE_ADD && write->ids.offsets != NULL;
    const thr_journal_change change = {.n_removed = r.n_removed,
                                       .n_added = (uint32_t)write->n,
                                       .removed = w->removed,
                                       .ids = w->ids,
                                       .vectors = write->vectors,
                                       .names = names ? write->ids.names : NULL,
                                       .names_size = names ? write->ids.offsets[write->n] : 0};
    if (change.n_removed + change.n_added > 0) {
        THR_TRY(thr_index_frame_add(&w->frame, &change, w->n_dims, err));
        const thr_status status = thr_index_tail_apply(w->index->tail, w->index, &change, err);
        if (status != THR_OK) {
            w->frame.size = size;
            w->frame.n_changes--;
            return status;
        }
        thr_index_snapshot_show_newest(w->index);
        write->in_frame = true;
    }
    write->change = (thr_index_change){.n_added = write->n,
                                       .n_removed = r.n_removed,
                                       .n_missing = r.n_missing,
                                       .first_id = write->n > 0 && write->ids.ids == NULL ? w->ids[0] : THR_NO_ID,
                                       .n_items = w->index->manifest.n_items,
                                       .n_commits = w->index->manifest.n_commits,
                                       .n_zero = w->index->tail->n_zero - n_zero};
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ a commit each */

static thr_status add_segment(thr_index_writer *w, thr_write *write, thr_error *err) {
    const thr_matrix rows = thr_matrix_f32(write->vectors, write->n, w->n_dims);
    thr_reader *reader = NULL;
    thr_row_source source = {.context = w->context};
    const thr_addition addition = {
        .source = &source, .ids = &write->ids, .features = write->features, .replace = write->replace};
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_reader_from_matrix(w->context, &rows, &reader, err));
    THR_TRY_OUT(thr_index_row_source_open(w->context, reader, &source, err));
    THR_TRY_OUT(thr_index_commit_add(w->context, w->dir, &w->lock, &addition, &write->change, err));
out:
    thr_index_row_source_close(&source);
    thr_reader_free(reader);
    return status;
}

/* A commit of its own for a removal, of items by id or name. */
static thr_status remove_alone(thr_index_writer *w, thr_write *write, thr_error *err) {
    const thr_index_removal removal = {.ids = write->removed, .n_ids = write->removed == NULL ? 0 : write->n_removed};
    const thr_name_list names = removed_names(write);
    return thr_index_remove_held(w->context, w->dir, &w->lock, &removal, &names, &write->change, err);
}

static thr_status commit_alone(thr_index_writer *w, thr_write *write, thr_error *err) {
    switch (write->kind) {
    case THR_WRITE_ADD:
        return add_segment(w, write, err);
    case THR_WRITE_REMOVE:
        return remove_alone(w, write, err);
    case THR_WRITE_FOLD:
        return thr_index_fold_journal(w->context, w->dir, &w->lock, w->has_journal, err);
    default:
        return thr_index_compact_held(w->context, w->dir, &w->lock,
                                      write->kind == THR_WRITE_RECODE ? THR_COMPACT_RECODE : THR_COMPACT,
                                      &write->change, err);
    }
}

static thr_status write_directly(thr_index_writer *w, thr_write *write, thr_error *err) {
    thr_index *now = NULL;
    thr_index_writer_close_index(w);
    THR_TRY(thr_index_build_dir_check(&w->lock, err));
    THR_TRY(thr_index_open(w->context, w->dir, &now, err));
    const thr_status kept = check_kept(w, now, err);
    thr_index_free(now);
    THR_TRY(kept);
    THR_TRY(commit_alone(w, write, err));
    w->n_commits = THR_MAX(write->change.n_commits, w->n_commits);
    write->change.unmerged = thr_index_writer_committed(w);
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ all writes */

/* Whether a write goes into the journal if there is room. */
static bool is_for_journal(const thr_index_writer *w, const thr_write *write) {
    if (!w->has_journal || write->features != NULL)
        return false;
    return (write->kind == THR_WRITE_ADD && write->n <= w->most_rows / LARGE_WRITE_DIVISOR) ||
           (write->kind == THR_WRITE_REMOVE && write->n_removed <= MOST_REMOVED);
}

/* Whether a write fits into the journal. */
static bool fits(const thr_index_writer *w, const thr_write *write) {
    const bool has_names = write->kind == THR_WRITE_ADD && write->ids.offsets != NULL;
    const thr_journal_change most = {.n_removed = (uint32_t)(write->n_removed + write->n), /* all may be replaced */
                                     .n_added = (uint32_t)write->n,
                                     .names_size = has_names ? write->ids.offsets[write->n] : 0};
    const uint64_t bytes = w->journal.end + w->frame.size + thr_index_frame_change_size(&most, w->n_dims);
    return w->index->tail->n_rows + write->n <= w->most_rows && bytes <= THR_JOURNAL_MOST_BYTES;
}

/* Commit the frame, fold the journal into a segment, and open the index with its new journal. */
static thr_status empty_journal(thr_index_writer *w, thr_write *first, thr_error *err) {
    commit_frame(w, first);
    thr_index_writer_close_index(w);
    THR_TRY(thr_index_fold_journal(w->context, w->dir, &w->lock, true, err));
    (void)thr_index_writer_committed(w);
    return open_index(w, err);
}

static thr_status write_to_journal(thr_index_writer *w, thr_write *first, thr_write *write, thr_error *err) {
    THR_TRY(open_index(w, err));
    if (!fits(w, write))
        THR_TRY(empty_journal(w, first, err));
    return fits(w, write) ? put_into_frame(w, write, err) : write_directly(w, write, err);
}

static thr_status write_one(thr_index_writer *w, thr_write *first, thr_write *write) {
    if (is_for_journal(w, write))
        return write_to_journal(w, first, write, &write->error);
    commit_frame(w, first);
    switch (write->kind) {
    case THR_WRITE_MERGE_BEGIN:
        thr_index_writer_begin_merge(w);
        return THR_OK;
    case THR_WRITE_MERGE_END:
        thr_index_writer_close_index(w);
        thr_index_writer_end_merge(w);
        return THR_OK;
    default:
        return write_directly(w, write, &write->error);
    }
}

void thr_index_writer_work(thr_index_writer *writer, thr_write *first) {
    for (thr_write *write = first; write != NULL; write = write->next)
        write->status = write_one(writer, first, write);
    commit_frame(writer, first);
}
