/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup.h - where a file's rows stand in its lists, and which row has a name: what updates look up.
 *
 * Made at a file's first update, from one pass over its items: 4 bytes an item where the file has an order of its own,
 * and 8 to 16 where items have names.
 */
#ifndef THR_HITS_LOOKUP_H
#define THR_HITS_LOOKUP_H

#include "base/memory.h"
#include "hits/file.h"

typedef struct thr_hit_index {
    uint32_t *places; /* of rows; NULL: rows are places */
    uint32_t *slots;  /* of names by their hash: row + 1, or 0; NULL: no names. At most half of them are taken */
    size_t mask;
} thr_hit_index;

/* THR_OK; THR_ENOMEM. */
thr_status thr_hit_index_make(thr_context *context, const thr_hits_contents *contents, thr_hit_index **index,
                              thr_error *err);
void thr_hit_index_free(thr_context *context, thr_hit_index *index);

static inline uint32_t thr_hit_index_place(const thr_hit_index *index, uint32_t row) {
    return index->places == NULL ? row : index->places[row];
}

/* The row with this name; false where none has it. */
bool thr_hit_index_find(const thr_hit_index *index, const thr_strings *names, const char *name, uint64_t *row);

#endif
