/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lists.h - compressed posting lists: which items have a feature (HitMatch 3.4).
 *
 * Items have numbers from 0, their *places*. Places are cut into windows of 65,536, and these into containers of 256.
 * The items of a feature in one container are written in the form that is read and added up fastest:
 *
 *   form     bytes                                                   used for
 *   places   2 per item: its place in the window                     up to 23 scattered items
 *   runs     4 per run: its first place, and its length less one     up to 4 runs with at least 4 items on average
 *   bitmaps  33: bit i of byte j is place 8 j + i of the container;  all others
 *            one byte is the container's number
 *
 * A run may continue across containers. A feature of one item has no list: its reference is that item's place. The
 * elements of a feature in one form are an *entry*; the elements of an entry in one window are a *stretch*, which
 * stores how many there are, and the window's number. All elements of a form are contiguous, ordered by feature, then
 * by place, so a search reads each entry of its query once, forwards.
 *
 * (The paper uses blocks of 256 items with 8-bit ids, one stream per block size. In a large catalogue most blocks have
 * one or two items, where the block number costs as much as it saves: docs/kernels.md.)
 */
#pragma once

#include <thresher/hits.h>

#include "base/minmax.h"

enum {
    THR_LISTS_WINDOW = 65536,
    THR_LISTS_CONTAINER_PLACES = 256,
    THR_LISTS_WINDOW_CONTAINERS = THR_LISTS_WINDOW / THR_LISTS_CONTAINER_PLACES,
    THR_LISTS_BITMAP_BYTES = THR_LISTS_CONTAINER_PLACES / 8, /* bytes */
    THR_LISTS_MAX_WINDOWS = 256                              /* THR_HITS_MAX_ITEMS */
};

typedef enum thr_lists_form { THR_LISTS_PLACES, THR_LISTS_RUNS, THR_LISTS_BITMAPS, THR_LISTS_N_FORMS } thr_lists_form;

/* A view of posting lists. Owns nothing. */
typedef struct thr_lists {
    uint32_t n_items, n_features, n_lists, n_entries, n_stretches;
    uint64_t n_postings;      /* pairs of an item and a feature it has */
    const uint32_t *features; /* their numbers, ascending; NULL: 0, 1, 2, ... */
    /* per feature: the number of its list, or THR_LISTS_SINGLE + the place of its only item */
    const uint32_t *refs;
    const uint32_t *sizes;         /* per list: its items */
    const uint32_t *first_entries; /* list l has entries first_entries[l] to first_entries[l + 1] - 1, by form */
    const uint8_t *entry_forms;
    const uint32_t *entry_begins; /* per entry: its first element in its form */
    /* per entry and one more: its first stretch, by window; NULL: entry e has stretch e alone */
    const uint32_t *entry_stretches;
    const uint8_t *stretch_windows;
    const uint16_t *stretch_sizes; /* elements, less one */
    uint32_t n_elements[THR_LISTS_N_FORMS];
    const uint16_t *places;
    const uint16_t *runs; /* two per run */
    const uint8_t *bitmap_containers, *bitmaps;
} thr_lists;

static inline uint32_t thr_lists_n_windows(const thr_lists *lists) {
    return THR_CEIL_DIV(lists->n_items, THR_LISTS_WINDOW);
}

/* The number of 64-bit words of a bitmap of places, in whole windows. */
static inline size_t thr_lists_n_words(const thr_lists *lists) {
    return (size_t)thr_lists_n_windows(lists) * (THR_LISTS_WINDOW / 64);
}

/* Flag in refs: the other bits are a place. */
#define THR_LISTS_SINGLE (UINT32_C(1) << 31)

/* The number of the feature at index f. */
static inline uint32_t thr_lists_feature(const thr_lists *lists, uint32_t f) {
    return lists->features == NULL ? f : lists->features[f];
}

/* Whether exactly one item has the feature at index f, in *place. Otherwise its list is lists->refs[f]. */
static inline bool thr_lists_is_single(const thr_lists *lists, uint32_t f, uint32_t *place) {
    *place = lists->refs[f] & ~THR_LISTS_SINGLE;
    return (lists->refs[f] & THR_LISTS_SINGLE) != 0;
}

/* How many items have the feature at index f. */
static inline uint32_t thr_lists_size(const thr_lists *lists, uint32_t f) {
    uint32_t place;
    return thr_lists_is_single(lists, f, &place) ? 1 : lists->sizes[lists->refs[f]];
}

/* Entry e has stretches from thr_lists_first_stretch(lists, e) to thr_lists_first_stretch(lists, e + 1) - 1. */
static inline uint32_t thr_lists_first_stretch(const thr_lists *lists, uint32_t e) {
    return lists->entry_stretches == NULL ? e : lists->entry_stretches[e];
}

/* The index of the feature with this number, or lists->n_features if there is none. Binary search. */
uint32_t thr_lists_find(const thr_lists *lists, uint32_t feature);

/* Whether the item in `place` has the feature with this number. */
bool thr_lists_has(const thr_lists *lists, uint32_t feature, uint32_t place);

/* Set the bits of the places that n elements of a form have, from element `at` on, in the words of their window. */
void thr_lists_mark_stretch(const thr_lists *lists, uint32_t form, uint32_t at, uint32_t n, uint64_t *words);

/* Set bit p % 64 of words[p / 64] for every place p whose item has the feature at index f. words has whole windows. */
void thr_lists_mark(const thr_lists *lists, uint32_t f, uint64_t *words);

/*
 * Write the places of the items that have the feature at index f, in any order. places has room for n_items. Returns
 * their number, thr_lists_size unless the file is damaged.
 */
uint32_t thr_lists_places(const thr_lists *lists, uint32_t f, uint32_t *places);

/*
 * Count the items of a filter that have the feature at index f. The filter has one bit per place, in whole windows.
 * Counting stops early once there are `enough`; the result is then at least `enough`.
 */
uint64_t thr_lists_count(const thr_lists *lists, uint32_t f, const uint64_t *filter, uint64_t enough);

/* Bytes of all arrays of the view. */
uint64_t thr_lists_bytes(const thr_lists *lists);

/* ------------------------------------------------------------------------------------------------ building */

/* Lists with the memory that they own. Initialise with zeros. */
typedef struct thr_built_lists {
    thr_lists lists;
    void *memory;
    uint64_t n_repeated; /* repetitions of a feature within an item, which count once */
} thr_built_lists;

/*
 * Build lists on all threads; the result does not depend on their number. rows as for thr_lists_transpose. Free
 * with thr_lists_built_free.
 *
 * THR_OK; THR_EDIM for no items or more than THR_HITS_MAX_ITEMS; THR_EINVAL for too many postings of one form;
 * THR_ENOMEM; and what thr_lists_transpose returns.
 */
thr_status thr_lists_build(thr_context *context, const thr_item_features *items, const uint32_t *rows,
                           thr_built_lists *built, thr_error *err);
void thr_lists_built_free(thr_context *context, thr_built_lists *built);
