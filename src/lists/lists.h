/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lists.h - compressed posting lists: which items have a feature (HitMatch 3.4).
 *
 * Items are numbered from 0 and stand in windows of 65,536, and within these in blocks of 256. What a feature has in a
 * block is written in one of three forms, by what is read and added up fastest:
 *
 *   ids      a place in the window, two bytes an item: up to 23 items that stand apart
 *   runs     a first place and a length less one, four bytes a run: up to 4 runs of 4 items and more on average; a run
 *            goes on from block to block
 *   bitmaps  32 bytes, bit i of byte j place 8 j + i of the block, and a byte for the block's number
 *
 * A feature that one item alone has is that item's number, and no list. What a feature has in one form is an *entry*,
 * and of an entry what it has in one window a *part*: parts have a number of elements, and their window. All elements
 * of a form stand together, by feature, then by place, so that a search goes over each of a query's entries once, from
 * front to back.
 *
 * (The paper has blocks of 8-bit ids, grouped by their size. There a list is as many streams as it has sizes, and most
 * blocks of a large catalogue hold one item or two, behind a number as long as they are: docs/kernels.md.)
 */
#ifndef THR_LISTS_LISTS_H
#define THR_LISTS_LISTS_H

#include <thresher/hits.h>

enum {
    THR_LISTS_WINDOW = 65536,
    THR_LISTS_BLOCK = 256,
    THR_LISTS_BLOCKS = THR_LISTS_WINDOW / THR_LISTS_BLOCK,
    THR_LISTS_BITMAP = THR_LISTS_BLOCK / 8, /* bytes */
    THR_LISTS_MAX_WINDOWS = 256             /* THR_HITS_MAX_ITEMS */
};

typedef enum thr_lists_form { THR_LISTS_IDS, THR_LISTS_RUNS, THR_LISTS_BITMAPS, THR_LISTS_N_FORMS } thr_lists_form;

/* A view. */
typedef struct thr_lists {
    uint32_t n_items, n_features, n_lists, n_entries, n_parts;
    uint64_t n_postings;           /* pairs of an item and a feature it has */
    const uint32_t *features;      /* their numbers, ascending; NULL: 0, 1, 2, ... */
    const uint32_t *refs;          /* of a feature the number of its list; or its item, with THR_LISTS_ONE */
    const uint32_t *sizes;         /* items of a list */
    const uint32_t *first_entries; /* list l has entries first_entries[l] to first_entries[l + 1] - 1, by form */
    const uint8_t *entry_forms;
    const uint32_t *entry_begins; /* the first element in its form */
    const uint32_t *entry_parts;  /* entry e has parts entry_parts[e] to entry_parts[e + 1] - 1, by window; NULL: e */
    const uint8_t *part_windows;
    const uint16_t *part_sizes; /* elements, less one */
    uint32_t n_elements[THR_LISTS_N_FORMS];
    const uint16_t *ids;
    const uint16_t *runs; /* two each */
    const uint8_t *bitmap_blocks, *bitmaps;
} thr_lists;

static inline uint32_t thr_lists_n_windows(const thr_lists *lists) {
    return (lists->n_items + THR_LISTS_WINDOW - 1) / THR_LISTS_WINDOW;
}

/* Words of a bitmap of items that has room for whole windows. */
static inline size_t thr_lists_n_words(const thr_lists *lists) {
    return (size_t)thr_lists_n_windows(lists) * (THR_LISTS_WINDOW / 64);
}

/* In refs: that what is below is an item. */
#define THR_LISTS_ONE (UINT32_C(1) << 31)

/* The number of the feature in place f. */
static inline uint32_t thr_lists_feature(const thr_lists *lists, uint32_t f) {
    return lists->features == NULL ? f : lists->features[f];
}

/* Whether one item alone has the feature in place f: that is *item. Else the feature has list lists->refs[f]. */
static inline bool thr_lists_only(const thr_lists *lists, uint32_t f, uint32_t *item) {
    *item = lists->refs[f] & ~THR_LISTS_ONE;
    return (lists->refs[f] & THR_LISTS_ONE) != 0;
}

/* How many items have the feature in place f. */
static inline uint32_t thr_lists_size(const thr_lists *lists, uint32_t f) {
    uint32_t item;
    return thr_lists_only(lists, f, &item) ? 1 : lists->sizes[lists->refs[f]];
}

/* Entry e has parts from this one to that of entry e + 1, less one. */
static inline uint32_t thr_lists_first_part(const thr_lists *lists, uint32_t e) {
    return lists->entry_parts == NULL ? e : lists->entry_parts[e];
}

/* Where a feature stands among them, or lists->n_features. */
uint32_t thr_lists_find(const thr_lists *lists, uint32_t feature);

/* Whether an item has a feature, by its number. */
bool thr_lists_has(const thr_lists *lists, uint32_t feature, uint32_t item);

/* Set bit i % 64 of words[i / 64] for every item i that has the feature in place f; there is room for whole windows. */
void thr_lists_mark(const thr_lists *lists, uint32_t f, uint64_t *words);

/*
 * How many items of the filter, bits by item with room for whole windows, have the feature in place f; counting may end
 * once there are `enough`.
 */
uint64_t thr_lists_count(const thr_lists *lists, uint32_t f, const uint64_t *filter, uint64_t enough);

/* Bytes of all that the view shows. */
uint64_t thr_lists_bytes(const thr_lists *lists);

/* ------------------------------------------------------------------------------------------------ building */

/* Lists and the memory they are in. Zeroed before the build. */
typedef struct thr_built_lists {
    thr_lists lists;
    void *memory;
    uint64_t n_repeated; /* features that an item was given more than once, which count once */
} thr_built_lists;

/*
 * rows as thr_lists_postings_sort has them. All threads build; the result does not depend on how many there are.
 *
 * THR_OK; THR_EDIM for no items or more than THR_HITS_MAX_ITEMS; THR_ENOMEM; and what thr_lists_postings_sort returns.
 */
thr_status thr_lists_build(thr_context *context, const thr_item_features *items, const uint32_t *rows,
                           thr_built_lists *built, thr_error *err);
void thr_lists_built_free(thr_context *context, thr_built_lists *built);

#endif
