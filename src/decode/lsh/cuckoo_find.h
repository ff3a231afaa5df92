/* SPDX-License-Identifier: Apache-2.0 */
/* cuckoo_find.h - look-up in the hash table of cuckoo.h; compiles for the CPU and for GPU kernels. */
#pragma once

#include "base/host_device.h"

#include <stddef.h>
#include <stdint.h>

/* A span of words: words[first] to words[first + n - 1] have this code in this band. n is 0 in a free slot. */
typedef struct thr_cuckoo_slot {
    uint32_t band, code, first, n;
} thr_cuckoo_slot;

typedef struct thr_cuckoo {
    const thr_cuckoo_slot *slots; /* n_slots, then n_stash of the stash */
    uint32_t n_slots, n_stash;
    uint64_t seed;
} thr_cuckoo;

/* The two slots of a key; they may be equal. */
typedef struct thr_cuckoo_places {
    uint32_t at[2];
} thr_cuckoo_places;

THR_ANYWHERE thr_cuckoo_places thr_lsh_cuckoo_where(const thr_cuckoo *table, uint32_t band, uint32_t code) {
    thr_cuckoo_places places;
    uint64_t x = ((uint64_t)band << 32 | code) ^ table->seed;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    places.at[0] = (uint32_t)((x & 0xffffffffu) * table->n_slots >> 32);
    places.at[1] = (uint32_t)((x >> 32) * table->n_slots >> 32);
    return places;
}

/* The span of a key, or NULL if no word has that code in that band. */
THR_ANYWHERE const thr_cuckoo_slot *thr_lsh_cuckoo_find(const thr_cuckoo *table, uint32_t band, uint32_t code) {
    const thr_cuckoo_places places = thr_lsh_cuckoo_where(table, band, code);
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
