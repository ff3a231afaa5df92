/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite.c - writes a run of segments again, with their live items only. Codes and vectors are copied, not made
 * again, so every score stays the same.
 */
#include "base/error.h"
#include "index/build/gather_copy.h"
#include "index/build/segment_stream.h"
#include "index/change/change.h"
#include "select/bitmap.h"

#include <string.h>

typedef struct rewriter {
    thr_commit *commit;
    const thr_index *index;
    uint64_t row, end; /* the rows of the run that are still to be written */
    uint64_t *rows;    /* of one new segment, ascending */
    uint64_t n_rows;
    thr_ids ids; /* of these */
    size_t names_capacity;
    thr_manifest written; /* has the new segments */
    thr_segment_stream stream;
} rewriter;

/* ------------------------------------------------------------------------------------------------ one segment */

static void take_ids(rewriter *w) {
    bool in_order = true;
    for (uint64_t i = 0; i < w->n_rows; i++) {
        w->ids.owned[i] = thr_index_id_of(w->index, w->rows[i]);
        in_order = in_order && w->ids.owned[i] == w->ids.owned[0] + i;
    }
    w->ids.ids = in_order ? NULL : w->ids.owned;
    w->ids.n = w->n_rows;
}

static thr_status take_names(rewriter *w, thr_error *err) {
    uint64_t used = 0;
    for (uint64_t i = 0; w->index->manifest.has_names && i < w->n_rows; i++) {
        const uint32_t s = thr_index_segment_of(w->index, w->rows[i]);
        const thr_segment_view *view = &w->index->mapped[s].view;
        const char *name = thr_index_segment_item_name(view, (uint32_t)(w->rows[i] - view->scan.first_row));
        if (name == NULL)
            return thr_section_file_damaged(&view->file, 0, "the offsets of names are wrong", err);
        const size_t size = strlen(name) + 1;
        THR_TRY(thr_grow(w->commit->context, &w->ids.names, &w->names_capacity, (size_t)used + size, 1, "names", err));
        memcpy(w->ids.names + used, name, size);
        w->ids.offsets[i] = used;
        used += size;
    }
    if (w->ids.offsets != NULL)
        w->ids.offsets[w->n_rows] = used;
    return THR_OK;
}

/* Write the kept vectors, as many at once as follow each other. */
static thr_status write_vectors(rewriter *w, thr_error *err) {
    const thr_manifest *m = &w->index->manifest;
    const size_t size = m->quantiser.n_dims * thr_dtype_size(m->keep);
    for (uint64_t i = 0, n; m->keep != THR_DTYPE_NONE && i < w->n_rows; i += n) {
        const thr_segment *segment = &w->index->segments[thr_index_segment_of(w->index, w->rows[i])];
        const uint64_t item = w->rows[i] - segment->first_row;
        for (n = 1; i + n < w->n_rows && w->rows[i + n] == w->rows[i] + n && item + n < segment->n_items; n++)
            ;
        THR_TRY(
            thr_sections_write(&w->stream.writer, (const char *)segment->vectors + item * size, (size_t)n * size, err));
    }
    return THR_OK;
}

