/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h - a file of posting lists (docs/format.md): written from lists in memory, and used in place when mapped.
 *
 * Lists number items by *place*: place p is row rows[p], or row p if the file has no rows. Ids and names are by row.
 *
 * Invariant: header and section of elements determine every offset, and thr_hits_parse compares the table with them.
 * After it succeeds, searches stay within the file, whatever bytes it holds.
 */
#pragma once

#include "base/files/section_file.h"
#include "base/text/string_table.h"
#include "lists/lists.h"

typedef enum thr_hits_section {
    THR_HITS_ELEMENTS = 1,           /* u32, elements of each form, then the number of lists */
    THR_HITS_FEATURES = 2,           /* u32, ascending; if absent: 0, 1, 2, ... */
    THR_HITS_SIZES = 3,              /* u32 per list: its items */
    THR_HITS_ENTRIES = 4,            /* u32 per list and one more: its first entry */
    THR_HITS_FORMS = 5,              /* u8 per entry */
    THR_HITS_BEGINS = 6,             /* u32 per entry: its first element */
    THR_HITS_STRETCHES = 7,          /* u32 per entry and one more: its first stretch; if absent: one stretch each */
    THR_HITS_WINDOWS = 8,            /* u8 per stretch */
    THR_HITS_STRETCH_SIZES = 9,      /* u16 per stretch, less one */
    THR_HITS_IDS = 10,               /* u16 */
    THR_HITS_RUNS = 11,              /* u16, two per run */
    THR_HITS_BITMAP_CONTAINERS = 12, /* u8 */
    THR_HITS_BITMAPS = 13,           /* 32 bytes each */
    THR_HITS_ROWS = 14,              /* u32 per place */
    THR_HITS_ITEM_IDS = 15,          /* u64 per row */
    THR_HITS_ID_ORDER = 16,          /* u32, the rows by ascending id */
    THR_HITS_NAMES = 17,       /* of rows: u64 offsets, one more than names, then the names, each with a zero byte */
    THR_HITS_WORDS = 18,       /* of features, which are then 0, 1, 2, ...; ascending, stored like names */
    THR_HITS_MODEL = 19,       /* u64, fingerprint of the model that makes the queries' weights */
    THR_HITS_MULTIPLIERS = 20, /* f32 per row, finite */
    THR_HITS_OFFSETS = 21,     /* likewise */
    THR_HITS_REFS = 22,        /* u32 per feature: its list, or 2^31 + the only place that has it */
    THR_HITS_GIVEN = 23        /* u32 per row: a number of the change that gave the item's values, 0: none did */
} thr_hits_section;

enum { THR_HITS_LAST = THR_HITS_GIVEN };

_Static_assert((int)THR_HITS_LAST <= (int)THR_SECTIONS_MAX, "all sections have a place in the table");

typedef struct thr_hits_header {
    uint8_t magic[8];
    uint32_t version, n_items, n_features, n_entries, has, order, n_sections, n_stretches;
    uint64_t table_offset, n_postings, checksum;
} thr_hits_header;

_Static_assert(sizeof(thr_hits_header) == THR_SECTIONS_HEADER, "no padding");

/* Bits of header.has. */
enum {
    THR_HITS_HAS_ROWS = 1,
    THR_HITS_HAS_IDS = 2,
    THR_HITS_HAS_NAMES = 4,
    THR_HITS_HAS_WORDS = 8,
    THR_HITS_HAS_MODEL = 16,
    THR_HITS_HAS_MULTIPLIERS = 32,
    THR_HITS_HAS_OFFSETS = 64,
    THR_HITS_HAS_FEATURES = 128,
    THR_HITS_HAS_STRETCHES = 256,
    THR_HITS_HAS_GIVEN = 512,
    THR_HITS_HAS_ALL = 1023
};

extern const thr_file_kind thr_hits_kind;

#define THR_HITS_REMEDY "the file is damaged; restore it or build it again"

/* The contents of a file, in memory or mapped. */
typedef struct thr_hits_contents {
    thr_lists lists;
    uint32_t order;           /* thr_hits_order */
    const uint32_t *rows;     /* by place, or NULL */
    const uint64_t *ids;      /* by row, or NULL */
    const uint32_t *id_order; /* with ids only */
    thr_strings names, words;
    uint64_t model;                     /* 0: none */
    const float *multipliers, *offsets; /* by row, or NULL */
    const uint32_t *given;              /* by row, or NULL (thr_hits_given_at) */
} thr_hits_contents;

/* Write a file (thr_section_file_write). */
thr_status thr_hits_write(thr_context *context, const char *path, const thr_hits_contents *c, thr_error *err);

/* A file as mapped. */
typedef struct thr_hits_view {
    thr_section_file file;
    thr_hits_contents contents;
} thr_hits_view;

/*
 * A number of the build or change that gave an item its values; 0: none did. Equal numbers in two files mean the same
 * change. A file without the section was built with all its values, or with none.
 */
static inline uint32_t thr_hits_given_at(const thr_hits_view *view, uint64_t row) {
    const thr_hits_contents *c = &view->contents;
    if (c->given != NULL)
        return c->given[row];
    return c->multipliers != NULL || c->offsets != NULL ? (uint32_t)view->file.checksum | 1 : 0;
}

/*
 * Find the sections of a file of untrusted bytes, and check what memory safety needs. data is 64-byte aligned.
 * THR_EFORMAT; THR_EVERSION; THR_ECORRUPT.
 */
thr_status thr_hits_parse(const char *path, const void *data, uint64_t size, thr_hits_view *view, thr_error *err);

/* Check the rest, in a file whose checksums are right: faults of a writer. THR_ECORRUPT; THR_ENOMEM. */
thr_status thr_hits_check_contents(thr_context *context, const thr_hits_view *view, thr_error *err);
