/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slots.h - things numbered as they come, 0, 1, ..., found again by their hashes: what dictionaries are made of.
 *
 * A thing's slot is the first one free from the place that its hash says. Whoever looks for a thing goes over the slots
 * from there and compares; at most half of them are taken.
 */
#ifndef THR_BASE_SLOTS_H
#define THR_BASE_SLOTS_H

#include "base/memory.h"

/* Set up by zeroing. */
typedef struct thr_slots {
    uint64_t *hashes; /* of every thing */
    uint32_t *places; /* its number + 1, or 0 */
    size_t mask;
    size_t hashes_capacity;
} thr_slots;

/* Room for thing number n; what is for messages. THR_OK; THR_ERANGE for too many; THR_ENOMEM. */
thr_status thr_slots_make_room(thr_context *context, thr_slots *slots, size_t n, const char *what, thr_error *err);
/* The same slots, none taken. */
void thr_slots_clear(thr_slots *slots);
void thr_slots_free(thr_context *context, thr_slots *slots);

/*
 * The next thing that may be the one with this hash; *slot starts at it, and is a free slot where false is returned.
 * There is room.
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

/* Thing number n, which is new, at the free slot. */
static inline void thr_slots_put(thr_slots *slots, uint64_t hash, size_t slot, uint32_t n) {
    slots->hashes[n] = hash;
    slots->places[slot & slots->mask] = n + 1;
}

#endif