static thr_status write_segment(rewriter *w, uint32_t number, thr_error *err) {
    take_ids(w);
    THR_TRY(take_names(w, err));
    w->stream.gather.shape.has_ids = w->ids.ids != NULL;
    THR_TRY(thr_index_segment_begin(&w->stream, number, err));
    THR_TRY(write_vectors(w, err));
    for (uint64_t i = 0; i < w->n_rows; i++) {
        const thr_segment *segment = &w->index->segments[thr_index_segment_of(w->index, w->rows[i])];
        THR_TRY(thr_index_gather_copy(&w->stream.gather, segment, (uint32_t)(w->rows[i] - segment->first_row), err));
    }
    thr_index_gather_copy_end(&w->stream.gather);
    THR_TRY(thr_index_segment_end(&w->stream, number, (uint32_t)w->n_rows, err));
    if (w->ids.ids == NULL)
        w->written.segments[w->written.n_segments - 1].first_id = w->ids.owned[0];
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ the run */

static thr_status start(rewriter *w, thr_error *err) {
    thr_context *context = w->commit->context;
    const thr_manifest *m = &w->index->manifest;
    const uint64_t live = thr_select_bitmap_count_range(w->commit->live, w->row, w->end);
    w->stream.segment_items = thr_index_segment_items(m->quantiser.n_dims, m->quantiser.item_bits, 0);
    const size_t most = (size_t)(live < w->stream.segment_items ? live : w->stream.segment_items);
    THR_TRY(thr_alloc(context, most, sizeof *w->rows, &w->rows, "rows", err));
    THR_TRY(thr_alloc(context, most, sizeof *w->ids.owned, &w->ids.owned, "ids", err));
    if (m->has_names)
        THR_TRY(thr_alloc(context, most + 1, sizeof *w->ids.offsets, &w->ids.offsets, "names", err));
    w->ids.n = live;
    return thr_index_segment_stream_open(&w->stream, err);
}

/* The new segments have the numbers of the first old ones; they are at most as many. */
static thr_status write_run(rewriter *w, uint32_t first, thr_error *err) {
    THR_TRY(start(w, err));
    for (uint32_t i = first;; i++) {
        w->n_rows =
            thr_select_bitmap_next_rows(w->commit->live, &w->row, w->end, w->rows, (size_t)w->stream.segment_items);
        if (w->n_rows == 0)
            return THR_OK;
        THR_TRY(write_segment(w, w->index->manifest.segments[i].number, err));
    }
}

/* Put the new segments in the place of [first, end), and the live rows likewise. */
static thr_status replace(rewriter *w, uint32_t first, uint32_t end, thr_error *err) {
    const thr_index *index = w->index;
    const uint64_t old_end = end < index->n_segments ? index->segments[end].first_row : index->manifest.n_rows;
    uint64_t *live = w->commit->live;
    thr_status status;
    w->commit->live = NULL;
    w->commit->manifest.n_segments = first;
    w->commit->manifest.n_rows =
        first > 0 ? index->segments[first - 1].first_row + index->segments[first - 1].n_items : 0;
    status = thr_index_commit_resize_live(w->commit, w->commit->manifest.n_rows, err);
    if (status == THR_OK) {
        const size_t n_words = thr_bitmap_words(w->commit->manifest.n_rows);
        memcpy(w->commit->live, live, n_words * sizeof *live);
        status = thr_index_commit_append(w->commit, w->written.segments, w->written.n_segments, err);
    }
    if (status == THR_OK && end < index->n_segments) {
        const uint64_t place = thr_padded_rows(w->commit->manifest.n_rows);
        const uint64_t n_tail = index->manifest.n_rows - old_end;
        status = thr_index_commit_append(w->commit, index->manifest.segments + end, index->n_segments - end, err);
        if (status == THR_OK)
            memcpy(w->commit->live + place / 64, live + old_end / 64, thr_bitmap_words(n_tail) * sizeof *live);
    }
    thr_release(w->commit->context, live);
    return status;
}

thr_status thr_index_commit_rewrite(thr_commit *commit, uint32_t first, uint32_t end, thr_error *err) {
    thr_context *context = commit->context;
    const thr_index *index = commit->index;
    rewriter w = {.commit = commit, .index = index, .ids.context = context, .ids.name = "ids"};
    w.row = index->segments[first].first_row;
    w.end = index->segments[end - 1].first_row + index->segments[end - 1].n_items;
    w.written = index->manifest;
    w.written.segments = NULL;
    w.written.n_segments = 0;
    w.written.n_items = w.written.n_rows = 0;
    w.stream = (thr_segment_stream){
        .context = context, .title = "compact", .dir = &commit->dir, .ids = &w.ids, .manifest = &w.written};
    thr_status status = write_run(&w, first, err);
    if (status == THR_OK)
        status = replace(&w, first, end, err);
    thr_index_segment_stream_close(&w.stream);
    thr_index_ids_close(&w.ids);
    thr_release(context, w.rows);
    thr_release(context, w.written.segments);
    return status;
}
