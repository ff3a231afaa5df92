/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.c - the sections of a file of posting lists: writes them, finds and checks them in a mapped file, and notices
 * that open files were changed on disk.
 */
#include "hits/file.h"

#include <thresher/hits.h>

#include <string.h>

#include "base/error.h"
#include "base/files/guard.h"
#include "hits/hits.h"
#include "lists/validate.h"

static const char *const section_names[THR_HITS_LAST + 1] = {
    "?",        "elements",      "features", "sizes", "entries",           "forms",   "begins", "stretches",
    "windows",  "stretch sizes", "ids",      "runs",  "bitmap containers", "bitmaps", "rows",   "item ids",
    "id order", "names",         "words",    "model", "multipliers",       "offsets", "refs",   "given"};

const thr_file_kind thr_hits_kind = {.magic = {'T', 'H', 'R', 'H', 'I', 'T', 0, 1},
                                     .last = THR_HITS_LAST,
                                     .names = section_names,
                                     .foreign_status = THR_EFORMAT,
                                     .foreign_text = "is no file of posting lists: build one with thresher hits build",
                                     .remedy = THR_HITS_REMEDY};

/* ------------------------------------------------------------------------------------------------ sections */

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
        [THR_HITS_STRETCHES] = {h->n_entries + UINT64_C(1), 4, THR_HITS_HAS_STRETCHES, false},
        [THR_HITS_WINDOWS] = {h->n_stretches, 1, 0, false},
        [THR_HITS_STRETCH_SIZES] = {h->n_stretches, 2, 0, false},
        [THR_HITS_IDS] = {n_elements[THR_LISTS_PLACES], 2, 0, false},
        [THR_HITS_RUNS] = {n_elements[THR_LISTS_RUNS], 4, 0, false},
        [THR_HITS_BITMAP_CONTAINERS] = {n_elements[THR_LISTS_BITMAPS], 1, 0, false},
        [THR_HITS_BITMAPS] = {n_elements[THR_LISTS_BITMAPS], 32, 0, false},
        [THR_HITS_ROWS] = {n, 4, THR_HITS_HAS_ROWS, false},
        [THR_HITS_ITEM_IDS] = {n, 8, THR_HITS_HAS_IDS, false},
        [THR_HITS_ID_ORDER] = {n, 4, THR_HITS_HAS_IDS, false},
        [THR_HITS_NAMES] = {n + 1, 8, THR_HITS_HAS_NAMES, true},
        [THR_HITS_WORDS] = {h->n_features + UINT64_C(1), 8, THR_HITS_HAS_WORDS, true},
        [THR_HITS_MODEL] = {1, 8, THR_HITS_HAS_MODEL, false},
        [THR_HITS_MULTIPLIERS] = {n, 4, THR_HITS_HAS_MULTIPLIERS, false},
        [THR_HITS_OFFSETS] = {n, 4, THR_HITS_HAS_OFFSETS, false},
        [THR_HITS_GIVEN] = {n, 4, THR_HITS_HAS_GIVEN, false},
    };
    *size = sections[kind].n * sections[kind].size;
    if (sections[kind].has != 0 && (h->has & sections[kind].has) == 0)
        return THR_SECTION_ABSENT;
    return sections[kind].longer ? THR_SECTION_AT_LEAST : THR_SECTION_EXACT;
}

/* ------------------------------------------------------------------------------------------------ write */

static thr_section_data strings_data(const thr_strings *strings) {
    return (thr_section_data){strings->offsets, strings->bytes, (size_t)strings->size};
}

thr_status thr_hits_write(thr_context *context, const char *path, const thr_hits_contents *c, thr_error *err) {
    const thr_lists *l = &c->lists;
    thr_hits_header header = {
        .n_items = l->n_items,
        .n_features = l->n_features,
        .n_entries = l->n_entries,
        .has = (c->rows != NULL ? THR_HITS_HAS_ROWS : 0u) | (c->ids != NULL ? THR_HITS_HAS_IDS : 0u) |
               (c->names.offsets != NULL ? THR_HITS_HAS_NAMES : 0u) |
               (c->words.offsets != NULL ? THR_HITS_HAS_WORDS : 0u) | (c->model != 0 ? THR_HITS_HAS_MODEL : 0u) |
               (c->multipliers != NULL ? THR_HITS_HAS_MULTIPLIERS : 0u) |
               (c->offsets != NULL ? THR_HITS_HAS_OFFSETS : 0u) | (l->features != NULL ? THR_HITS_HAS_FEATURES : 0u) |
               (l->entry_stretches != NULL ? THR_HITS_HAS_STRETCHES : 0u) |
               (c->given != NULL ? THR_HITS_HAS_GIVEN : 0u),
        .order = c->order,
        .n_stretches = l->n_stretches,
        .n_postings = l->n_postings};
    const uint32_t elements[] = {l->n_elements[0], l->n_elements[1], l->n_elements[2], l->n_lists};
    const thr_section_data sections[THR_HITS_LAST + 1] = {
        [THR_HITS_ELEMENTS] = {.data = elements},
        [THR_HITS_FEATURES] = {.data = l->features},
        [THR_HITS_SIZES] = {.data = l->sizes},
        [THR_HITS_ENTRIES] = {.data = l->first_entries},
        [THR_HITS_FORMS] = {.data = l->entry_forms},
        [THR_HITS_BEGINS] = {.data = l->entry_begins},
        [THR_HITS_STRETCHES] = {.data = l->entry_stretches},
        [THR_HITS_WINDOWS] = {.data = l->stretch_windows},
        [THR_HITS_STRETCH_SIZES] = {.data = l->stretch_sizes},
        [THR_HITS_IDS] = {.data = l->places},
        [THR_HITS_RUNS] = {.data = l->runs},
        [THR_HITS_BITMAP_CONTAINERS] = {.data = l->bitmap_containers},
        [THR_HITS_BITMAPS] = {.data = l->bitmaps},
        [THR_HITS_ROWS] = {.data = c->rows},
        [THR_HITS_ITEM_IDS] = {.data = c->ids},
        [THR_HITS_ID_ORDER] = {.data = c->id_order},
        [THR_HITS_NAMES] = strings_data(&c->names),
        [THR_HITS_WORDS] = strings_data(&c->words),
        [THR_HITS_MODEL] = {.data = &c->model},
        [THR_HITS_MULTIPLIERS] = {.data = c->multipliers},
        [THR_HITS_OFFSETS] = {.data = c->offsets},
        [THR_HITS_REFS] = {.data = l->refs},
        [THR_HITS_GIVEN] = {.data = c->given},
    };
    const thr_section_contents contents = {&thr_hits_kind, &header, rule_of, &(shape){&header, elements}, sections};
    return thr_section_file_write(context, path, &contents, err);
}

