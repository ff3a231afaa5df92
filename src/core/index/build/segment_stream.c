/* SPDX-License-Identifier: Apache-2.0 */
/* segment_stream.c - encodes a stream of rows, chunk by chunk, and writes a segment file whenever one is full. */
#include "index/build/segment_stream.h"

#include "base/error.h"
#include "base/minmax.h"
#include "code/encode.h"

#include <inttypes.h>

enum { CHUNK_BYTES = 4 << 20, SEGMENT_CODE_BYTES = 1 << 30 };

static uint64_t round_to_blocks(uint64_t rows) {
    return rows / THR_BLOCK_ITEMS * THR_BLOCK_ITEMS;
}

static uint64_t at_least_a_block(uint64_t rows) {
    return rows < THR_BLOCK_ITEMS ? THR_BLOCK_ITEMS : round_to_blocks(rows);
}

uint64_t thr_index_segment_items(uint32_t n_dims, uint32_t bits, uint64_t most_rows) {
    uint64_t items = SEGMENT_CODE_BYTES / thr_block_size(n_dims, bits) * THR_BLOCK_ITEMS;
    if (items > THR_MAX_SEGMENT_ITEMS)
        items = THR_MAX_SEGMENT_ITEMS;
    if (most_rows != 0 && most_rows <= items - THR_BLOCK_ITEMS)
        items = round_to_blocks(most_rows + THR_BLOCK_ITEMS - 1);
    return items;
}

thr_status thr_index_segment_stream_open(thr_segment_stream *s, thr_error *err) {
    const thr_manifest *m = s->manifest;
    const uint64_t n_rows = s->source == NULL ? s->ids->n : s->source->shape.n_rows;
    if (n_rows != THR_ROWS_UNKNOWN && n_rows / s->segment_items >= THR_MAX_SEGMENTS)
        return thr_fail(err, THR_EINVAL,
                        "%" PRIu64 " rows in segments of %" PRIu64 " are too many files: raise segment_rows", n_rows,
                        s->segment_items);
    const uint32_t vector_dims = thr_manifest_vector_dims(m);
    uint64_t chunk = at_least_a_block(CHUNK_BYTES / (vector_dims * sizeof(float)));
    if (chunk > n_rows)
        chunk = round_to_blocks(n_rows + THR_BLOCK_ITEMS - 1);
    thr_segment_shape shape = thr_shape_of_manifest(m);
    shape.has_ids = s->ids->n != 0 && s->ids->offsets == NULL;
    shape.has_names = s->ids->offsets != NULL;
    s->embedder = (thr_embedder){.context = s->context, .encoder = s->encoder};
    THR_TRY(thr_index_gather_open(s->context, &shape, chunk, n_rows, &s->gather, err));
    if (s->source != NULL && m->has_origins)
        THR_TRY(thr_index_code_origins_make(s->context, &m->quantiser, NULL, chunk, &s->origins, err));
    const thr_keep_form form = {m->keep, m->metric, vector_dims, m->kept_centre};
    return s->source == NULL ? THR_OK : thr_index_keeper_open(s->context, &form, chunk, &s->keeper, err);
}

void thr_index_segment_stream_close(thr_segment_stream *s) {
    s->gather.context = s->keeper.context = s->embedder.context = s->writer.out.context = s->context;
    thr_sections_drop(&s->writer);
    thr_index_keeper_close(&s->keeper);
    thr_index_embedder_close(&s->embedder);
    thr_index_gather_close(&s->gather);
    thr_index_code_origins_free(&s->origins);
}

