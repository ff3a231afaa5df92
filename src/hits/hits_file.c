/* SPDX-License-Identifier: Apache-2.0 */
#include "hits/hits_file.h"

#include <thresher/hits.h>

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "hits/lists_check.h"

const uint8_t thr_hits_magic[8] = {'T', 'H', 'R', 'H', 'I', 'T', 0, 1};

const char *thr_hits_section_name(uint32_t kind) {
    static const char *const names[THR_HITS_LAST + 1] = {
        "?",        "elements",   "features", "sizes", "entries",       "forms",   "begins", "parts",
        "windows",  "part sizes", "ids",      "runs",  "bitmap blocks", "bitmaps", "rows",   "item ids",
        "id order", "names",      "words",    "model", "multipliers",   "offsets", "refs"};
    return names[kind <= THR_HITS_LAST ? kind : 0];
}

/* ------------------------------------------------------------------------------------------------ write */

static thr_status write_lists(thr_section_writer *writer, const thr_lists *l, thr_error *err) {
    const size_t n_lists = l->n_lists, n_entries = l->n_entries, n_parts = l->n_parts;
    const uint32_t elements[] = {l->n_elements[0], l->n_elements[1], l->n_elements[2], l->n_lists};
    const size_t n_ids = l->n_elements[THR_LISTS_IDS], n_runs = l->n_elements[THR_LISTS_RUNS];
    const size_t n_bitmaps = l->n_elements[THR_LISTS_BITMAPS];
    const struct {
        const void *data;
        size_t size;
    } sections[] = {{elements, sizeof elements},
                    {l->features, l->n_features * sizeof *l->features},
                    {l->sizes, n_lists * sizeof *l->sizes},
                    {l->first_entries, (n_lists + 1) * sizeof *l->first_entries},
                    {l->entry_forms, n_entries},
                    {l->entry_begins, n_entries * sizeof *l->entry_begins},
                    {l->entry_parts, (n_entries + 1) * sizeof *l->entry_parts},
                    {l->part_windows, n_parts},
                    {l->part_sizes, n_parts * sizeof *l->part_sizes},
                    {l->ids, n_ids * sizeof *l->ids},
                    {l->runs, 2 * n_runs * sizeof *l->runs},
                    {l->bitmap_blocks, n_bitmaps},
                    {l->bitmaps, n_bitmaps * THR_LISTS_BITMAP}};
    for (uint32_t i = 0; i < sizeof sections / sizeof sections[0]; i++)
        if (sections[i].data != NULL)
            THR_TRY(thr_sections_put(writer, THR_HITS_ELEMENTS + i, sections[i].data, sections[i].size, err));
    return THR_OK;
}

static thr_status write_strings(thr_section_writer *writer, uint32_t kind, const thr_strings *strings, thr_error *err) {
    THR_TRY(thr_sections_begin(writer, kind, err));
    THR_TRY(thr_sections_write(writer, strings->offsets, ((size_t)strings->n + 1) * sizeof(uint64_t), err));
    THR_TRY(thr_sections_write(writer, strings->bytes, (size_t)strings->size, err));
    thr_sections_end(writer);
    return THR_OK;
}

