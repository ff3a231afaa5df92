/* SPDX-License-Identifier: Apache-2.0 */
#include "index/build/segment_copy.h"

#include "base/error.h"
#include "base/minmax.h"
#include "base/progress.h"
#include "code/encode.h"
#include "index/build/gather_copy.h"
#include "index/build/order_by_cells.h"

#include <string.h>

enum { WRITE_BYTES = 1 << 20 };

thr_status thr_index_segment_copy_open(thr_segment_copy *copy, uint64_t most, uint64_t all, thr_error *err) {
    thr_context *context = copy->index->context;
    copy->ids.context = context;
    copy->ids.name = "ids";
    THR_TRY(thr_alloc(context, (size_t)most, sizeof *copy->rows, &copy->rows, "rows", err));
    THR_TRY(thr_alloc(context, (size_t)most, sizeof *copy->ids.owned, &copy->ids.owned, "ids", err));
    if (copy->index->manifest.has_names)
        THR_TRY(thr_alloc(context, (size_t)most + 1, sizeof *copy->ids.offsets, &copy->ids.offsets, "names", err));
    copy->ids.n = all;
    copy->stream->ids = &copy->ids;
    return thr_index_segment_stream_open(copy->stream, err);
}

void thr_index_segment_copy_close(thr_segment_copy *copy) {
    thr_index_segment_stream_close(copy->stream);
    if (copy->ids.context != NULL)
        thr_index_ids_close(&copy->ids);
    thr_release(copy->index->context, copy->rows);
}

static void take_ids(thr_segment_copy *copy) {
    bool in_order = !copy->stores_ids;
    for (uint64_t i = 0; i < copy->n_rows; i++) {
        copy->ids.owned[i] = thr_index_id_of(copy->index, copy->rows[i]);
        in_order = in_order && copy->ids.owned[i] == copy->ids.owned[0] + i;
    }
    copy->ids.ids = in_order ? NULL : copy->ids.owned;
    copy->ids.n = copy->n_rows;
}

static thr_status take_names(thr_segment_copy *copy, thr_error *err) {
    const thr_index *index = copy->index;
    uint64_t used = 0;
    for (uint64_t i = 0; index->manifest.has_names && i < copy->n_rows; i++) {
        const uint32_t s = thr_index_segment_of(index, copy->rows[i]);
        const thr_segment_view *view = &index->mapped[s].view;
        const char *name = thr_index_segment_item_name(view, (uint32_t)(copy->rows[i] - view->scan.first_row));
        if (name == NULL)
            return thr_section_file_damaged(&view->file, 0, "the offsets of names are wrong", err);
        const size_t size = strlen(name) + 1;
        THR_TRY(
            thr_grow(index->context, &copy->ids.names, &copy->names_capacity, (size_t)used + size, 1, "names", err));
        memcpy(copy->ids.names + used, name, size);
        copy->ids.offsets[i] = used;
        used += size;
    }
    if (copy->ids.offsets != NULL)
        copy->ids.offsets[copy->n_rows] = used;
    return THR_OK;
}

static size_t kept_size(const thr_manifest *m) {
    return thr_manifest_vector_dims(m) * thr_dtype_size(m->keep);
}

/* The kept vector of row i of the copy. *n_next is the number of rows, at least 1, that follow it in both segments. */
static const char *kept_vector(const thr_segment_copy *copy, uint64_t i, uint64_t *n_next) {
    const uint64_t *rows = copy->rows;
    const thr_segment *segment = &copy->index->segments[thr_index_segment_of(copy->index, rows[i])];
    const uint64_t item = rows[i] - segment->first_row;
    uint64_t n = 1;
    while (i + n < copy->n_rows && rows[i + n] == rows[i] + n && item + n < segment->n_items)
        n++;
    *n_next = n;
    return (const char *)segment->vectors + item * kept_size(&copy->index->manifest);
}

/* Bounds of the kept vectors: the largest of the segments that the rows come from. */
static void join_kept_errors(thr_segment_copy *copy) {
    thr_kept_errors *errors = &copy->stream->keeper.errors;
    const thr_index *index = copy->index;
    *errors = (thr_kept_errors){0};
    for (uint64_t i = 0; i < copy->n_rows; i++)
        thr_kept_errors_join(errors, &index->segments[thr_index_segment_of(index, copy->rows[i])].kept);
}

/* Write the kept vectors. Runs of few rows are gathered in memory, so that each write is large. */
static thr_status write_vectors(thr_segment_copy *copy, thr_error *err) {
    thr_section_writer *writer = &copy->stream->writer;
    const size_t size = copy->index->manifest.keep == THR_DTYPE_NONE ? 0 : kept_size(&copy->index->manifest);
    const size_t most = THR_MAX(WRITE_BYTES, size);
    size_t used = 0;
    char *gathered = NULL;
    thr_status status = THR_OK;
    if (size == 0)
        return THR_OK;
    THR_TRY(thr_alloc(copy->index->context, most, 1, &gathered, "rows", err));
    for (uint64_t i = 0, n; i < copy->n_rows; i += n) {
        const char *vectors = kept_vector(copy, i, &n);
        if (n * size > most - used) {
            THR_TRY_OUT(thr_sections_write(writer, gathered, used, err));
            used = 0;
        }
        if (n * size > most) {
            THR_TRY_OUT(thr_sections_write(writer, vectors, (size_t)n * size, err));
            continue;
        }
        memcpy(gathered + used, vectors, (size_t)n * size);
        used += (size_t)n * size;
    }
    status = thr_sections_write(writer, gathered, used, err);
out:
    thr_release(copy->index->context, gathered);
    return status;
}

