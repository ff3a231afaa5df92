/* SPDX-License-Identifier: Apache-2.0 */
/* segment_file.c - finds and checks the sections of a mapped segment. */
#include "index/segment_file.h"

#include "base/error.h"
#include "base/radix.h"
#include "code/encode.h"

#include <inttypes.h>
#include <string.h>

static const char *const section_names[THR_SECTION_LAST + 1] = {
    "?",          "vectors",   "codes",  "block norms", "factors", "offsets", "scales", "inverse norms",
    "ids",        "id order",  "names",  "centre",      "leads",   "records", "cells",  "centroids",
    "name slots", "cell ends", "halves", "kept"};

const thr_file_kind thr_segment_kind = {.magic = {'T', 'H', 'R', 'S', 'E', 'G', 0, 1},
                                        .last = THR_SECTION_LAST,
                                        .names = section_names,
                                        .foreign_status = THR_ECORRUPT,
                                        .foreign_text = "offset 0: not a Thresher segment: " THR_SEGMENT_REMEDY,
                                        .remedy = THR_SEGMENT_REMEDY};

const char *thr_index_section_name(uint32_t kind) {
    return section_names[kind <= THR_SECTION_LAST ? kind : 0];
}

bool thr_index_section_size(const thr_segment_shape *shape, uint32_t kind, uint64_t *size) {
    uint64_t padded = thr_padded_items(shape->n_items);
    bool cosine = shape->metric == THR_METRIC_COSINE, vectors = shape->keep != THR_DTYPE_NONE;
    bool nested = shape->lead < shape->bits, cosine_codes = cosine || shape->n_inputs != 0;
    *size = padded * sizeof(float);
    switch (kind) {
    case THR_SECTION_VECTORS:
        *size = (uint64_t)shape->n_items * thr_shape_vector_dims(shape) * thr_dtype_size(shape->keep);
        return vectors;
    case THR_SECTION_CODES:
        *size = padded / THR_BLOCK_ITEMS * thr_block_size(shape->n_dims, shape->lead);
        return true;
    case THR_SECTION_BLOCK_NORMS:
        *size = padded / THR_BLOCK_ITEMS * sizeof(uint32_t);
        return !nested && cosine_codes && !shape->centred && !shape->has_origins;
    case THR_SECTION_FACTORS:
        return !nested && (!cosine_codes || shape->centred || shape->has_origins);
    case THR_SECTION_OFFSETS:
        return !nested && thr_shape_has_offsets(shape);
    case THR_SECTION_SCALES:
        return thr_keep_is_scaled(shape->keep);
    case THR_SECTION_INVERSE_NORMS:
        return cosine && vectors;
    case THR_SECTION_IDS:
    case THR_SECTION_ID_ORDER:
        *size = padded * (kind == THR_SECTION_IDS ? sizeof(uint64_t) : sizeof(uint32_t));
        return shape->has_ids;
    case THR_SECTION_NAMES:
        *size = ((uint64_t)shape->n_items + 1) * sizeof(uint64_t);
        return shape->has_names;
    case THR_SECTION_CENTRE:
        *size = shape->n_dims * sizeof(float);
        return shape->centred;
    case THR_SECTION_LEADS:
        *size = padded * thr_lead_size(shape);
        return nested;
    case THR_SECTION_RECORDS:
        *size = padded * thr_record_size(thr_shape_records(shape));
        return nested;
    case THR_SECTION_CELLS:
        *size = (uint64_t)shape->n_cells * sizeof(thr_cell);
        return shape->n_cells > 0;
    case THR_SECTION_CENTROIDS:
        *size = (uint64_t)shape->n_cells * shape->n_dims * sizeof(float);
        return shape->n_cells > 0;
    case THR_SECTION_NAME_SLOTS:
        *size = thr_name_slots_count(shape->n_items) * sizeof(thr_name_slot);
        return shape->has_names;
    case THR_SECTION_CELL_ENDS:
        *size = (uint64_t)shape->n_cells * sizeof(thr_cell_ends);
        return shape->n_cells > 0;
    case THR_SECTION_HALVES:
        return cosine && thr_keep_is_scaled(shape->keep);
    case THR_SECTION_KEPT:
        *size = thr_shape_vector_dims(shape) * sizeof(float) + sizeof(thr_kept_errors);
        return thr_keep_is_scaled(shape->keep);
    default:
        *size = 0;
        return false;
    }
}

/* ------------------------------------------------------------------------------------------------ parse */

static thr_status check_header(const thr_section_file *file, const thr_segment_header *h,
                               const thr_segment_shape *shape, const thr_manifest_segment *listed, thr_error *err) {
    if (h->n_cells > h->n_items || (h->n_cells > 0 && !shape->has_origins))
        return thr_section_file_damaged(file, THR_SECTIONS_VERSION_AT, "the header has an impossible number of cells",
                                        err);
    if (h->n_items != shape->n_items || h->n_dims != shape->n_dims || h->bits != shape->bits ||
        h->lead != shape->lead || h->metric != thr_shape_metric_field(shape) || h->keep != (uint32_t)shape->keep ||
        h->build != listed->build)
        return thr_section_file_damaged(file, THR_SECTIONS_VERSION_AT, "the header does not match the MANIFEST", err);
    return THR_OK;
}

static thr_section_rule rule_of(const void *shape, uint32_t kind, uint64_t *size) {
    if (!thr_index_section_size(shape, kind, size))
        return THR_SECTION_ABSENT;
    return kind == THR_SECTION_NAMES ? THR_SECTION_AT_LEAST : THR_SECTION_EXACT;
}

