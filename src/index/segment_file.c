/* SPDX-License-Identifier: Apache-2.0 */
#include "index/segment_file.h"

#include "base/error.h"
#include "base/radix.h"
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

static thr_section_rule rule_of(const void *shape, uint32_t kind, uint64_t *size) {
    if (!thr_section_size(shape, kind, size))
        return THR_SECTION_ABSENT;
    return kind == THR_SECTION_NAMES ? THR_SECTION_AT_LEAST : THR_SECTION_EXACT;
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
        case THR_SECTION_NAMES:
            view->names = thr_strings_at(data, section->size, view->shape.n_items);
            break;
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
    if (!thr_sections_fit(view->sections, view->n_sections, header.table_offset, THR_SECTION_LAST, rule_of, shape))
        return thr_fail(err, THR_ECORRUPT, "%s: offset %" PRIu64 ": the section table is wrong: " THR_SEGMENT_REMEDY,
                        path, header.table_offset);
    point(view);
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ use */

const char *thr_segment_item_name(const thr_segment_view *view, uint32_t item) {
    return thr_strings_get(&view->names, item);
}

bool thr_segment_find_id(const thr_segment_view *view, uint64_t id, uint32_t *item) {
    return thr_radix_find(view->ids, view->id_order, view->shape.n_items, id, item);
}
