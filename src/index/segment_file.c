/* SPDX-License-Identifier: Apache-2.0 */
#include "index/segment_file.h"

#include "base/error.h"
#include "code/encode.h"

#include <inttypes.h>
#include <string.h>

const uint8_t thr_segment_magic[8] = {'T', 'H', 'R', 'S', 'E', 'G', 0, 1};

const char *thr_section_name(uint32_t kind) {
    static const char *const names[THR_SECTION_LAST + 1] = {
        "?",   "vectors",  "codes", "block norms", "factors", "offsets", "scales", "inverse norms",
        "ids", "id order", "names", "centre",      "leads",   "records"};
    return names[kind <= THR_SECTION_LAST ? kind : 0];
}

bool thr_section_size(const thr_segment_shape *shape, uint32_t kind, uint64_t *size) {
    uint64_t padded = thr_padded_items(shape->n_items);
    bool cosine = shape->metric == THR_METRIC_COSINE, vectors = shape->keep != THR_DTYPE_NONE;
    bool nested = shape->lead < shape->bits;
    *size = padded * sizeof(float);
    switch (kind) {
    case THR_SECTION_VECTORS:
        *size = (uint64_t)shape->n_items * shape->n_dims * thr_dtype_size(shape->keep);
        return vectors;
    case THR_SECTION_CODES:
        *size = padded / THR_BLOCK_ITEMS * thr_block_size(shape->n_dims, shape->lead);
        return true;
    case THR_SECTION_BLOCK_NORMS:
        *size = padded / THR_BLOCK_ITEMS * sizeof(uint32_t);
        return !nested && cosine && !shape->centred;
    case THR_SECTION_FACTORS:
        return !nested && (!cosine || shape->centred);
    case THR_SECTION_OFFSETS:
        return !nested && thr_shape_has_offsets(shape);
    case THR_SECTION_SCALES:
        return shape->keep == THR_DTYPE_I8;
    case THR_SECTION_INVERSE_NORMS:
        return cosine && vectors;
    case THR_SECTION_IDS:
        *size = padded * sizeof(uint64_t);
        return shape->has_ids;
    case THR_SECTION_ID_ORDER:
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
    default:
        *size = 0;
        return false;
    }
}

/* ------------------------------------------------------------------------------------------------ parse */

static thr_status check_header(const char *path, const thr_segment_header *h, uint64_t size,
                               const thr_segment_shape *shape, const thr_manifest_segment *listed, thr_error *err) {
    if (memcmp(h->magic, thr_segment_magic, sizeof h->magic) != 0)
        return thr_fail(err, THR_ECORRUPT, "%s: offset 0: not a Thresher segment: " THR_SEGMENT_REMEDY, path);
    if (h->version > THR_FORMAT_VERSION)
        return thr_fail(err, THR_EVERSION,
                        "%s: written by a newer Thresher (format %" PRIu32 "; this one reads %d): update Thresher",
                        path, h->version, THR_FORMAT_VERSION);
    if (h->version != shape->version || h->reserved != 0 || (h->version == 1 && h->lead != 0))
        return thr_fail(err, THR_ECORRUPT, "%s: the header holds wrong numbers: " THR_SEGMENT_REMEDY, path);
    if (h->n_items != shape->n_items || h->n_dims != shape->n_dims || h->bits != shape->bits ||
        (h->version > 1 && h->lead != shape->lead) || h->metric != (uint32_t)shape->metric ||
        h->keep != (uint32_t)shape->keep || h->build != listed->build)
        return thr_fail(err, THR_ECORRUPT, "%s: the header does not say what the MANIFEST says: " THR_SEGMENT_REMEDY,
                        path);
    if (h->n_sections > THR_SECTION_LAST || h->table_offset % THR_SECTION_ALIGN != 0 || h->table_offset > size ||
        size - h->table_offset != (uint64_t)h->n_sections * sizeof(thr_section))
        return thr_fail(err, THR_ECORRUPT,
                        "%s: offset 40: a section table of %" PRIu32 " entries at %" PRIu64
                        " does not end a file of %" PRIu64 " bytes: " THR_SEGMENT_REMEDY,
                        path, h->n_sections, h->table_offset, size);
    return THR_OK;
}