static void point(thr_segment_view *view) {
    const thr_section_file *file = &view->file;
    const thr_section *names = thr_section_file_find(file, THR_SECTION_NAMES);
    view->scan = (thr_segment){.n_items = view->shape.n_items,
                               .codes = thr_section_file_at(file, THR_SECTION_CODES),
                               .block_norms = thr_section_file_at(file, THR_SECTION_BLOCK_NORMS),
                               .factors = thr_section_file_at(file, THR_SECTION_FACTORS),
                               .offsets = thr_section_file_at(file, THR_SECTION_OFFSETS),
                               .leads = thr_section_file_at(file, THR_SECTION_LEADS),
                               .records = thr_section_file_at(file, THR_SECTION_RECORDS),
                               .vectors = thr_section_file_at(file, THR_SECTION_VECTORS),
                               .scales = thr_section_file_at(file, THR_SECTION_SCALES),
                               .inverse_norms = thr_section_file_at(file, THR_SECTION_INVERSE_NORMS),
                               .halves = thr_section_file_at(file, THR_SECTION_HALVES)};
    view->scan.lead_offsets = view->scan.leads != NULL && thr_shape_has_offsets(&view->shape);
    view->ids = thr_section_file_at(file, THR_SECTION_IDS);
    view->id_order = thr_section_file_at(file, THR_SECTION_ID_ORDER);
    view->centre = (float *)(uintptr_t)thr_section_file_at(file, THR_SECTION_CENTRE);
    view->name_slots = thr_section_file_at(file, THR_SECTION_NAME_SLOTS);
    view->kept_centre = (float *)(uintptr_t)thr_section_file_at(file, THR_SECTION_KEPT);
    if (view->kept_centre != NULL)
        memcpy(&view->scan.kept, view->kept_centre + thr_shape_vector_dims(&view->shape), sizeof view->scan.kept);
    if (names != NULL)
        view->names = thr_strings_at(file->data + names->offset, names->size, view->shape.n_items);
}

/* Searches compute with centroids as with queries, so they have the lengths of vectors, with a reserve. */
static bool are_valid_centroids(const thr_segment_view *view, uint32_t *wrong) {
    const double longest = 2 * thr_longest_row(view->shape.metric == THR_METRIC_COSINE);
    const float *x = view->cells.centroids;
    for (*wrong = 0; *wrong < view->cells.n; (*wrong)++) {
        double square = 0;
        for (uint32_t d = 0; d < view->cells.n_dims; d++, x++)
            square += (double)*x * (double)*x;
        if (!(square <= longest * longest))
            return false;
    }
    return true;
}

static thr_status take_cells(thr_segment_view *view, thr_error *err) {
    uint32_t wrong;
    view->cells = (thr_cell_table){.n = view->shape.n_cells,
                                   .n_items = view->shape.n_items,
                                   .n_dims = view->shape.n_dims,
                                   .cells = thr_section_file_at(&view->file, THR_SECTION_CELLS),
                                   .centroids = thr_section_file_at(&view->file, THR_SECTION_CENTROIDS),
                                   .ends = thr_section_file_at(&view->file, THR_SECTION_CELL_ENDS)};
    if (!thr_cells_are_valid(&view->cells, &wrong))
        return thr_section_file_damaged(&view->file, thr_section_file_offset(&view->file, &view->cells.cells[wrong]),
                                        "a cell has impossible numbers", err);
    if (!are_valid_centroids(view, &wrong))
        return thr_section_file_damaged(
            &view->file,
            thr_section_file_offset(&view->file, view->cells.centroids + (size_t)wrong * view->cells.n_dims),
            "a centroid is not finite, or too long", err);
    return THR_OK;
}

thr_status thr_index_segment_parse(const char *path, const void *data, uint64_t size, const thr_segment_shape *shape,
                                   const thr_manifest_segment *listed, thr_segment_view *view, thr_error *err) {
    thr_segment_header header;
    *view = (thr_segment_view){.shape = *shape};
    THR_TRY(thr_section_file_read(&thr_segment_kind, path, data, size, &view->file, err));
    if (size != listed->file_bytes || view->file.checksum != listed->header_checksum)
        return thr_fail(err, THR_ECORRUPT,
                        "%s: %" PRIu64 " bytes with the checksum %016" PRIx64 ", but the MANIFEST has %" PRIu64
                        " with %016" PRIx64 ": it is not the file that was built; restore it or build the index again",
                        path, size, view->file.checksum, listed->file_bytes, listed->header_checksum);
    memcpy(&header, data, sizeof header);
    THR_TRY(check_header(&view->file, &header, shape, listed, err));
    view->shape.n_cells = header.n_cells;
    THR_TRY(thr_section_file_fit(&view->file, rule_of, &view->shape, err));
    point(view);
    return take_cells(view, err);
}

/* ------------------------------------------------------------------------------------------------ use */

const char *thr_index_segment_item_name(const thr_segment_view *view, uint32_t item) {
    return thr_strings_get(&view->names, item);
}

bool thr_index_segment_find_id(const thr_segment_view *view, uint64_t id, uint32_t *item) {
    return thr_radix_find(view->ids, view->id_order, view->shape.n_items, id, item);
}

bool thr_index_segment_find_name(const thr_segment_view *view, const char *name, uint64_t key, uint32_t *item) {
    return thr_index_name_slots_find(view->name_slots, &view->names, name, key, item);
}
