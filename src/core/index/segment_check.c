/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment_check.c - checks a segment's contents against docs/format.md. Checksums detect damage; this detects faults of
 * the writer.
 */
#include "index/segment_file.h"

#include "base/error.h"
#include "code/encode.h"

#include <inttypes.h>

static thr_status fail_bits(const thr_segment_view *view, uint64_t begin, uint64_t end, thr_error *err) {
    return thr_fail(err, THR_ECORRUPT,
                    "%s: offset %" PRIu64 " to %" PRIu64
                    ": codes have bits past the last dimension: " THR_SEGMENT_REMEDY,
                    view->file.path, begin, end);
}

/* Items after the last one in the last block (the ends of its rows of 64 bytes), and bits after the last dimension. */
static thr_status check_code_padding(const thr_segment_view *view, const thr_section *codes, thr_error *err) {
    uint32_t items = view->shape.n_items % THR_BLOCK_ITEMS, dims = view->shape.n_dims % 8;
    uint64_t block = thr_block_size(view->shape.n_dims, view->shape.lead);
    uint64_t last_rows = (uint64_t)view->shape.lead * THR_BLOCK_ITEMS; /* the last 8 dimensions of a block */
    uint64_t end = codes->offset + codes->size;
    if (items != 0)
        for (uint64_t row = end - block; row < end; row += THR_BLOCK_ITEMS)
            THR_TRY(thr_section_file_check_zeros(&view->file, row + items, row + THR_BLOCK_ITEMS, err));
    if (dims == 0)
        return THR_OK;
    for (uint64_t at = codes->offset + block; at <= end; at += block) {
        uint8_t bits = 0;
        for (uint64_t i = at - last_rows; i < at; i++)
            bits |= view->file.data[i];
        if (bits >> dims != 0)
            return fail_bits(view, at - last_rows, at, err);
    }
    return THR_OK;
}

/* The same for the other planes: whole records after the last item, and the last byte of every plane of an item. */
static thr_status check_record_padding(const thr_segment_view *view, const thr_section *records, thr_error *err) {
    const thr_record_shape shape = thr_shape_records(&view->shape);
    const uint64_t size = thr_record_size(shape), end = records->offset + view->shape.n_items * size;
    const uint32_t dims = view->shape.n_dims % 8;
    THR_TRY(thr_section_file_check_zeros(&view->file, end, records->offset + records->size, err));
    if (dims == 0)
        return THR_OK;
    for (uint64_t at = records->offset; at < end; at += size) {
        uint8_t bits = 0;
        for (uint64_t i = thr_record_head(shape) + shape.n_rows - 1; i < size; i += shape.n_rows)
            bits |= view->file.data[at + i];
        if (bits >> dims != 0)
            return fail_bits(view, at, at + size, err);
    }
    return THR_OK;
}

static thr_status check_ids(const thr_segment_view *view, thr_error *err) {
    uint64_t previous = 0;
    for (uint32_t i = 0; i < view->shape.n_items; i++) {
        uint32_t item = view->id_order[i];
        uint64_t id = item < view->shape.n_items ? view->ids[item] : THR_NO_ID;
        if (id == THR_NO_ID || (i > 0 && id <= previous))
            return thr_fail(err, THR_ECORRUPT,
                            "%s: offset %" PRIu64 ": the ids do not ascend at place %" PRIu32
                            " of the order section: " THR_SEGMENT_REMEDY,
                            view->file.path, thr_section_file_offset(&view->file, &view->id_order[i]), i);
        previous = id;
    }
    return THR_OK;
}

static thr_status check_names(const thr_segment_view *view, thr_error *err) {
    const uint64_t wrong = thr_strings_check(&view->names);
    if (wrong < view->names.n)
        return thr_fail(err, THR_ECORRUPT,
                        "%s: offset %" PRIu64 ": the name of item %" PRIu64 " is wrong: " THR_SEGMENT_REMEDY,
                        view->file.path, thr_section_file_offset(&view->file, &view->names.offsets[wrong]), wrong);
    if (wrong == view->names.n)
        return thr_fail(err, THR_ECORRUPT, "%s: bytes follow the last name: " THR_SEGMENT_REMEDY, view->file.path);
    return THR_OK;
}

/* The names are correct. Each is found in the slots, and there are no others. */
static thr_status check_name_slots(const thr_segment_view *view, thr_error *err) {
    const uint64_t n_slots = thr_name_slots_count(view->shape.n_items);
    uint64_t n = 0;
    for (uint32_t i = 0; i < view->shape.n_items; i++) {
        const uint64_t start = view->names.offsets[i];
        const char *name = view->names.bytes + start;
        uint32_t item;
        if (!thr_index_name_slots_find(view->name_slots, &view->names, name,
                                       thr_index_name_key(name, view->names.offsets[i + 1] - start), &item) ||
            item != i)
            return thr_section_file_damaged(&view->file, thr_section_file_offset(&view->file, view->name_slots),
                                            "the slots of names do not lead to every item", err);
    }
    for (uint64_t i = 0; i < n_slots; i++)
        n += view->name_slots[i].place != 0;
    return n == view->shape.n_items
               ? THR_OK
               : thr_section_file_damaged(&view->file, thr_section_file_offset(&view->file, view->name_slots),
                                          "names have more slots than items", err);
}

thr_status thr_index_segment_check_contents(const thr_segment_view *view, thr_error *err) {
    const uint64_t padding = thr_padded_items(view->shape.n_items) - view->shape.n_items;
    for (uint32_t i = 0; i < view->file.n_sections; i++) {
        const thr_section *section = &view->file.sections[i];
        const uint64_t end = section->offset + section->size;
        switch ((thr_section_kind)section->kind) {
        case THR_SECTION_CODES:
            THR_TRY(check_code_padding(view, section, err));
            break;
        case THR_SECTION_FACTORS:
        case THR_SECTION_OFFSETS:
        case THR_SECTION_SCALES:
        case THR_SECTION_INVERSE_NORMS:
        case THR_SECTION_HALVES:
        case THR_SECTION_ID_ORDER:
            THR_TRY(thr_section_file_check_zeros(&view->file, end - padding * sizeof(uint32_t), end, err));
            break;
        case THR_SECTION_IDS:
            THR_TRY(thr_section_file_check_zeros(&view->file, end - padding * sizeof(uint64_t), end, err));
            break;
        case THR_SECTION_LEADS:
            THR_TRY(thr_section_file_check_zeros(&view->file, end - padding * thr_lead_size(&view->shape), end, err));
            break;
        case THR_SECTION_RECORDS:
            THR_TRY(check_record_padding(view, section, err));
            break;
        case THR_SECTION_VECTORS:
        case THR_SECTION_BLOCK_NORMS:
        case THR_SECTION_NAMES:
        case THR_SECTION_CENTRE:
        case THR_SECTION_CELLS:
        case THR_SECTION_CENTROIDS:
        case THR_SECTION_NAME_SLOTS:
        case THR_SECTION_CELL_ENDS:
        case THR_SECTION_KEPT:
            break;
        }
    }
    if (view->ids != NULL)
        THR_TRY(check_ids(view, err));
    if (view->names.offsets == NULL)
        return THR_OK;
    THR_TRY(check_names(view, err));
    return view->name_slots != NULL ? check_name_slots(view, err) : THR_OK;
}
