/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite.c - rewrites a run of segments with their live items only. Vectors are copied. So are codes, unless
 * they are relative to centroids, or the commit has learned a quantiser.
 */
#include "base/error.h"
#include "base/minmax.h"
#include "index/build/segment_copy.h"
#include "index/change/commit_features.h"
#include "select/bitmap.h"

#include <math.h>
#include <string.h>

typedef struct rewriter {
    thr_commit *commit;
    const thr_index *index;
    uint64_t row, end; /* the rows of the run that are still to be written */
    double cells_per_item;
    thr_rewritten *made;
    thr_segment_stream stream;
    thr_segment_copy copy;
} rewriter;

/* ------------------------------------------------------------------------------------------------ the run */

/* New segments get the average number of cells per item of those old segments that have cells. */
static void count_cells(rewriter *w, uint32_t first, uint32_t end) {
    double n_cells = 0, n_items = 0;
    for (uint32_t i = first; i < end; i++) {
        const thr_cell_table *cells = &w->index->mapped[i].view.cells;
        n_cells += cells->n;
        n_items += cells->n > 0 ? cells->n_items : 0;
    }
    w->cells_per_item = n_items > 0 ? n_cells / n_items : 0;
}

static thr_status start(rewriter *w, thr_error *err) {
    const thr_manifest *m = &w->index->manifest;
    const uint64_t live = thr_select_bitmap_count_range(w->commit->live, w->row, w->end);
    THR_TRY(thr_alloc(w->commit->context, (size_t)live, sizeof *w->made->rows, &w->made->rows, "rows", err));
    w->stream.segment_items = thr_index_segment_items(m->quantiser.n_dims, m->quantiser.item_bits, 0);
    return thr_index_segment_copy_open(&w->copy, THR_MIN(live, w->stream.segment_items), live, err);
}

/* New segments take over the numbers of the old ones, in order. There are at most as many. */
static thr_status write_run(rewriter *w, uint32_t first, thr_error *err) {
    THR_TRY(start(w, err));
    for (uint32_t i = first;; i++) {
        w->copy.n_rows = thr_select_bitmap_next_rows(w->commit->live, &w->row, w->end, w->copy.rows,
                                                     (size_t)w->stream.segment_items);
        if (w->copy.n_rows == 0)
            return THR_OK;
        w->copy.n_cells = (uint32_t)lrint(w->cells_per_item * (double)w->copy.n_rows);
        THR_TRY(thr_index_segment_copy_write(&w->copy, w->index->manifest.segments[i].number, err));
        memcpy(w->made->rows + w->made->n_rows, w->copy.rows, (size_t)w->copy.n_rows * sizeof *w->copy.rows);
        w->made->n_rows += w->copy.n_rows;
    }
}

thr_status thr_index_commit_write_run(thr_commit *commit, uint32_t first, uint32_t end, thr_rewritten *made,
                                      thr_error *err) {
    const thr_index *index = commit->index;
    rewriter w = {.commit = commit, .index = index, .made = made};
    w.row = index->segments[first].first_row;
    w.end = index->segments[end - 1].first_row + index->segments[end - 1].n_items;
    *made = (thr_rewritten){.written = commit->manifest};
    made->written.segments = NULL;
    made->written.n_segments = 0;
    made->written.n_items = made->written.n_rows = 0;
    w.stream = (thr_segment_stream){
        .context = commit->context, .title = "compact", .dir = &commit->dir, .manifest = &made->written};
    w.copy = (thr_segment_copy){.index = index, .stream = &w.stream, .recode = commit->learned};
    count_cells(&w, first, end);
    const thr_status status = write_run(&w, first, err);
    if (commit->learned)
        commit->manifest.errors = w.stream.gather.errors;
    made->written.errors = w.stream.gather.errors;
    thr_index_segment_copy_close(&w.copy);
    return status;
}

void thr_index_rewritten_free(thr_context *context, thr_rewritten *made) {
    THR_RELEASE(context, made->written.segments, made->rows);
    *made = (thr_rewritten){.n_rows = 0};
}

/* ------------------------------------------------------------------------------------------------ the list */

/* Append the new segments. Items that were removed since they were written are removed from them. */
static thr_status append(thr_commit *c, const thr_rewritten *made, const uint64_t *live, thr_error *err) {
    uint64_t row = c->manifest.n_rows, n = 0;
    THR_TRY(thr_index_commit_append(c, made->written.segments, made->written.n_segments, err));
    for (uint32_t s = 0; s < made->written.n_segments; s++) {
        row = thr_padded_rows(row);
        for (uint32_t i = 0; i < made->written.segments[s].n_items; i++, row++, n++)
            if ((live[made->rows[n] / 64] >> made->rows[n] % 64 & 1) == 0)
                c->live[row / 64] &= ~(UINT64_C(1) << row % 64);
    }
    return THR_OK;
}

static thr_status replace(thr_commit *c, uint32_t first, uint32_t end, const thr_rewritten *made, const uint64_t *live,
                          thr_error *err) {
    const thr_index *index = c->index;
    const uint64_t n_rows = index->root->n_segment_rows;
    const thr_hits_run run = {.begin = index->segments[first].first_row,
                              .end = index->segments[end - 1].first_row + index->segments[end - 1].n_items,
                              .rows = made->rows,
                              .n_rows = made->n_rows};
    if (c->manifest.has_origins) /* codes relative to new centroids are new codes */
        thr_index_code_errors_join(&c->manifest.errors, &made->written.errors);
    c->manifest.n_segments = first;
    c->manifest.n_rows = first > 0 ? index->segments[first - 1].first_row + index->segments[first - 1].n_items : 0;
    THR_TRY(thr_index_commit_resize_live(c, c->manifest.n_rows, err));
    memcpy(c->live, live, thr_bitmap_words(c->manifest.n_rows) * sizeof *live);
    THR_TRY(append(c, made, live, err));
    if (end < index->n_segments) {
        const uint64_t place = thr_padded_rows(c->manifest.n_rows), old = index->segments[end].first_row;
        THR_TRY(thr_index_commit_append(c, index->manifest.segments + end, index->n_segments - end, err));
        memcpy(c->live + place / 64, live + old / 64, thr_bitmap_words(n_rows - old) * sizeof *live);
    }
    return thr_index_commit_write_features(c, live, run.begin, &run, NULL, err);
}

thr_status thr_index_commit_replace(thr_commit *commit, uint32_t first, uint32_t end, const thr_rewritten *made,
                                    thr_error *err) {
    uint64_t *live = commit->live;
    commit->live = NULL;
    const thr_status status = replace(commit, first, end, made, live, err);
    thr_release(commit->context, live);
    return status;
}

thr_status thr_index_commit_rewrite(thr_commit *commit, uint32_t first, uint32_t end, thr_error *err) {
    thr_rewritten made;
    thr_status status = thr_index_commit_write_run(commit, first, end, &made, err);
    if (status == THR_OK)
        status = thr_index_commit_replace(commit, first, end, &made, err);
    thr_index_rewritten_free(commit->context, &made);
    return status;
}
