/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup.h - an index for updates: the place of each row, and the row of each name.
 *
 * Made at a file's first update in one pass over its items. Takes 4 bytes per item if the file reordered them, and 8 to
 * 16 per item if items have names.
 */
#pragma once

#include "base/memory.h"
#include "hits/file.h"

typedef struct thr_hit_index {
    uint32_t *places; /* by row; NULL: places are rows */
    uint32_t *slots;  /* hash table of names: row + 1, or 0; NULL: no names. At most half of the slots are used */
    size_t mask;
} thr_hit_index;

/* Make the index. THR_OK; THR_ENOMEM. */
thr_status thr_hits_index_make(thr_context *context, const thr_hits_contents *contents, thr_hit_index **index,
                               thr_error *err);
void thr_hits_index_free(thr_context *context, thr_hit_index *index);

static inline uint32_t thr_hit_index_place(const thr_hit_index *index, uint32_t row) {
    return index->places == NULL ? row : index->places[row];
}

/* Find the row with this name. */
bool thr_hits_index_find(const thr_hit_index *index, const thr_strings *names, const char *name, uint64_t *row);
