/* SPDX-License-Identifier: Apache-2.0 */
/* file.c - the sections of a file of posting lists: writes them, and finds and checks them in a mapped file. */
#include "hits/file.h"

#include <thresher/hits.h>

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "lists/validate.h"

static const char *const section_names[THR_HITS_LAST + 1] = {
    "?",        "elements",   "features", "sizes", "entries",       "forms",   "begins", "parts",
    "windows",  "part sizes", "ids",      "runs",  "bitmap blocks", "bitmaps", "rows",   "item ids",
    "id order", "names",      "words",    "model", "multipliers",   "offsets", "refs"};

const thr_file_kind thr_hits_kind = {.magic = {'T', 'H', 'R', 'H', 'I', 'T', 0, 1},
                                     .oldest = THR_HITS_FORMAT,
                                     .newest = THR_HITS_FORMAT,
                                     .last = THR_HITS_LAST,
                                     .names = section_names,
                                     .foreign_status = THR_EFORMAT,
                                     .foreign_text = "is no file of posting lists: build one with thresher hits build",
                                     .remedy = THR_HITS_REMEDY};

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
    memcpy(header.magic, thr_hits_kind.magic, sizeof header.magic);
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

static thr_status check_header(const thr_section_file *file, const thr_hits_header *h, thr_error *err) {
    THR_TRY(thr_section_file_check_known(file, "flags value", h->has & ~(uint32_t)THR_HITS_HAS_ALL, err));
    if (h->n_items == 0 || h->n_items > THR_HITS_MAX_ITEMS || h->n_features > THR_HITS_MAX_FEATURE + 1 ||
        h->order > THR_HITS_ORDER_ROWS)
        return thr_section_file_damaged(file, THR_SECTIONS_VERSION_AT, "the header has invalid numbers", err);
    return THR_OK;
}

/* The numbers that determine which sections exist and how long they are. */
typedef struct shape {
    const thr_hits_header *header;
    const uint32_t *n_elements; /* of each form, and lists */
} shape;

enum { N_ELEMENTS = THR_LISTS_N_FORMS + 1, N_LISTS = THR_LISTS_N_FORMS };

/* The presence and size of a section. No size overflows. */
static thr_section_rule rule_of(const void *user, uint32_t kind, uint64_t *size) {
    const thr_hits_header *h = ((const shape *)user)->header;
    const uint32_t *n_elements = ((const shape *)user)->n_elements;
    const uint64_t n = h->n_items, n_lists = n_elements[N_LISTS];
    const struct {
        uint64_t n, size; /* elements and bytes of each */
        uint32_t has;     /* the bit of h->has that marks its presence; 0: always */
        bool longer;      /* text follows */
    } sections[THR_HITS_LAST + 1] = {
        [THR_HITS_ELEMENTS] = {N_ELEMENTS, 4, 0, false},
        [THR_HITS_FEATURES] = {h->n_features, 4, THR_HITS_HAS_FEATURES, false},
        [THR_HITS_REFS] = {h->n_features, 4, 0, false},
        [THR_HITS_SIZES] = {n_lists, 4, 0, false},
        [THR_HITS_ENTRIES] = {n_lists + 1, 4, 0, false},
        [THR_HITS_FORMS] = {h->n_entries, 1, 0, false},
        [THR_HITS_BEGINS] = {h->n_entries, 4, 0, false},
        [THR_HITS_PARTS] = {h->n_entries + UINT64_C(1), 4, THR_HITS_HAS_PARTS, false},
        [THR_HITS_WINDOWS] = {h->n_parts, 1, 0, false},
        [THR_HITS_PART_SIZES] = {h->n_parts, 2, 0, false},
        [THR_HITS_IDS] = {n_elements[THR_LISTS_IDS], 2, 0, false},
        [THR_HITS_RUNS] = {n_elements[THR_LISTS_RUNS], 4, 0, false},
        [THR_HITS_BITMAP_BLOCKS] = {n_elements[THR_LISTS_BITMAPS], 1, 0, false},
        [THR_HITS_BITMAPS] = {n_elements[THR_LISTS_BITMAPS], 32, 0, false},
        [THR_HITS_ROWS] = {n, 4, THR_HITS_HAS_ROWS, false},
        [THR_HITS_ITEM_IDS] = {n, 8, THR_HITS_HAS_IDS, false},
        [THR_HITS_ID_ORDER] = {n, 4, THR_HITS_HAS_IDS, false},
        [THR_HITS_NAMES] = {n + 1, 8, THR_HITS_HAS_NAMES, true},
        [THR_HITS_WORDS] = {h->n_features + UINT64_C(1), 8, THR_HITS_HAS_WORDS, true},
        [THR_HITS_MODEL] = {1, 8, THR_HITS_HAS_MODEL, false},
        [THR_HITS_MULTIPLIERS] = {n, 4, THR_HITS_HAS_MULTIPLIERS, false},
        [THR_HITS_OFFSETS] = {n, 4, THR_HITS_HAS_OFFSETS, false},
    };
    if (kind == 0 || kind > THR_HITS_LAST)
        return THR_SECTION_ABSENT;
    *size = sections[kind].n * sections[kind].size;
    if (sections[kind].has != 0 && (h->has & sections[kind].has) == 0)
        return THR_SECTION_ABSENT;
    return sections[kind].longer ? THR_SECTION_AT_LEAST : THR_SECTION_EXACT;
}

