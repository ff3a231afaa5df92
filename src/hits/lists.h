/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lists.h - compressed posting lists: which items have a feature (HitMatch 3.4).
 *
 * Items are numbered from 0 and stand in blocks of 256. What a feature has in one block is written in the shortest of
 * three forms:
 *
 *   ids    a byte an item, its place in the block, ascending: 1 to 16 items
 *   runs   two bytes a run of neighbours, its first place and its length less one: 1 to 4 runs
 *   bits   a bitmap of 32 bytes, bit i of byte j place 8 j + i
 *
 * Blocks of one form and one length are a *group*: their values have one size, so that nothing is padded (errata 1),
 * and who reads them knows before the loop how many there are. In a group blocks stand by feature, then by number. A
 * feature's blocks in a group are an *entry*.
 *
 * One set of lists has at most 2^24 items (THR_HITS_MAX_ITEMS), so that a block's number takes two bytes.
 */
#ifndef THR_HITS_LISTS_H
#define THR_HITS_LISTS_H

#include <thresher/hits.h>

enum {
    THR_LISTS_BLOCK = 256,
    THR_LISTS_IDS = 16, /* the most items of a block written as ids */
    THR_LISTS_RUNS = 4, /* the most runs */
    THR_LISTS_BITS = THR_LISTS_IDS + THR_LISTS_RUNS,
    THR_LISTS_N_GROUPS = THR_LISTS_BITS + 1
};

/* Bytes of a block's values. Group n - 1 has n ids, group THR_LISTS_IDS + n - 1 n runs, THR_LISTS_BITS a bitmap. */
static inline uint32_t thr_lists_group_size(uint32_t group) {
    return group < THR_LISTS_IDS ? group + 1 : group < THR_LISTS_BITS ? 2 * (group - THR_LISTS_IDS + 1) : 32;
}

typedef struct thr_lists_group {
    const uint16_t *numbers; /* of the blocks */
    const uint8_t *values;   /* thr_lists_group_size bytes each */
    uint32_t n_blocks;
} thr_lists_group;

/* A view. */
typedef struct thr_lists {
    uint32_t n_items;
    uint32_t n_features, n_entries;
    uint64_t n_postings;           /* pairs of an item and a feature it has */
    const uint32_t *features;      /* their numbers, ascending */
    const uint32_t *sizes;         /* items of each */
    const uint32_t *first_entries; /* feature f has entries first_entries[f] to first_entries[f + 1] - 1, by group */
    const uint8_t *entry_groups;
    const uint32_t *entry_begins, *entry_lengths; /* blocks within the group */
    thr_lists_group groups[THR_LISTS_N_GROUPS];
} thr_lists;

/* Where a feature stands in lists->features, or lists->n_features. */
uint32_t thr_lists_find(const thr_lists *lists, uint32_t feature);

/* The first of n ascending numbers of blocks that is at least block, or n. */
uint32_t thr_lists_seek(const uint16_t *numbers, uint32_t n, uint32_t block);

/* Whether an item has a feature, by its number. */
bool thr_lists_has(const thr_lists *lists, uint32_t feature, uint32_t item);

/* Set bit i % 64 of words[i / 64] for every item i that has the feature in place f; there is room for whole blocks. */
void thr_lists_mark(const thr_lists *lists, uint32_t f, uint64_t *words);

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
 * rows as thr_postings_sort has them. All threads build; the result does not depend on how many there are.
 *
 * THR_OK; THR_EDIM for no items or more than THR_HITS_MAX_ITEMS; THR_ENOMEM; and what thr_postings_sort returns.
 */
thr_status thr_lists_build(thr_context *context, const thr_item_features *items, const uint32_t *rows,
                           thr_built_lists *built, thr_error *err);
void thr_built_lists_free(thr_context *context, thr_built_lists *built);

#endif
