/* SPDX-License-Identifier: Apache-2.0 */
/* cuckoo.c - building the hash table of cuckoo.h by cuckoo insertion. */
#include "lsh/cuckoo.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"

enum { MOST_MOVES = 500, SLOTS_OF_FOUR = 9, SPARE_SLOTS = 16 };

#define MOST_SLOTS UINT32_C(0x7fffffff)

uint32_t thr_lsh_cuckoo_n_slots(size_t n) {
    return n > MOST_SLOTS / SLOTS_OF_FOUR * 4 - SPARE_SLOTS ? 0 : (uint32_t)(n * SLOTS_OF_FOUR / 4 + SPARE_SLOTS);
}

/*
 * Insert a span, evicting the occupant of its slot to the occupant's other slot, and so on. Returns false after
 * MOST_MOVES evictions; *span is then the span that has no slot.
 */
static bool insert(const thr_cuckoo *table, thr_cuckoo_slot *slots, thr_cuckoo_slot *span) {
    uint32_t at = thr_lsh_cuckoo_where(table, span->band, span->code).at[0];
    for (int moves = 0; moves < MOST_MOVES; moves++) {
        const thr_cuckoo_slot before = slots[at];
        slots[at] = *span;
        if (before.n == 0)
            return true;
        *span = before;
        const thr_cuckoo_places places = thr_lsh_cuckoo_where(table, span->band, span->code);
        at = places.at[places.at[0] == at];
    }
    return false;
}

static bool fill(thr_cuckoo *table, thr_cuckoo_slot *slots, const thr_cuckoo_slot *spans, size_t n, uint32_t stash) {
    memset(slots, 0, ((size_t)table->n_slots + THR_CUCKOO_STASH) * sizeof *slots);
    table->n_stash = 0;
    for (size_t i = 0; i < n; i++) {
        thr_cuckoo_slot span = spans[i];
        if (insert(table, slots, &span))
            continue;
        if (table->n_stash == stash)
            return false;
        slots[table->n_slots + table->n_stash++] = span;
    }
    return true;
}

thr_status thr_lsh_cuckoo_build(thr_context *context, const thr_cuckoo_slot *spans, size_t n, thr_cuckoo_slot **slots,
                                thr_cuckoo *table, thr_error *err) {
    const uint32_t n_slots = table->n_slots;
    uint64_t seed = table->seed;
    *slots = NULL;
    THR_TRY(thr_alloc(context, (size_t)n_slots + THR_CUCKOO_STASH, sizeof **slots, slots, "a hash table", err));
    table->slots = *slots;
    for (uint32_t i = 0; i < 2 * THR_CUCKOO_SEEDS; i++) {
        table->seed = thr_rng_next(&seed);
        if (fill(table, *slots, spans, n, i < THR_CUCKOO_SEEDS ? 0 : THR_CUCKOO_STASH))
            return THR_OK;
    }
    thr_release(context, *slots);
    *slots = NULL;
    return thr_fail(err, THR_EUNSUPPORTED,
                    "a hash table of %" PRIu32
                    " slots has no place for %zu band codes with any of %d seeds: choose another "
                    "seed, or fewer bands",
                    n_slots, n, 2 * THR_CUCKOO_SEEDS);
}
