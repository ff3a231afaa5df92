/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_slots.h - a hash of a segment's names, as its file has it (docs/format.md).
 *
 * Three slots for two items, with linear probing. A name is at the first free slot from its home on. Its home is the
 * upper half of its checksum, scaled to the number of slots; the lower half is its tag, so that few other names are
 * read on the way.
 */
#pragma once

#include "base/text/string_table.h"

#include <stdbool.h>

typedef struct thr_name_slot {
    uint32_t tag, place; /* place: the item's number + 1; 0: the slot is empty */
} thr_name_slot;

static inline uint64_t thr_name_slots_count(uint64_t n_items) {
    return n_items + n_items / 2 + 1;
}

/* The checksum of a name of size bytes with its zero byte. */
uint64_t thr_index_name_key(const char *name, uint64_t size);

/* Fill zeroed slots with names, which are correct and all different. */
void thr_index_name_slots_fill(const thr_strings *names, thr_name_slot *slots);

/* Find a name. Safe for any bytes in slots and names: an item that is returned has the name. */
bool thr_index_name_slots_find(const thr_name_slot *slots, const thr_strings *names, const char *name, uint64_t key,
                               uint32_t *item);
