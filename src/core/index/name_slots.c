/* SPDX-License-Identifier: Apache-2.0 */
/* name_slots.c - fills and searches the hash of a segment's names. */
#include "index/name_slots.h"

#include "base/files/checksum.h"

#include <string.h>

uint64_t thr_index_name_key(const char *name, uint64_t size) {
    return thr_checksum_of(name, (size_t)size);
}

static uint64_t home_of(uint64_t key, uint64_t n_slots) {
    return (key >> 32) * n_slots >> 32;
}

void thr_index_name_slots_fill(const thr_strings *names, thr_name_slot *slots) {
    const uint64_t n_slots = thr_name_slots_count(names->n);
    for (uint64_t i = 0; i < names->n; i++) {
        const uint64_t start = names->offsets[i];
        const uint64_t key = thr_index_name_key(names->bytes + start, names->offsets[i + 1] - start);
        uint64_t at = home_of(key, n_slots);
        while (slots[at].place != 0)
            at = at + 1 == n_slots ? 0 : at + 1;
        slots[at] = (thr_name_slot){(uint32_t)key, (uint32_t)i + 1};
    }
}

bool thr_index_name_slots_find(const thr_name_slot *slots, const thr_strings *names, const char *name, uint64_t key,
                               uint32_t *item) {
    const uint64_t n_slots = thr_name_slots_count(names->n);
    uint64_t at = home_of(key, n_slots);
    for (uint64_t i = 0; i < n_slots && slots[at].place != 0; i++) {
        const char *candidate = slots[at].tag == (uint32_t)key ? thr_strings_get(names, slots[at].place - 1) : NULL;
        if (candidate != NULL && strcmp(candidate, name) == 0) {
            *item = slots[at].place - 1;
            return true;
        }
        at = at + 1 == n_slots ? 0 : at + 1;
    }
    return false;
}