static thr_strings strings_at(const thr_section_file *file, uint32_t kind, uint64_t n) {
    const thr_section *section = thr_section_file_find(file, kind);
    if (section == NULL)
        return (thr_strings){.offsets = NULL};
    return thr_strings_at(file->data + section->offset, section->size, n);
}

static void point(thr_hits_view *view, const thr_hits_header *h, const uint32_t *n_elements) {
    const thr_section_file *file = &view->file;
    thr_hits_contents *c = &view->contents;
    c->lists = (thr_lists){.n_items = h->n_items,
                           .n_features = h->n_features,
                           .n_lists = n_elements[N_LISTS],
                           .n_entries = h->n_entries,
                           .n_parts = h->n_parts,
                           .n_postings = h->n_postings,
                           .features = thr_section_file_at(file, THR_HITS_FEATURES),
                           .refs = thr_section_file_at(file, THR_HITS_REFS),
                           .sizes = thr_section_file_at(file, THR_HITS_SIZES),
                           .first_entries = thr_section_file_at(file, THR_HITS_ENTRIES),
                           .entry_forms = thr_section_file_at(file, THR_HITS_FORMS),
                           .entry_begins = thr_section_file_at(file, THR_HITS_BEGINS),
                           .entry_parts = thr_section_file_at(file, THR_HITS_PARTS),
                           .part_windows = thr_section_file_at(file, THR_HITS_WINDOWS),
                           .part_sizes = thr_section_file_at(file, THR_HITS_PART_SIZES),
                           .ids = thr_section_file_at(file, THR_HITS_IDS),
                           .runs = thr_section_file_at(file, THR_HITS_RUNS),
                           .bitmap_blocks = thr_section_file_at(file, THR_HITS_BITMAP_BLOCKS),
                           .bitmaps = thr_section_file_at(file, THR_HITS_BITMAPS)};
    memcpy(c->lists.n_elements, n_elements, sizeof c->lists.n_elements);
    c->order = h->order;
    c->rows = thr_section_file_at(file, THR_HITS_ROWS);
    c->ids = thr_section_file_at(file, THR_HITS_ITEM_IDS);
    c->id_order = thr_section_file_at(file, THR_HITS_ID_ORDER);
    c->multipliers = thr_section_file_at(file, THR_HITS_MULTIPLIERS);
    c->offsets = thr_section_file_at(file, THR_HITS_OFFSETS);
    c->names = strings_at(file, THR_HITS_NAMES, h->n_items);
    c->words = strings_at(file, THR_HITS_WORDS, h->n_features);
    const void *model = thr_section_file_at(file, THR_HITS_MODEL);
    if (model != NULL)
        memcpy(&c->model, model, sizeof c->model);
}

/*
 * Read the section of elements, by which the sizes of others are computed: so its position is checked before the table.
 */
static bool read_elements(const thr_section_file *file, uint32_t n_elements[N_ELEMENTS]) {
    const size_t size = N_ELEMENTS * sizeof *n_elements;
    if (file->table_offset < THR_SECTIONS_HEADER + size)
        return false;
    memcpy(n_elements, file->data + THR_SECTIONS_HEADER, size);
    return true;
}

thr_status thr_hits_parse(const char *path, const void *data, uint64_t size, thr_hits_view *view, thr_error *err) {
    thr_section_file *file = &view->file;
    thr_hits_header h;
    uint32_t n_elements[N_ELEMENTS];
    *view = (thr_hits_view){.contents.model = 0};
    THR_TRY(thr_section_file_read(&thr_hits_kind, path, data, size, file, err));
    memcpy(&h, data, sizeof h);
    THR_TRY(check_header(file, &h, err));
    const shape wanted = {&h, n_elements};
    if (!read_elements(file, n_elements))
        return thr_section_file_damaged(file, file->table_offset, "the section table is wrong", err);
    THR_TRY(thr_section_file_fit(file, rule_of, &wanted, err));
    point(view, &h, n_elements);
    const char *wrong = thr_lists_check(&view->contents.lists);
    if (wrong == NULL && view->contents.rows != NULL)
        for (uint32_t place = 0; place < h.n_items && wrong == NULL; place++)
            wrong = view->contents.rows[place] < h.n_items ? NULL : "a row exceeds the number of items";
    if (wrong == NULL && (h.has & THR_HITS_HAS_MODEL) != 0 && view->contents.model == 0)
        wrong = "the model's fingerprint is 0, which means none";
    return wrong == NULL ? THR_OK : thr_section_file_damaged(file, 0, wrong, err);
}