/* Encode one chunk of the segment, and write its kept vectors. slab has room for it. */
static thr_status add_rows(thr_segment_stream *s, thr_slab *slab, const thr_matrix *rows, uint64_t first_row,
                           thr_error *err) {
    thr_error why = {0};
    thr_gather *gather = &s->gather;
    uint64_t at = slab->n_items;
    thr_matrix embedded;
    thr_status status = thr_index_embed(&s->embedder, THR_SIDE_ITEM, rows, &embedded, &why);
    if (status == THR_OK)
        status = thr_code_encode_rows(
            s->context, &s->manifest->quantiser,
            &(thr_code_input){&embedded, first_row, s->manifest->has_origins ? &s->origins.of : NULL},
            thr_index_gather_codes(gather, slab), &gather->measures, &why);
    if (status == THR_OK)
        status =
            thr_index_embedder_norms(&s->embedder, rows, first_row, s->manifest->metric, gather->measures.norms, &why);
    if (status != THR_OK)
        return thr_fail(err, status, "%s: %s", s->source->name, why.text);
    for (uint64_t r = 0; r < rows->n_rows && s->manifest->metric != THR_METRIC_L2; r++)
        s->manifest->n_zero += gather->measures.norms[r] == 0;
    thr_index_gather_add(gather, slab, rows->n_rows);
    if (gather->shape.keep == THR_DTYPE_NONE)
        return THR_OK;
    thr_kept_rows kept = {.scales = slab->scales == NULL ? NULL : slab->scales + at,
                          .inverse_norms = slab->inverse_norms == NULL ? NULL : slab->inverse_norms + at,
                          .halves = slab->halves == NULL ? NULL : slab->halves + at};
    THR_TRY(thr_index_keep_rows(&s->keeper, rows, gather->measures.norms, &kept));
    size_t row_bytes = thr_shape_vector_dims(&gather->shape) * thr_dtype_size(gather->shape.keep);
    return thr_sections_write(&s->writer, kept.bytes, (size_t)rows->n_rows * row_bytes, err);
}

thr_status thr_index_segment_begin(thr_segment_stream *s, uint32_t number, thr_error *err) {
    char *path = NULL;
    s->keeper.errors = (thr_kept_errors){0};
    THR_TRY(thr_index_build_dir_segment_path(s->dir, number, &path, err));
    thr_status status = thr_sections_open(s->context, path, &s->writer, err);
    s->writer.out.directory_later = true; /* until thr_index_build_dir_publish */
    s->writer.out.never_flush = s->is_temporary;
    if (status == THR_OK && s->gather.shape.keep != THR_DTYPE_NONE)
        status = thr_sections_begin(&s->writer, THR_SECTION_VECTORS, err);
    thr_release(s->context, path);
    return status;
}

/* Add rows until the segment is full or the stream ends. *n_items is 0 if no row was left. */
static thr_status fill_segment(thr_segment_stream *s, uint32_t number, uint64_t *n_items, thr_error *err) {
    *n_items = 0;
    while (*n_items < s->segment_items) {
        thr_slab *slab;
        thr_matrix rows;
        uint64_t room, left = s->segment_items - *n_items, first_row = s->manifest->n_items + *n_items;
        THR_TRY(thr_index_gather_room(&s->gather, &slab, &room, err));
        THR_TRY(thr_index_row_source_next(s->source, THR_MIN(room, left), &rows, err));
        if (rows.n_rows == 0)
            break;
        if (*n_items == 0) {
            if (number == THR_MAX_SEGMENTS)
                return thr_fail(err, THR_EINVAL, "%s: too many rows for segments of %" PRIu64 ": raise segment_rows",
                                s->source->name, s->segment_items);
            THR_TRY(thr_index_segment_begin(s, number, err));
        }
        if ((s->ids->n != 0 || s->ids->given) && first_row + rows.n_rows > s->ids->n)
            THR_TRY(thr_index_ids_check_count(s->ids, first_row + rows.n_rows, s->source->name, err));
        THR_TRY(add_rows(s, slab, &rows, first_row, err));
        *n_items += rows.n_rows;
        THR_TRY(thr_progress_step(&s->progress, first_row + rows.n_rows, err));
    }
    return THR_OK;
}

static thr_status write_cells(thr_segment_stream *s, thr_error *err) {
    const thr_cell_table *cells = s->cells;
    THR_TRY(thr_sections_put(&s->writer, THR_SECTION_CELLS, cells->cells, cells->n * sizeof *cells->cells, err));
    return thr_sections_put(&s->writer, THR_SECTION_CENTROIDS, cells->centroids,
                            (size_t)cells->n * cells->n_dims * sizeof(float), err);
}