/* Every section of the shape stands in the table, behind the one before it, with its size; and no other one does. */
static thr_status check_table(thr_segment_view *view, uint64_t table_offset, thr_error *err) {
    uint64_t position = sizeof(thr_segment_header);
    uint32_t n = 0;
    bool good = true;
    for (uint32_t kind = 1; kind <= THR_SECTION_LAST && good; kind++) {
        uint64_t size;
        if (!thr_section_size(&view->shape, kind, &size))
            continue;
        const thr_section *s = &view->sections[n];
        uint64_t offset = thr_align_up(position);
        /* position and size are below 2^55, so their sum is exact */
        good = n < view->n_sections && s->kind == kind && s->reserved == 0 && s->offset == offset &&
               (kind == THR_SECTION_NAMES ? s->size >= size && s->size <= table_offset : s->size == size) &&
               offset + s->size <= table_offset;
        if (good)
            position = offset + s->size;
        n++;
    }
    if (good && n == view->n_sections && thr_align_up(position) == table_offset)
        return THR_OK;
    return thr_fail(err, THR_ECORRUPT, "%s: offset %" PRIu64 ": the section table is wrong: " THR_SEGMENT_REMEDY,
                    view->path, table_offset);
}

static void point(thr_segment_view *view) {
    for (uint32_t i = 0; i < view->n_sections; i++) {
        const thr_section *section = &view->sections[i];
        const void *data = view->data + section->offset;
        switch ((thr_section_kind)section->kind) {
        case THR_SECTION_VECTORS:
            view->scan.vectors = data;
            break;
        case THR_SECTION_CODES:
            view->scan.codes = data;
            break;
        case THR_SECTION_BLOCK_NORMS:
            view->scan.block_norms = data;
            break;
        case THR_SECTION_FACTORS:
            view->scan.factors = data;
            break;
        case THR_SECTION_OFFSETS:
            view->scan.offsets = data;
            break;
        case THR_SECTION_SCALES:
            view->scan.scales = data;
            break;
        case THR_SECTION_INVERSE_NORMS:
            view->scan.inverse_norms = data;
            break;
        case THR_SECTION_IDS:
            view->ids = data;
            break;
        case THR_SECTION_ID_ORDER:
            view->id_order = data;
            break;
        case THR_SECTION_NAMES: {
            uint64_t offsets = ((uint64_t)view->shape.n_items + 1) * sizeof(uint64_t);
            view->name_offsets = data;
            view->names = (const char *)data + offsets;
            view->names_size = section->size - offsets;
            break;
        }
        case THR_SECTION_CENTRE:
            view->centre = (float *)(uintptr_t)data;
            break;
        case THR_SECTION_LEADS:
            view->scan.leads = data;
            view->scan.lead_offsets = thr_shape_has_offsets(&view->shape);
            break;
        case THR_SECTION_RECORDS:
            view->scan.records = data;
            break;
        }
    }
}

thr_status thr_segment_parse(const char *path, const void *data, uint64_t size, const thr_segment_shape *shape,
                             const thr_manifest_segment *listed, thr_segment_view *view, thr_error *err) {
    thr_segment_header header;
    *view = (thr_segment_view){.path = path, .data = data, .size = size, .shape = *shape};
    view->scan.n_items = shape->n_items;
    if (size != listed->file_bytes)
        return thr_fail(err, THR_ECORRUPT,
                        "%s: %" PRIu64 " bytes, but the MANIFEST says %" PRIu64
                        ": the file was cut or changed; restore it or build the index again",
                        path, size, listed->file_bytes);
    if (size < sizeof header)
        return thr_fail(err, THR_ECORRUPT, "%s: %" PRIu64 " bytes are no segment: " THR_SEGMENT_REMEDY, path, size);
    memcpy(&header, data, sizeof header);
    THR_TRY(check_header(path, &header, size, shape, listed, err));
    view->n_sections = header.n_sections;
    memcpy(view->sections, view->data + header.table_offset, header.n_sections * sizeof(thr_section));
    uint64_t checksum = thr_sections_checksum(&header, view->sections, header.n_sections);
    if (checksum != header.checksum || checksum != listed->header_checksum)
        return thr_fail(err, THR_ECORRUPT,
                        "%s: the checksum of the header and the section table is wrong: " THR_SEGMENT_REMEDY, path);
    THR_TRY(check_table(view, header.table_offset, err));
    point(view);
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ use */

const char *thr_segment_item_name(const thr_segment_view *view, uint32_t item) {
    if (view->name_offsets == NULL)
        return NULL;
    uint64_t start = view->name_offsets[item], end = view->name_offsets[item + 1];
    if (start >= end || end > view->names_size || view->names[end - 1] != '\0')
        return NULL;
    return view->names + start;
}

bool thr_segment_find_id(const thr_segment_view *view, uint64_t id, uint32_t *item) {
    uint32_t low = 0, high = view->shape.n_items;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2, candidate = view->id_order[middle];
        if (candidate >= view->shape.n_items)
            return false;
        if (view->ids[candidate] == id) {
            *item = candidate;
            return true;
        }
        if (view->ids[candidate] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}
