/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slots.h - a hash table of items numbered 0, 1, ... in the order of insertion; dictionaries are built on it.
 *
 * Linear probing: an item occupies the first free place at or after its hash. The caller compares the candidates. The
 * load is at most one half.
 */
#pragma once

#include "base/memory.h"

/* Initialise with zeros. */
typedef struct thr_slots {
    uint64_t *hashes; /* one per item */
    uint32_t *places; /* the item's number + 1, or 0 if free */
    size_t mask;
    size_t hashes_capacity;
} thr_slots;

/* Make room for item number n; `what` is for messages. THR_OK; THR_ERANGE for too many; THR_ENOMEM. */
thr_status thr_slots_make_room(thr_context *context, thr_slots *slots, size_t n, const char *what, thr_error *err);
/* Empty all places and keep their memory. */
void thr_slots_clear(thr_slots *slots);
void thr_slots_free(thr_context *context, thr_slots *slots);

/*
 * Find the next item with this hash. Initialise *slot with the hash before the first call. Returns true with the
 * number of an item, or false with *slot a free place. thr_slots_make_room must have been called.
 */
static inline bool thr_slots_next(const thr_slots *slots, uint64_t hash, size_t *slot, uint32_t *number) {
    for (; slots->places[*slot & slots->mask] != 0; ++*slot) {
        *number = slots->places[*slot & slots->mask] - 1;
        if (slots->hashes[*number] == hash) {
            ++*slot;
            return true;
        }
    }
    return false;
}

/* Insert the new item number n at the free place. */
static inline void thr_slots_put(thr_slots *slots, uint64_t hash, size_t slot, uint32_t n) {
    slots->hashes[n] = hash;
    slots->places[slot & slots->mask] = n + 1;
}