static thr_status write_all(thr_section_writer *writer, const thr_hits_contents *c, thr_error *err) {
    const size_t n = c->lists.n_items;
    thr_hits_header header = {.version = THR_HITS_FORMAT,
                              .n_items = c->lists.n_items,
                              .n_features = c->lists.n_features,
                              .n_entries = c->lists.n_entries,
                              .order = c->order,
                              .n_parts = c->lists.n_parts,
                              .n_postings = c->lists.n_postings};
    header.has =
        (c->rows != NULL ? THR_HITS_HAS_ROWS : 0u) | (c->ids != NULL ? THR_HITS_HAS_IDS : 0u) |
        (c->names.offsets != NULL ? THR_HITS_HAS_NAMES : 0u) | (c->words.offsets != NULL ? THR_HITS_HAS_WORDS : 0u) |
        (c->model != 0 ? THR_HITS_HAS_MODEL : 0u) | (c->multipliers != NULL ? THR_HITS_HAS_MULTIPLIERS : 0u) |
        (c->offsets != NULL ? THR_HITS_HAS_OFFSETS : 0u) | (c->lists.features != NULL ? THR_HITS_HAS_FEATURES : 0u) |
        (c->lists.entry_parts != NULL ? THR_HITS_HAS_PARTS : 0u);
    memcpy(header.magic, thr_hits_magic, sizeof header.magic);
    THR_TRY(write_lists(writer, &c->lists, err));
    if (c->rows != NULL)
        THR_TRY(thr_sections_put(writer, THR_HITS_ROWS, c->rows, n * sizeof *c->rows, err));
    if (c->ids != NULL) {
        THR_TRY(thr_sections_put(writer, THR_HITS_ITEM_IDS, c->ids, n * sizeof *c->ids, err));
        THR_TRY(thr_sections_put(writer, THR_HITS_ID_ORDER, c->id_order, n * sizeof *c->id_order, err));
    }
    if (c->names.offsets != NULL)
        THR_TRY(write_strings(writer, THR_HITS_NAMES, &c->names, err));
    if (c->words.offsets != NULL)
        THR_TRY(write_strings(writer, THR_HITS_WORDS, &c->words, err));
    if (c->model != 0)
        THR_TRY(thr_sections_put(writer, THR_HITS_MODEL, &c->model, sizeof c->model, err));
    if (c->multipliers != NULL)
        THR_TRY(thr_sections_put(writer, THR_HITS_MULTIPLIERS, c->multipliers, n * sizeof(float), err));
    if (c->offsets != NULL)
        THR_TRY(thr_sections_put(writer, THR_HITS_OFFSETS, c->offsets, n * sizeof(float), err));
    THR_TRY(thr_sections_put(writer, THR_HITS_REFS, c->lists.refs, c->lists.n_features * sizeof(uint32_t), err));
    return thr_sections_finish(writer, &header, err);
}

thr_status thr_hits_write(thr_context *context, const char *path, const thr_hits_contents *contents, thr_error *err) {
    thr_section_writer writer;
    thr_status status = thr_sections_open(context, path, &writer, err);
    if (status == THR_OK)
        status = write_all(&writer, contents, err);
    thr_sections_drop(&writer);
    return status;
}

/* ------------------------------------------------------------------------------------------------ parse */

static thr_status damaged(const char *path, uint64_t offset, const char *what, thr_error *err) {
    return thr_fail(err, THR_ECORRUPT, "%s: offset %" PRIu64 ": %s: " THR_HITS_REMEDY, path, offset, what);
}

static thr_status check_header(const char *path, const thr_hits_header *h, uint64_t size, thr_error *err) {
    if (memcmp(h->magic, thr_hits_magic, sizeof h->magic) != 0)
        return thr_fail(err, THR_EFORMAT, "%s: is no file of posting lists: build one with thresher hits build", path);
    if (h->version > THR_HITS_FORMAT)
        return thr_fail(err, THR_EVERSION,
                        "%s: written by a newer Thresher (format %" PRIu32 "; this one reads %d): update Thresher",
                        path, h->version, THR_HITS_FORMAT);
    if (h->version == 1)
        return thr_fail(err, THR_EVERSION, "%s: written by an older Thresher (format 1): build it again", path);
    if (h->version == 0 || h->n_items == 0 || h->n_items > THR_HITS_MAX_ITEMS ||
        h->n_features > THR_HITS_MAX_FEATURE + 1 || h->has > THR_HITS_HAS_ALL || h->order > THR_HITS_ORDER_ROWS)
        return damaged(path, 8, "the header holds wrong numbers", err);
    if (h->n_sections > THR_HITS_LAST || h->table_offset % THR_SECTION_ALIGN != 0 || h->table_offset > size ||
        size - h->table_offset != (uint64_t)h->n_sections * sizeof(thr_section))
        return damaged(path, 40, "the section table does not end the file", err);
    return THR_OK;
}

/* What decides which sections there are and how large they are. */
typedef struct shape {
    const thr_hits_header *header;
    const uint32_t *n_elements; /* of each form, and lists */
} shape;

enum { N_ELEMENTS = THR_LISTS_N_FORMS + 1, N_LISTS = THR_LISTS_N_FORMS };

static thr_section_rule there_if(const thr_hits_header *h, uint32_t bit, thr_section_rule rule) {
    return (h->has & bit) != 0 ? rule : THR_SECTION_ABSENT;
}

