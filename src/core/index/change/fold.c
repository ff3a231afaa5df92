/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fold.c - the live items of the tail become a segment, and the manifest names no journal; or, while they are too few
 * to learn a quantiser from, they are carried over to a new journal. Their vectors are read from the journal again, as
 * they were given: the tail has them rounded to the kept type.
 */
#include "base/error.h"
#include "index/change/change.h"
#include "index/journal/snapshot.h"
#include "select/bitmap.h"

#include <string.h>

/* The live items of a tail. */
typedef struct folding {
    thr_commit *commit;
    float *vectors;
    thr_ids ids; /* `owned` has every id; `ids` is NULL if they are consecutive */
    size_t names_capacity;
    uint64_t names_used;
    uint32_t row; /* of the tail, to be read next */
} folding;

static thr_status take_name(folding *f, const char *name, thr_error *err) {
    const size_t size = strlen(name) + 1;
    THR_TRY(
        thr_grow(f->commit->context, &f->ids.names, &f->names_capacity, (size_t)f->names_used + size, 1, "names", err));
    memcpy(f->ids.names + f->names_used, name, size);
    f->ids.offsets[f->ids.n] = f->names_used;
    f->names_used += size;
    f->ids.offsets[f->ids.n + 1] = f->names_used;
    return THR_OK;
}

/* Take the live items that a change added. The journal may end with changes that the tail does not have; skip those. */
static thr_status take_change(void *arg, const thr_journal_change *change, thr_error *err) {
    folding *f = arg;
    const thr_index *index = f->commit->index;
    const uint32_t n_dims = index->manifest.quantiser.n_dims;
    for (uint32_t i = 0; i < change->n_added && f->row < index->n_tail; i++, f->row++) {
        const uint64_t row = index->tail->first_row + f->row;
        if ((f->commit->live[row / 64] >> row % 64 & 1) == 0)
            continue;
        memcpy(f->vectors + f->ids.n * n_dims, change->vectors + (size_t)i * n_dims, n_dims * sizeof(float));
        f->ids.owned[f->ids.n] = change->ids[i];
        if (f->ids.offsets != NULL)
            THR_TRY(take_name(f, index->tail->names[f->row], err));
        f->ids.n++;
    }
    return THR_OK;
}

static thr_status collect(folding *f, size_t n, thr_error *err) {
    static const char what[] = "the items of the journal";
    const thr_index *index = f->commit->index;
    const thr_manifest *m = &index->manifest;
    thr_context *context = f->commit->context;
    thr_journal journal;
    THR_TRY(thr_alloc(context, n, m->quantiser.n_dims * sizeof(float), &f->vectors, what, err));
    THR_TRY(thr_alloc(context, n, sizeof *f->ids.owned, &f->ids.owned, what, err));
    if (m->has_names)
        THR_TRY(thr_alloc(context, n + 1, sizeof *f->ids.offsets, &f->ids.offsets, what, err));
    thr_status status =
        thr_index_journal_open(context, index->tail->journal.path, &index->tail->journal.kind, false, &journal, err);
    if (status == THR_OK)
        status = thr_index_journal_read(&journal, take_change, f, err);
    thr_index_journal_close(&journal);
    if (status == THR_OK && f->ids.n != n)
        return thr_fail(err, THR_ECORRUPT, "%s: has lost items", index->tail->journal.path);
    bool consecutive = true;
    for (size_t i = 0; i < n; i++)
        consecutive = consecutive && f->ids.owned[i] == f->ids.owned[0] + i;
    f->ids.ids = consecutive ? NULL : f->ids.owned;
    return status;
}

static void end(folding *f) {
    thr_release(f->commit->context, f->vectors);
    thr_index_ids_close(&f->ids);
}

/* Consecutive ids are not stored: the segment begins with the first of them. */
static thr_status append(folding *f, thr_error *err) {
    thr_commit *c = f->commit;
    const thr_matrix rows = thr_matrix_f32(f->vectors, f->ids.n, c->index->manifest.quantiser.n_dims);
    const uint64_t next_id = c->manifest.next_id;
    thr_reader *reader = NULL;
    thr_row_source source = {.context = c->context};
    thr_appended added;
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_reader_from_matrix(c->context, &rows, &reader, err));
    THR_TRY_OUT(thr_index_row_source_open(c->context, reader, &source, err));
    if (c->manifest.n_segments == 0 && !c->learned)
        THR_TRY_OUT(thr_index_commit_learn(c, &source, err));
    if (f->ids.ids == NULL)
        c->manifest.next_id = f->ids.owned[0];
    THR_TRY_OUT(thr_index_commit_append_rows(c, &source, &f->ids, &added, err));
out:
    c->manifest.next_id = next_id;
    thr_index_row_source_close(&source);
    thr_reader_free(reader);
    return status;
}

uint64_t thr_index_commit_tail_items(const thr_commit *commit) {
    const thr_index *index = commit->index;
    return commit->folded || index->n_tail == 0 ? 0
                                                : thr_select_bitmap_count_range(commit->live, index->tail->first_row,
                                                                                index->tail->first_row + index->n_tail);
}

static thr_status carry_over(folding *f, const thr_journal_change *more, thr_error *err) {
    const thr_journal_change change = {.n_added = (uint32_t)f->ids.n,
                                       .ids = f->ids.owned,
                                       .vectors = f->vectors,
                                       .names = f->ids.names,
                                       .names_size = f->names_used};
    return thr_index_commit_new_journal(f->commit, f->ids.n > 0 ? &change : NULL, more, err);
}

static thr_status fold(thr_commit *commit, bool learn, const thr_journal_change *more, thr_error *err) {
    folding f = {.commit = commit, .ids.context = commit->context, .ids.name = "the journal"};
    thr_status status = THR_OK;
    const size_t n = (size_t)thr_index_commit_tail_items(commit);
    commit->manifest.journal = (thr_manifest_journal){0};
    if (n > 0)
        THR_TRY_OUT(collect(&f, n, err));
    THR_TRY_OUT(thr_index_commit_resize_live(commit, commit->index->root->n_segment_rows, err));
    if (more != NULL || (n > 0 && commit->manifest.n_segments == 0 && !commit->learned && !learn))
        THR_TRY_OUT(carry_over(&f, more, err));
    else if (n > 0)
        THR_TRY_OUT(append(&f, err));
    commit->folded = true;
out:
    end(&f);
    return status;
}

thr_status thr_index_commit_fold(thr_commit *commit, bool learn, thr_error *err) {
    return commit->folded || !thr_index_snapshot_has_changes(commit->index) ? THR_OK : fold(commit, learn, NULL, err);
}

thr_status thr_index_commit_carry(thr_commit *commit, const thr_journal_change *more, thr_error *err) {
    return fold(commit, false, more, err);
}