/* What float16 and int8 vectors are relative to, and the bounds of their errors. */
static thr_status write_kept(thr_segment_stream *s, thr_error *err) {
    if (!thr_keep_is_scaled(s->gather.shape.keep))
        return THR_OK;
    THR_TRY(thr_index_gather_write(&s->gather, THR_SECTION_HALVES, THR_SECTION_HALVES, &s->writer, err));
    THR_TRY(thr_sections_begin(&s->writer, THR_SECTION_KEPT, err));
    THR_TRY(thr_sections_write(&s->writer, s->manifest->kept_centre,
                               thr_shape_vector_dims(&s->gather.shape) * sizeof(float), err));
    THR_TRY(thr_sections_write(&s->writer, &s->keeper.errors, sizeof s->keeper.errors, err));
    thr_sections_end(&s->writer);
    return THR_OK;
}

thr_status thr_index_segment_end(thr_segment_stream *s, uint32_t number, uint32_t n_items, thr_error *err) {
    thr_manifest *m = s->manifest;
    thr_manifest_segment listed = {.number = number, .build = s->dir->build};
    thr_segment_shape shape = s->gather.shape;
    const uint64_t first = s->source == NULL ? 0 : m->n_items; /* of the ids */
    shape.n_items = n_items;
    shape.n_cells = s->cells == NULL ? 0 : s->cells->n;
    if (shape.keep != THR_DTYPE_NONE)
        thr_sections_end(&s->writer);
    THR_TRY(thr_index_gather_write(&s->gather, THR_SECTION_CODES, THR_SECTION_INVERSE_NORMS, &s->writer, err));
    THR_TRY(thr_index_ids_write(s->ids, first, n_items, &s->writer, err));
    if (shape.centred) {
        THR_TRY(thr_sections_begin(&s->writer, THR_SECTION_CENTRE, err));
        THR_TRY(thr_sections_write(&s->writer, m->quantiser.centre, shape.n_dims * sizeof(float), err));
        thr_sections_end(&s->writer);
    }
    THR_TRY(thr_index_gather_write(&s->gather, THR_SECTION_LEADS, THR_SECTION_RECORDS, &s->writer, err));
    if (s->cells != NULL)
        THR_TRY(write_cells(s, err));
    if (shape.has_names)
        THR_TRY(thr_index_ids_write_name_slots(s->ids, first, n_items, &s->writer, err));
    if (s->cells != NULL)
        THR_TRY(thr_sections_put(&s->writer, THR_SECTION_CELL_ENDS, s->cells->ends,
                                 s->cells->n * sizeof *s->cells->ends, err));
    THR_TRY(write_kept(s, err));
    THR_TRY(thr_index_segment_write_finish(&s->writer, &shape, &listed, err));
    THR_TRY(thr_grow(s->context, &m->segments, &s->segments_capacity, m->n_segments + 1, sizeof *m->segments,
                     "the manifest's segments", err));
    m->n_rows = thr_padded_rows(m->n_rows);
    listed.has_ids = shape.has_ids;
    listed.first_id = m->n_rows;
    m->segments[m->n_segments++] = listed;
    m->n_items += n_items;
    m->n_rows += n_items;
    thr_index_gather_restart(&s->gather);
    return THR_OK;
}

thr_status thr_index_segment_stream_write(thr_segment_stream *s, uint32_t number, thr_error *err) {
    uint64_t total = s->source->shape.n_rows == THR_ROWS_UNKNOWN ? 0 : s->source->shape.n_rows;
    s->progress = thr_progress_start(s->context, s->title, total);
    for (;; number++) {
        uint64_t n_items;
        THR_TRY(fill_segment(s, number, &n_items, err));
        if (n_items == 0)
            break;
        THR_TRY(thr_index_segment_end(s, number, (uint32_t)n_items, err));
        if (n_items < s->segment_items)
            break;
    }
    THR_TRY(thr_index_ids_check_count(s->ids, s->manifest->n_items, s->source->name, err));
    return thr_progress_end(&s->progress, s->manifest->n_items, err);
}