/* None of the sizes overflows. */
static thr_section_rule rule_of(const void *user, uint32_t kind, uint64_t *size) {
    const thr_hits_header *h = ((const shape *)user)->header;
    const uint32_t *n_elements = ((const shape *)user)->n_elements;
    const uint64_t word = sizeof(uint32_t), n = h->n_items;
    switch ((thr_hits_section)kind) {
    case THR_HITS_ELEMENTS:
        *size = N_ELEMENTS * word;
        return THR_SECTION_EXACT;
    case THR_HITS_FEATURES:
        *size = h->n_features * word;
        return there_if(h, THR_HITS_HAS_FEATURES, THR_SECTION_EXACT);
    case THR_HITS_REFS:
        *size = h->n_features * word;
        return THR_SECTION_EXACT;
    case THR_HITS_SIZES:
        *size = n_elements[N_LISTS] * word;
        return THR_SECTION_EXACT;
    case THR_HITS_ENTRIES:
        *size = (n_elements[N_LISTS] + UINT64_C(1)) * word;
        return THR_SECTION_EXACT;
    case THR_HITS_FORMS:
        *size = h->n_entries;
        return THR_SECTION_EXACT;
    case THR_HITS_BEGINS:
        *size = h->n_entries * word;
        return THR_SECTION_EXACT;
    case THR_HITS_PARTS:
        *size = (h->n_entries + UINT64_C(1)) * word;
        return there_if(h, THR_HITS_HAS_PARTS, THR_SECTION_EXACT);
    case THR_HITS_WINDOWS:
        *size = h->n_parts;
        return THR_SECTION_EXACT;
    case THR_HITS_PART_SIZES:
        *size = h->n_parts * sizeof(uint16_t);
        return THR_SECTION_EXACT;
    case THR_HITS_IDS:
        *size = n_elements[THR_LISTS_IDS] * sizeof(uint16_t);
        return THR_SECTION_EXACT;
    case THR_HITS_RUNS:
        *size = n_elements[THR_LISTS_RUNS] * 2 * sizeof(uint16_t);
        return THR_SECTION_EXACT;
    case THR_HITS_BITMAP_BLOCKS:
        *size = n_elements[THR_LISTS_BITMAPS];
        return THR_SECTION_EXACT;
    case THR_HITS_BITMAPS:
        *size = n_elements[THR_LISTS_BITMAPS] * UINT64_C(32);
        return THR_SECTION_EXACT;
    case THR_HITS_ROWS:
        *size = n * word;
        return there_if(h, THR_HITS_HAS_ROWS, THR_SECTION_EXACT);
    case THR_HITS_ITEM_IDS:
        *size = n * sizeof(uint64_t);
        return there_if(h, THR_HITS_HAS_IDS, THR_SECTION_EXACT);
    case THR_HITS_ID_ORDER:
        *size = n * word;
        return there_if(h, THR_HITS_HAS_IDS, THR_SECTION_EXACT);
    case THR_HITS_NAMES:
        *size = (n + 1) * sizeof(uint64_t);
        return there_if(h, THR_HITS_HAS_NAMES, THR_SECTION_AT_LEAST);
    case THR_HITS_WORDS:
        *size = (h->n_features + UINT64_C(1)) * sizeof(uint64_t);
        return there_if(h, THR_HITS_HAS_WORDS, THR_SECTION_AT_LEAST);
    case THR_HITS_MODEL:
        *size = sizeof(uint64_t);
        return there_if(h, THR_HITS_HAS_MODEL, THR_SECTION_EXACT);
    case THR_HITS_MULTIPLIERS:
        *size = n * sizeof(float);
        return there_if(h, THR_HITS_HAS_MULTIPLIERS, THR_SECTION_EXACT);
    case THR_HITS_OFFSETS:
        *size = n * sizeof(float);
        return there_if(h, THR_HITS_HAS_OFFSETS, THR_SECTION_EXACT);
    }
    return THR_SECTION_ABSENT;
}