/* ------------------------------------------------------------------------------------------------ parse */

static thr_status check_header(const thr_section_file *file, const thr_hits_header *h, thr_error *err) {
    if (h->n_items == 0 || h->n_items > THR_HITS_MAX_ITEMS || h->n_features > THR_HITS_MAX_FEATURE + 1 ||
        h->order > THR_HITS_ORDER_ROWS || (h->has & ~(uint32_t)THR_HITS_HAS_ALL) != 0)
        return thr_section_file_damaged(file, THR_SECTIONS_VERSION_AT, "the header has invalid numbers", err);
    return THR_OK;
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
                           .n_stretches = h->n_stretches,
                           .n_postings = h->n_postings,
                           .features = thr_section_file_at(file, THR_HITS_FEATURES),
                           .refs = thr_section_file_at(file, THR_HITS_REFS),
                           .sizes = thr_section_file_at(file, THR_HITS_SIZES),
                           .first_entries = thr_section_file_at(file, THR_HITS_ENTRIES),
                           .entry_forms = thr_section_file_at(file, THR_HITS_FORMS),
                           .entry_begins = thr_section_file_at(file, THR_HITS_BEGINS),
                           .entry_stretches = thr_section_file_at(file, THR_HITS_STRETCHES),
                           .stretch_windows = thr_section_file_at(file, THR_HITS_WINDOWS),
                           .stretch_sizes = thr_section_file_at(file, THR_HITS_STRETCH_SIZES),
                           .places = thr_section_file_at(file, THR_HITS_IDS),
                           .runs = thr_section_file_at(file, THR_HITS_RUNS),
                           .bitmap_containers = thr_section_file_at(file, THR_HITS_BITMAP_CONTAINERS),
                           .bitmaps = thr_section_file_at(file, THR_HITS_BITMAPS)};
    memcpy(c->lists.n_elements, n_elements, sizeof c->lists.n_elements);
    c->order = h->order;
    c->rows = thr_section_file_at(file, THR_HITS_ROWS);
    c->ids = thr_section_file_at(file, THR_HITS_ITEM_IDS);
    c->id_order = thr_section_file_at(file, THR_HITS_ID_ORDER);
    c->multipliers = thr_section_file_at(file, THR_HITS_MULTIPLIERS);
    c->offsets = thr_section_file_at(file, THR_HITS_OFFSETS);
    c->given = thr_section_file_at(file, THR_HITS_GIVEN);
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
    const char *wrong = thr_lists_check_bounds(&view->contents.lists);
    if (wrong == NULL && view->contents.rows != NULL)
        for (uint32_t place = 0; place < h.n_items && wrong == NULL; place++)
            wrong = view->contents.rows[place] < h.n_items ? NULL : "a row exceeds the number of items";
    if (wrong == NULL && (h.has & THR_HITS_HAS_MODEL) != 0 && view->contents.model == 0)
        wrong = "the model's fingerprint is 0, which means none";
    return wrong == NULL ? THR_OK : thr_section_file_damaged(file, 0, wrong, err);
}

/* ------------------------------------------------------------------------------------------------ changes on disk */

thr_status thr_hits_check_unchanged(const thr_hits *hits, thr_error *err) {
    thr_guard_renew();
    const thr_status status = thr_map_check(&hits->map, hits->path, err);
    const thr_hits *more = hits->delta == NULL ? NULL : hits->delta->from;
    return status != THR_OK || more == NULL ? status : thr_map_check(&more->map, more->path, err);
}

thr_status thr_hits_check_after(const thr_hits *hits, thr_status status, thr_error *err) {
    const thr_hits *more = hits->delta == NULL ? NULL : hits->delta->from;
    status = thr_map_check_after(&hits->map, hits->path, status, err);
    return more == NULL ? status : thr_map_check_after(&more->map, more->path, status, err);
}