static thr_status copy_codes(thr_segment_copy *copy, thr_error *err) {
    for (uint64_t i = 0; i < copy->n_rows; i++) {
        const thr_segment *segment = &copy->index->segments[thr_index_segment_of(copy->index, copy->rows[i])];
        THR_TRY(
            thr_index_gather_copy(&copy->stream->gather, segment, (uint32_t)(copy->rows[i] - segment->first_row), err));
    }
    thr_index_gather_copy_end(&copy->stream->gather);
    return THR_OK;
}

/* Encode n rows from the i-th on; vectors has room for them. Numbers of the kept vectors are copied. */
static thr_status recode_some(thr_segment_copy *copy, thr_slab *slab, uint64_t i, uint64_t n, float *vectors,
                              thr_error *err) {
    const thr_index *index = copy->index;
    const uint32_t n_dims = index->manifest.quantiser.n_dims;
    thr_gather *gather = &copy->stream->gather;
    for (uint64_t j = 0; j < n; j++) {
        const uint64_t row = copy->rows[i + j], at = slab->n_items + j;
        const thr_segment *from = &index->segments[thr_index_segment_of(index, row)];
        thr_index_row_vector(index, row, vectors + j * n_dims);
        if (slab->scales != NULL)
            slab->scales[at] = from->scales[row - from->first_row];
        if (slab->inverse_norms != NULL)
            slab->inverse_norms[at] = from->inverse_norms[row - from->first_row];
        if (slab->halves != NULL)
            slab->halves[at] = from->halves[row - from->first_row];
    }
    const thr_matrix rows = thr_matrix_f32(vectors, n, n_dims);
    thr_code_origins origins = copy->origins.of;
    if (origins.of_row != NULL)
        origins.of_row += i;
    const thr_code_input of = {&rows, i, copy->stream->manifest->has_origins ? &origins : NULL};
    THR_TRY(thr_code_encode_rows(index->context, &copy->stream->manifest->quantiser, &of,
                                 thr_index_gather_codes(gather, slab), &gather->measures, err));
    thr_index_gather_add(gather, slab, n);
    return THR_OK;
}

static thr_status recode(thr_segment_copy *copy, thr_error *err) {
    thr_gather *gather = &copy->stream->gather;
    thr_progress progress = thr_progress_start(gather->context, "recode", copy->n_rows);
    float *vectors = NULL;
    thr_status status = THR_OK;
    THR_TRY(thr_alloc(gather->context, (size_t)gather->chunk_items, gather->shape.n_dims * sizeof *vectors, &vectors,
                      "rows", err));
    for (uint64_t i = 0, n; i < copy->n_rows; i += n) {
        thr_slab *slab;
        THR_TRY_OUT(thr_index_gather_room(gather, &slab, &n, err));
        n = THR_MIN(n, copy->n_rows - i);
        THR_TRY_OUT(recode_some(copy, slab, i, n, vectors, err));
        THR_TRY_OUT(thr_progress_step(&progress, i + n, err));
    }
    status = thr_progress_end(&progress, copy->n_rows, err);
out:
    thr_release(gather->context, vectors);
    return status;
}

static thr_status write_rows(thr_segment_copy *copy, uint32_t number, thr_error *err) {
    thr_segment_stream *stream = copy->stream;
    take_ids(copy);
    THR_TRY(take_names(copy, err));
    stream->gather.shape.has_ids = copy->ids.ids != NULL;
    THR_TRY(thr_index_segment_begin(stream, number, err));
    THR_TRY(write_vectors(copy, err));
    join_kept_errors(copy);
    THR_TRY(copy->recode || copy->stream->manifest->has_origins ? recode(copy, err) : copy_codes(copy, err));
    THR_TRY(thr_index_segment_end(stream, number, (uint32_t)copy->n_rows, err));
    if (copy->ids.ids == NULL)
        stream->manifest->segments[stream->manifest->n_segments - 1].first_id =
            thr_index_id_of(copy->index, copy->rows[0]);
    return THR_OK;
}

thr_status thr_index_segment_copy_write(thr_segment_copy *copy, uint32_t number, thr_error *err) {
    thr_cell_order order = {.context = NULL};
    thr_status status = THR_OK;
    if (copy->n_cells > 1)
        THR_TRY_OUT(
            thr_index_order_by_cells(copy->index, copy->rows, (uint32_t)copy->n_rows, copy->n_cells, &order, err));
    copy->stream->cells = copy->n_cells > 1 ? &order.table : NULL;
    if (copy->stream->manifest->has_origins)
        THR_TRY_OUT(thr_index_code_origins_make(copy->index->context, &copy->stream->manifest->quantiser,
                                                copy->stream->cells, copy->n_rows, &copy->origins, err));
    status = write_rows(copy, number, err);
out:
    thr_index_code_origins_free(&copy->origins);
    copy->stream->cells = NULL;
    thr_cells_order_free(&order);
    return status;
}
