/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite.c - writes a run of segments again, with their live items only. Codes and vectors are copied, unless the
 * commit has learned a quantiser.
 */
#include "base/error.h"
#include "index/build/segment_copy.h"
#include "index/change/commit_features.h"
#include "select/bitmap.h"

#include <math.h>
#include <string.h>

typedef struct rewriter {
    thr_commit *commit;
    const thr_index *index;
    uint64_t row, end;    /* the rows of the run that are still to be written */
    double n_cells;       /* an item of the run */
    thr_manifest written; /* has the new segments */
    thr_segment_stream stream;
    thr_segment_copy copy;
} rewriter;

/* ------------------------------------------------------------------------------------------------ the run */

/* New segments have as many cells an item as those of the run have that have any. */
static void count_cells(rewriter *w, uint32_t first, uint32_t end) {
    double n_cells = 0, n_items = 0;
    for (uint32_t i = first; i < end; i++) {
        const thr_cell_table *cells = &w->index->mapped[i].view.cells;
        n_cells += cells->n;
        n_items += cells->n > 0 ? cells->n_items : 0;
    }
    w->n_cells = n_items > 0 ? n_cells / n_items : 0;
}

static thr_status start(rewriter *w, thr_error *err) {
    const thr_manifest *m = &w->index->manifest;
    const uint64_t live = thr_select_bitmap_count_range(w->commit->live, w->row, w->end);
    w->stream.segment_items = thr_index_segment_items(m->quantiser.n_dims, m->quantiser.item_bits, 0);
    return thr_index_segment_copy_open(&w->copy, live < w->stream.segment_items ? live : w->stream.segment_items, live,
                                       err);
}

/* The new segments have the numbers of the first old ones; they are at most as many. */
static thr_status write_run(rewriter *w, uint32_t first, thr_error *err) {
    THR_TRY(start(w, err));
    for (uint32_t i = first;; i++) {
        w->copy.n_rows = thr_select_bitmap_next_rows(w->commit->live, &w->row, w->end, w->copy.rows,
                                                     (size_t)w->stream.segment_items);
        if (w->copy.n_rows == 0)
            return THR_OK;
        w->copy.n_cells = (uint32_t)lrint(w->n_cells * (double)w->copy.n_rows);
        THR_TRY(thr_index_segment_copy_write(&w->copy, w->index->manifest.segments[i].number, err));
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
    if (status == THR_OK)
        status = thr_index_commit_write_features(w->commit, live, NULL, err);
    thr_release(w->commit->context, live);
    return status;
}

thr_status thr_index_commit_rewrite(thr_commit *commit, uint32_t first, uint32_t end, thr_error *err) {
    thr_context *context = commit->context;
    const thr_index *index = commit->index;
    rewriter w = {.commit = commit, .index = index};
    w.row = index->segments[first].first_row;
    w.end = index->segments[end - 1].first_row + index->segments[end - 1].n_items;
    w.written = commit->manifest;
    w.written.segments = NULL;
    w.written.n_segments = 0;
    w.written.n_items = w.written.n_rows = 0;
    w.stream =
        (thr_segment_stream){.context = context, .title = "compact", .dir = &commit->dir, .manifest = &w.written};
    w.copy = (thr_segment_copy){.index = index, .stream = &w.stream, .recode = commit->learned};
    count_cells(&w, first, end);
    thr_status status = write_run(&w, first, err);
    if (status == THR_OK)
        status = replace(&w, first, end, err);
    if (commit->learned)
        commit->manifest.errors = w.stream.gather.errors;
    thr_index_segment_copy_close(&w.copy);
    thr_release(context, w.written.segments);
    return status;
}
