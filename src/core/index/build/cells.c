/* SPDX-License-Identifier: Apache-2.0 */
#include "index/build/cells.h"

#include "base/error.h"
#include "base/minmax.h"
#include "index/build/choose_cells.h"
#include "index/build/segment_copy.h"
#include "index/features.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/*
 * Every segment gets its share of the cells. The old files, which no manifest names, are deleted when one is published.
 * Segments keep their sizes and first rows. order, unless NULL, receives the old row of each new row.
 */
static thr_status write_all(thr_segment_copy *copy, uint32_t n_cells, uint64_t *order, thr_error *err) {
    const thr_index *index = copy->index;
    const uint32_t number = index->manifest.segments[index->n_segments - 1].number + 1;
    for (uint32_t s = 0; s < index->n_segments; s++) {
        const thr_segment *segment = &index->segments[s];
        const double share = (double)segment->n_items / (double)index->manifest.n_items;
        copy->n_rows = segment->n_items;
        copy->n_cells = (uint32_t)lrint(n_cells * share);
        for (uint32_t i = 0; i < segment->n_items; i++)
            copy->rows[i] = segment->first_row + i;
        THR_TRY(thr_index_segment_copy_write(copy, number + s, err));
        if (order != NULL)
            memcpy(order + segment->first_row, copy->rows, segment->n_items * sizeof *order);
    }
    return THR_OK;
}

static uint64_t largest_segment(const thr_index *index) {
    uint64_t most = 0;
    for (uint32_t s = 0; s < index->n_segments; s++)
        most = THR_MAX(index->segments[s].n_items, most);
    return most;
}

thr_status thr_index_check_n_cells(uint32_t n_cells, uint64_t n_items, thr_error *err) {
    return n_cells <= n_items
               ? THR_OK
               : thr_fail(err, THR_EINVAL, "cells %" PRIu32 " exceeds the number of items, %" PRIu64, n_cells, n_items);
}

/* Write the segments cell by cell. *written becomes *manifest with the new segments, which it owns. */
static thr_status write_cells(thr_context *context, const thr_build_dir *dir, uint32_t n_cells,
                              const thr_manifest *manifest, thr_manifest *written, uint64_t *order, thr_error *err) {
    thr_segment_stream stream = {.context = context, .title = "cells", .dir = dir, .manifest = written};
    thr_segment_copy copy = {.stream = &stream, .n_cells = n_cells, .stores_ids = true};
    thr_index *index = NULL;
    THR_TRY(thr_index_check_n_cells(n_cells, manifest->n_items, err));
    if (manifest->n_segments + manifest->segments[manifest->n_segments - 1].number >= THR_MAX_SEGMENTS)
        return thr_fail(err, THR_EINVAL, "cells in %" PRIu32 " segments: raise segment_rows", manifest->n_segments);
    THR_TRY(thr_index_open_unpublished(context, dir->path, manifest, &index, err));
    *written = *manifest;
    written->segments = NULL;
    written->n_segments = 0;
    written->n_items = written->n_rows = 0;
    written->has_ids = written->has_origins = true;
    copy.index = index;
    stream.segment_items = largest_segment(index);
    thr_status status = thr_index_segment_copy_open(&copy, stream.segment_items, manifest->n_items, err);
    if (status == THR_OK)
        status = write_all(&copy, n_cells, order, err);
    written->errors = stream.gather.errors;
    thr_index_segment_copy_close(&copy);
    thr_index_free(index);
    if (status != THR_OK) {
        thr_release(context, written->segments);
        written->segments = NULL;
    }
    return status;
}

static void take(thr_context *context, const thr_manifest *written, thr_manifest *manifest) {
    thr_release(context, manifest->segments);
    *manifest = *written;
}

/* By searches of the files written. */
static thr_status measure(thr_context *context, const thr_build_dir *dir, thr_manifest *written,
                          thr_cells_choice *choice, thr_error *err) {
    thr_index *index = NULL;
    THR_TRY(thr_index_open_unpublished(context, dir->path, written, &index, err));
    const thr_status status = thr_index_measure_new_cells(index, choice, err);
    written->cells_short = choice->short_by;
    thr_index_free(index);
    return status;
}

thr_status thr_index_build_cells(thr_context *context, const thr_build_dir *dir, uint32_t n_cells,
                                 thr_manifest *manifest, thr_cells_choice *measured, thr_error *err) {
    thr_manifest written = {.segments = NULL};
    uint64_t *order = NULL;
    thr_status status = THR_OK;
    if (manifest->hits.there)
        THR_TRY(thr_alloc(context, (size_t)manifest->n_rows, sizeof *order, &order, "rows", err));
    THR_TRY_OUT(write_cells(context, dir, n_cells, manifest, &written, order, err));
    if (order != NULL)
        THR_TRY_OUT(thr_index_hits_reorder(dir, order, manifest->n_rows, &written.hits, err));
    THR_TRY_OUT(measure(context, dir, &written, measured, err));
    take(context, &written, manifest);
    written.segments = NULL;
out:
    THR_RELEASE(context, order, written.segments);
    return status;
}

thr_status thr_index_build_best_cells(thr_context *context, const thr_build_dir *dir, thr_manifest *manifest,
                                      thr_cells_choice *choice, thr_error *err) {
    thr_manifest written;
    *choice = (thr_cells_choice){.n_cells = thr_index_cells_to_try(manifest)};
    if (choice->n_cells == 0)
        return THR_OK;
    THR_TRY(write_cells(context, dir, choice->n_cells, manifest, &written, NULL, err));
    const thr_status status = measure(context, dir, &written, choice, err);
    choice->kept = thr_index_cells_are_worth(choice);
    if (status == THR_OK && choice->kept)
        take(context, &written, manifest);
    else
        thr_release(context, written.segments);
    return status;
}
