/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment_file.h - the layout of a segment file (docs/format.md), and a parser of mapped ones.
 *
 * Invariant: all offsets follow from the header and the size of the names, so thr_index_segment_parse compares the
 * table with the expected one and uses none of its numbers. Contents are untrusted: ids, orders and names are checked
 * on use.
 */
#pragma once

#include "base/blocks.h"
#include "base/files/section_file.h"
#include "base/text/string_table.h"
#include "cells/cells.h"
#include "code/nested.h"
#include "index/manifest.h"
#include "index/name_slots.h"
#include "scan/segment.h"

typedef enum thr_section_kind {
    THR_SECTION_VECTORS = 1,
    THR_SECTION_CODES = 2,
    THR_SECTION_BLOCK_NORMS = 3,
    THR_SECTION_FACTORS = 4,
    THR_SECTION_OFFSETS = 5,
    THR_SECTION_SCALES = 6,
    THR_SECTION_INVERSE_NORMS = 7,
    THR_SECTION_IDS = 8,
    THR_SECTION_ID_ORDER = 9,
    THR_SECTION_NAMES = 10,
    THR_SECTION_CENTRE = 11,
    THR_SECTION_LEADS = 12,
    THR_SECTION_RECORDS = 13,
    THR_SECTION_CELLS = 14,
    THR_SECTION_CENTROIDS = 15,
    THR_SECTION_NAME_SLOTS = 16,
    THR_SECTION_CELL_ENDS = 17,
    THR_SECTION_HALVES = 18,
    THR_SECTION_KEPT = 19
} thr_section_kind;

enum { THR_SECTION_LAST = THR_SECTION_KEPT };

_Static_assert((int)THR_SECTION_LAST <= (int)THR_SECTIONS_MAX, "all sections have a place in the table");

/* "vectors", ..., for messages. */
const char *thr_index_section_name(uint32_t kind);

typedef struct thr_segment_header {
    uint8_t magic[8];
    uint32_t version, n_items, n_dims, bits, metric, keep, n_sections, build;
    uint64_t table_offset;
    uint32_t lead; /* planes in the blocks */
    uint32_t n_cells;
    uint64_t checksum; /* of all bytes before it, and of the section table */
} thr_segment_header;

_Static_assert(sizeof(thr_segment_header) == THR_SECTIONS_HEADER, "no padding");

extern const thr_file_kind thr_segment_kind;

/* The end of messages about a damaged file. */
#define THR_SEGMENT_REMEDY "the file is damaged; restore it or build the index again"

/* The numbers that determine which sections exist and how long they are. */
typedef struct thr_segment_shape {
    uint32_t n_items, n_dims, bits, lead;
    uint32_t n_cells; /* 0: none */
    uint32_t
        n_inputs; /* dimensions of the vectors that a model's codes are of (manifest.h); 0: the vectors have n_dims */
    thr_metric metric;
    thr_dtype keep;
    bool centred, has_origins, has_ids, has_names;
} thr_segment_shape;

/* The shape of a manifest's segments, without what each has for itself: items, cells and ids. */
static inline thr_segment_shape thr_shape_of_manifest(const thr_manifest *m) {
    return (thr_segment_shape){.n_dims = m->quantiser.n_dims,
                               .n_inputs = m->model.n_inputs,
                               .bits = m->quantiser.item_bits,
                               .lead = m->lead,
                               .metric = m->metric,
                               .keep = m->keep,
                               .centred = m->centred,
                               .has_origins = m->has_origins,
                               .has_names = m->has_names};
}

/* Flags that are added to the metric in the header, and the bits of the metric itself. */
enum {
    THR_RELATIVE_CODES = 256, /* codes are relative to centroids */
    THR_METRIC_BITS = 3
};

/* The metric as the header has it. */
static inline uint32_t thr_shape_metric_field(const thr_segment_shape *shape) {
    return (uint32_t)shape->metric + (shape->has_origins ? (uint32_t)THR_RELATIVE_CODES : 0);
}

/* Dimensions of the kept vectors. */
static inline uint32_t thr_shape_vector_dims(const thr_segment_shape *shape) {
    return shape->n_inputs != 0 ? shape->n_inputs : shape->n_dims;
}

/* Whether items have offsets: with L2, or with a centre. A model's codes have none. */
static inline bool thr_shape_has_offsets(const thr_segment_shape *shape) {
    return (shape->metric == THR_METRIC_L2 && shape->n_inputs == 0) || shape->centred || shape->has_origins;
}

/* Bytes per item in the leads: a bfloat16 factor, and an offset if items have one. */
static inline size_t thr_lead_size(const thr_segment_shape *shape) {
    return (thr_shape_has_offsets(shape) ? 2 : 1) * sizeof(uint16_t);
}

/* The shape of the records of nested codes; without planes if codes are not nested. */
static inline thr_record_shape thr_shape_records(const thr_segment_shape *shape) {
    return thr_record_shape_of(shape->n_dims, shape->bits, shape->lead, thr_shape_has_offsets(shape));
}

/* A number of rows or items, padded to whole blocks. */
static inline uint64_t thr_padded_rows(uint64_t n_rows) {
    return thr_blocks_of(n_rows) * THR_BLOCK_ITEMS;
}

static inline uint64_t thr_padded_items(uint32_t n_items) {
    return thr_padded_rows(n_items);
}

/*
 * Whether a segment has a section, and its size in bytes; of the names the least size, that of their offsets. Never
 * overflows: at most 2^31 items of 2^15 dimensions of 8 bytes.
 */
bool thr_index_section_size(const thr_segment_shape *shape, uint32_t kind, uint64_t *size);

/* A mapped segment, as described by its header. */
typedef struct thr_segment_view {
    thr_section_file file;
    thr_segment_shape shape;
    thr_segment scan;     /* for the scan; the caller sets first_row */
    thr_cell_table cells; /* n is 0 if there are none */
    float *centre;        /* n_dims, or NULL; read-only */
    float *kept_centre;   /* of float16 and int8 (scan/segment.h), of the vectors' dimensions; else NULL; read-only */
    const uint64_t *ids;
    const uint32_t *id_order;
    thr_strings names;
    const thr_name_slot *name_slots; /* with names */
} thr_segment_view;

/*
 * Check a file of untrusted bytes against its line of the manifest, and find its sections. data is 64-byte aligned.
 * shape has no cells; the segment's header does. Reads the header, the table and the cells' numbers only. THR_ECORRUPT;
 * THR_EVERSION.
 */
thr_status thr_index_segment_parse(const char *path, const void *data, uint64_t size, const thr_segment_shape *shape,
                                   const thr_manifest_segment *listed, thr_segment_view *view, thr_error *err);

/*
 * Check faults that checksums cannot detect: gaps are zero, padding items and bits of codes are zero, ids and names are
 * in order. THR_ECORRUPT.
 */
thr_status thr_index_segment_check_contents(const thr_segment_view *view, thr_error *err);

/* The name of an item below n_items; NULL if there are none or the file's offsets are wrong. */
const char *thr_index_segment_item_name(const thr_segment_view *view, uint32_t item);

/* Find the item with this name and its key. */
bool thr_index_segment_find_name(const thr_segment_view *view, const char *name, uint64_t key, uint32_t *item);

/* Find the item with this id by binary search in the order section. */
bool thr_index_segment_find_id(const thr_segment_view *view, uint64_t id, uint32_t *item);