static void point(thr_hits_view *view, const thr_hits_header *h, const uint32_t *n_elements) {
    const void *at[THR_HITS_LAST + 1] = {NULL};
    uint64_t sizes[THR_HITS_LAST + 1] = {0};
    for (uint32_t i = 0; i < view->n_sections; i++) {
        at[view->sections[i].kind] = view->data + view->sections[i].offset;
        sizes[view->sections[i].kind] = view->sections[i].size;
    }
    thr_hits_contents *c = &view->contents;
    c->lists = (thr_lists){.n_items = h->n_items,
                           .n_features = h->n_features,
                           .n_lists = n_elements[N_LISTS],
                           .n_entries = h->n_entries,
                           .n_parts = h->n_parts,
                           .n_postings = h->n_postings,
                           .features = at[THR_HITS_FEATURES],
                           .refs = at[THR_HITS_REFS],
                           .sizes = at[THR_HITS_SIZES],
                           .first_entries = at[THR_HITS_ENTRIES],
                           .entry_forms = at[THR_HITS_FORMS],
                           .entry_begins = at[THR_HITS_BEGINS],
                           .entry_parts = at[THR_HITS_PARTS],
                           .part_windows = at[THR_HITS_WINDOWS],
                           .part_sizes = at[THR_HITS_PART_SIZES],
                           .ids = at[THR_HITS_IDS],
                           .runs = at[THR_HITS_RUNS],
                           .bitmap_blocks = at[THR_HITS_BITMAP_BLOCKS],
                           .bitmaps = at[THR_HITS_BITMAPS]};
    memcpy(c->lists.n_elements, n_elements, sizeof c->lists.n_elements);
    c->order = h->order;
    c->rows = at[THR_HITS_ROWS];
    c->ids = at[THR_HITS_ITEM_IDS];
    c->id_order = at[THR_HITS_ID_ORDER];
    c->multipliers = at[THR_HITS_MULTIPLIERS];
    c->offsets = at[THR_HITS_OFFSETS];
    if (at[THR_HITS_NAMES] != NULL)
        c->names = thr_strings_at(at[THR_HITS_NAMES], sizes[THR_HITS_NAMES], h->n_items);
    if (at[THR_HITS_WORDS] != NULL)
        c->words = thr_strings_at(at[THR_HITS_WORDS], sizes[THR_HITS_WORDS], h->n_features);
    if (at[THR_HITS_MODEL] != NULL)
        memcpy(&c->model, at[THR_HITS_MODEL], sizeof c->model);
}

/* The first section says how large others are, so its place is checked before the table is. */
static bool read_elements(const thr_hits_view *view, const thr_hits_header *h, uint32_t n_elements[N_ELEMENTS]) {
    const size_t size = N_ELEMENTS * sizeof *n_elements;
    if (h->table_offset < sizeof *h + size)
        return false;
    memcpy(n_elements, view->data + sizeof *h, size);
    return true;
}

thr_status thr_hits_parse(const char *path, const void *data, uint64_t size, thr_hits_view *view, thr_error *err) {
    thr_hits_header h;
    uint32_t n_elements[N_ELEMENTS];
    *view = (thr_hits_view){.path = path, .data = data, .size = size};
    if (size < sizeof h)
        return thr_fail(err, THR_EFORMAT,
                        "%s: %" PRIu64 " bytes are no posting lists: build them with thresher hits build", path, size);
    memcpy(&h, data, sizeof h);
    THR_TRY(check_header(path, &h, size, err));
    view->n_sections = h.n_sections;
    view->checksum = h.checksum;
    memcpy(view->sections, view->data + h.table_offset, h.n_sections * sizeof(thr_section));
    if (thr_sections_checksum(&h, view->sections, h.n_sections) != h.checksum)
        return damaged(path, 56, "the checksum of the header and the section table is wrong", err);
    const shape wanted = {&h, n_elements};
    if (!read_elements(view, &h, n_elements) ||
        !thr_sections_fit(view->sections, view->n_sections, h.table_offset, THR_HITS_LAST, rule_of, &wanted))
        return damaged(path, h.table_offset, "the section table is wrong", err);
    point(view, &h, n_elements);
    const char *wrong = thr_lists_check(&view->contents.lists);
    if (wrong == NULL && view->contents.rows != NULL)
        for (uint32_t place = 0; place < h.n_items && wrong == NULL; place++)
            wrong = view->contents.rows[place] < h.n_items ? NULL : "a row is none of the items'";
    if (wrong == NULL && (h.has & THR_HITS_HAS_MODEL) != 0 && view->contents.model == 0)
        wrong = "the model's fingerprint is 0, which means none";
    return wrong == NULL ? THR_OK : damaged(path, 0, wrong, err);
}
