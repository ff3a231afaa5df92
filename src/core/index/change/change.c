/* SPDX-License-Identifier: Apache-2.0 */
/* change.c - one commit: locks, keeps the segments' list and the live rows, publishes. */
#include "index/change/change.h"

#include "base/error.h"
#include "index/journal/snapshot.h"
#include "select/bitmap.h"

#include <assert.h>
#include <string.h>

static thr_status copy_manifest(thr_commit *c, thr_error *err) {
    const thr_manifest *old = &c->index->manifest;
    thr_manifest *m = &c->manifest;
    *m = *old;
    m->segments = NULL;
    THR_TRY(thr_alloc(c->context, old->n_segments, sizeof *m->segments, &m->segments, "segments", err));
    if (old->n_segments > 0)
        memcpy(m->segments, old->segments, old->n_segments * sizeof *m->segments);
    m->n_commits++;
    if (old->n_commits == 0 && old->keep != THR_DTYPE_NONE)
        THR_TRY(thr_index_code_error(c->index, &m->code_error, &m->code_error, err));
    return THR_OK;
}

thr_status thr_index_commit_begin(thr_context *context, const char *dir, const thr_build_dir *held, thr_commit *c,
                                  thr_error *err) {
    *c = (thr_commit){.context = context, .dir.fd = -1, .dir.context = context};
    THR_TRY(thr_check_path(dir, "the directory of the index", err));
    THR_TRY(held != NULL ? thr_index_build_dir_share(held, &c->dir, err)
                         : thr_index_build_dir_change(context, dir, &c->dir, err));
    THR_TRY(thr_index_open(context, dir, &c->index, err));
    THR_TRY(copy_manifest(c, err));
    THR_TRY(thr_index_commit_resize_live(c, c->manifest.n_rows, err));
    if (c->index->live.words != NULL)
        memcpy(c->live, c->index->live.words, thr_bitmap_words(c->manifest.n_rows) * sizeof *c->live);
    else
        thr_index_live_fill(&c->manifest, c->live);
    return THR_OK;
}

thr_status thr_index_commit_keep_journal(thr_commit *c, thr_error *err) {
    const thr_index *root = c->index->root;
    thr_manifest *m = &c->manifest;
    THR_TRY(thr_index_commit_resize_live(c, root->n_segment_rows, err));
    if (root->live.path != NULL) {
        memcpy(c->live, root->live.map.data, root->live.map.size);
    } else {
        memset(c->live, 0, thr_bitmap_words(m->n_rows) * sizeof *c->live);
        thr_index_live_fill(m, c->live);
    }
    m->n_commits = root->n_base_commits + 1;
    c->keeps_journal = true;
    return THR_OK;
}

thr_status thr_index_commit_resize_live(thr_commit *c, uint64_t n_rows, thr_error *err) {
    const size_t n_words = thr_bitmap_words(n_rows), n_old = c->live == NULL ? 0 : thr_bitmap_words(c->manifest.n_rows);
    uint64_t *live = NULL;
    THR_TRY(thr_alloc_zero(c->context, n_words, sizeof *live, &live, "live rows", err));
    if (c->live != NULL)
        memcpy(live, c->live, (n_old < n_words ? n_old : n_words) * sizeof *live);
    thr_release(c->context, c->live);
    c->live = live;
    c->manifest.n_rows = n_rows;
    return THR_OK;
}

thr_status thr_index_commit_append(thr_commit *c, const thr_manifest_segment *segments, uint32_t n, thr_error *err) {
    thr_manifest *m = &c->manifest;
    size_t capacity = m->n_segments;
    uint64_t n_rows = m->n_rows;
    THR_TRY(
        thr_grow(c->context, &m->segments, &capacity, (size_t)m->n_segments + n, sizeof *m->segments, "segments", err));
    for (uint32_t i = 0; i < n; i++) {
        n_rows = thr_padded_rows(n_rows) + segments[i].n_items;
        m->segments[m->n_segments + i] = segments[i];
    }
    uint64_t row = m->n_rows;
    THR_TRY(thr_index_commit_resize_live(c, n_rows, err));
    for (uint32_t i = 0; i < n; i++) {
        row = thr_padded_rows(row);
        for (uint32_t item = 0; item < segments[i].n_items; item++)
            thr_bitmap_set(c->live, row++);
    }
    m->n_segments += n;
    return THR_OK;
}

thr_status thr_index_commit_publish(thr_commit *c, thr_error *err) {
    thr_manifest *m = &c->manifest;
    assert(c->folded || c->keeps_journal || !thr_index_snapshot_has_changes(c->index));
    THR_TRY(thr_index_check_after(c->index, THR_OK, err)); /* bytes copied from its files are right */
    if (c->learned)
        THR_TRY(thr_index_commit_calibrate(c, err));
    m->n_items = thr_select_bitmap_count_words(c->live, thr_bitmap_words(m->n_rows));
    m->has_ids = thr_index_manifest_ids_differ(m);
    m->live = (thr_manifest_live){0};
    if (m->n_items != m->n_rows)
        THR_TRY(thr_index_live_write(&c->dir, c->live, m, err));
    return thr_index_build_dir_publish(&c->dir, m, err);
}

void thr_index_commit_end(thr_commit *c) {
    thr_index_build_dir_close(&c->dir);
    thr_index_free(c->index);
    THR_RELEASE(c->context, c->live, c->manifest.segments, c->kept_centre);
    if (c->learned)
        thr_code_quantiser_free(c->context, &c->manifest.quantiser);
    *c = (thr_commit){.context = c->context, .dir.fd = -1};
}

void thr_index_commit_report(const thr_commit *c, thr_index_change *change) {
    change->n_items = c->manifest.n_items + c->n_carried_items;
    change->n_commits = c->manifest.n_commits + c->n_carried_changes;
}
