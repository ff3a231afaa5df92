/* SPDX-License-Identifier: Apache-2.0 */
#include "base/slots.h"

#include <string.h>

#include "base/error.h"

enum { FIRST_SLOTS = 1024 };

/* Allocate the first places, or double their number and insert everything again. */
static thr_status grow_places(thr_context *context, thr_slots *slots, size_t n, const char *what, thr_error *err) {
    const size_t n_places = slots->places == NULL ? FIRST_SLOTS : 2 * (slots->mask + 1);
    uint32_t *places = NULL;
    THR_TRY(thr_alloc_zero(context, n_places, sizeof *places, &places, what, err));
    thr_release(context, slots->places);
    slots->places = places;
    slots->mask = n_places - 1;
    for (size_t i = 0; i < n; i++) {
        size_t place = (size_t)slots->hashes[i] & slots->mask;
        while (places[place] != 0)
            place = (place + 1) & slots->mask;
        places[place] = (uint32_t)i + 1;
    }
    return THR_OK;
}

thr_status thr_slots_make_room(thr_context *context, thr_slots *slots, size_t n, const char *what, thr_error *err) {
    if (n >= UINT32_MAX - 1)
        return thr_fail(err, THR_ERANGE, "more than %u different words: take a part of them", UINT32_MAX - 1);
    if (slots->places == NULL || 2 * n > slots->mask)
        THR_TRY(grow_places(context, slots, n, what, err));
    return thr_grow(context, &slots->hashes, &slots->hashes_capacity, n + 1, sizeof *slots->hashes, what, err);
}

void thr_slots_clear(thr_slots *slots) {
    if (slots->places != NULL)
        memset(slots->places, 0, (slots->mask + 1) * sizeof *slots->places);
}

void thr_slots_free(thr_context *context, thr_slots *slots) {
    THR_RELEASE(context, slots->hashes, slots->places);
    *slots = (thr_slots){0};
}
