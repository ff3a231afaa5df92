/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuckoo.h - where the words of a band code stand: a hash table of two places a key (Pagh and Rodler 2004).
 *
 * All bands are in one table, by band and code. A key is in one of its two places, or in the stash of a few that had
 * none; so a look-up reads two places whatever the load, and the stash, which hardly ever holds anything.
 *
 * Threads: a table never changes once it is built.
 */
#ifndef THR_LSH_CUCKOO_H
#define THR_LSH_CUCKOO_H

#include "base/memory.h"

enum { THR_CUCKOO_STASH = 8, THR_CUCKOO_SEEDS = 8 };

/* A span of words: words[first] to words[first + n - 1] have this code in this band. n 0: the slot is free. */
typedef struct thr_cuckoo_slot {
    uint32_t band, code, first, n;
} thr_cuckoo_slot;

_Static_assert(sizeof(thr_cuckoo_slot) == 16, "as it stands in files");

typedef struct thr_cuckoo {
    const thr_cuckoo_slot *slots; /* n_slots, and behind them the stash */
    uint32_t n_slots, n_stash;
    uint64_t seed;
} thr_cuckoo;

/* Slots for n spans: nine for four, so that the first seed is good as a rule. 0: more than a table can have. */
uint32_t thr_cuckoo_room(size_t n);

/*
 * Build a table of n spans of different keys in n_slots slots (1 at least), in memory that the caller frees: *slots.
 * THR_CUCKOO_SEEDS seeds from seed on are tried without a stash, then as many with one.
 *
 * Returns THR_OK; THR_EUNSUPPORTED when none of them gives every key a place (err has the numbers); THR_ENOMEM. *slots
 * is NULL after an error.
 */
thr_status thr_cuckoo_build(thr_context *context, const thr_cuckoo_slot *spans, size_t n, uint32_t n_slots,
                            uint64_t seed, thr_cuckoo_slot **slots, thr_cuckoo *table, thr_error *err);

/* The two places of a key, which may be the same. */
typedef struct thr_cuckoo_places {
    uint32_t at[2];
} thr_cuckoo_places;

static inline thr_cuckoo_places thr_cuckoo_where(const thr_cuckoo *table, uint32_t band, uint32_t code) {
    uint64_t x = ((uint64_t)band << 32 | code) ^ table->seed;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    return (thr_cuckoo_places){
        {(uint32_t)((x & UINT32_MAX) * table->n_slots >> 32), (uint32_t)((x >> 32) * table->n_slots >> 32)}};
}

/* The span of a key; NULL when no word has it. */
static inline const thr_cuckoo_slot *thr_cuckoo_find(const thr_cuckoo *table, uint32_t band, uint32_t code) {
    const thr_cuckoo_places places = thr_cuckoo_where(table, band, code);
    for (int i = 0; i < 2; i++) {
        const thr_cuckoo_slot *slot = &table->slots[places.at[i]];
        if (slot->band == band && slot->code == code && slot->n > 0)
            return slot;
    }
    for (uint32_t i = 0; i < table->n_stash; i++) {
        const thr_cuckoo_slot *slot = &table->slots[table->n_slots + i];
        if (slot->band == band && slot->code == code)
            return slot;
    }
    return NULL;
}

#endif
