/* SPDX-License-Identifier: Apache-2.0 */
#include "base/dictionary.h"

#include <string.h>

#include "base/checksum.h"
#include "base/error.h"

enum { FIRST_SLOTS = 1024 };

/* Twice the slots, or the first ones: at most half of them are taken. */
static thr_status more_slots(thr_context *context, thr_dictionary *d, thr_error *err) {
    const size_t n_slots = d->slots == NULL ? FIRST_SLOTS : 2 * (d->mask + 1);
    uint32_t *slots = NULL;
    THR_TRY(thr_alloc_zero(context, n_slots, sizeof *slots, &slots, "a dictionary", err));
    thr_release(context, d->slots);
    d->slots = slots;
    d->mask = n_slots - 1;
    for (uint32_t i = 0; i < d->n; i++) {
        size_t slot = (size_t)d->hashes[i] & d->mask;
        while (slots[slot] != 0)
            slot = (slot + 1) & d->mask;
        slots[slot] = i + 1;
    }
    return THR_OK;
}

static thr_status make_room(thr_context *context, thr_dictionary *d, size_t length, thr_error *err) {
    const size_t n = d->n;
    const size_t used = n == 0 ? 0 : (size_t)d->starts[n];
    if (n == UINT32_MAX - 1)
        return thr_fail(err, THR_ERANGE, "more than %u different words", UINT32_MAX - 1);
    if (d->slots == NULL || 2 * n > d->mask)
        THR_TRY(more_slots(context, d, err));
    THR_TRY(thr_grow(context, &d->starts, &d->starts_capacity, n == 0 ? 0 : n + 1, n + 2, sizeof *d->starts,
                     "a dictionary", err));
    THR_TRY(thr_grow(context, &d->hashes, &d->hashes_capacity, n, n + 1, sizeof *d->hashes, "a dictionary", err));
    THR_TRY(thr_grow(context, &d->bytes, &d->bytes_capacity, used, used + length + 1, 1, "a dictionary", err));
    d->starts[n] = used;
    return THR_OK;
}

static bool is_it(const thr_dictionary *d, uint32_t i, uint64_t hash, const char *text, size_t length) {
    return d->hashes[i] == hash && d->starts[i + 1] - d->starts[i] == length + 1 &&
           memcmp(d->bytes + d->starts[i], text, length) == 0;
}

bool thr_dictionary_find(const thr_dictionary *d, const char *text, size_t length, uint32_t *number) {
    if (d->n == 0)
        return false;
    const uint64_t hash = thr_checksum_of(text, length);
    for (size_t slot = (size_t)hash & d->mask; d->slots[slot] != 0; slot = (slot + 1) & d->mask) {
        *number = d->slots[slot] - 1;
        if (is_it(d, *number, hash, text, length))
            return true;
    }
    return false;
}

thr_status thr_dictionary_add(thr_context *context, thr_dictionary *d, const char *text, size_t length,
                              uint32_t *number, bool *is_new, thr_error *err) {
    THR_TRY(make_room(context, d, length, err));
    const uint64_t hash = thr_checksum_of(text, length);
    size_t slot = (size_t)hash & d->mask;
    *is_new = false;
    for (; d->slots[slot] != 0; slot = (slot + 1) & d->mask) {
        *number = d->slots[slot] - 1;
        if (is_it(d, *number, hash, text, length))
            return THR_OK;
    }
    *is_new = true;
    *number = d->n++;
    d->slots[slot] = d->n;
    d->hashes[*number] = hash;
    memcpy(d->bytes + d->starts[*number], text, length);
    d->bytes[d->starts[*number] + length] = '\0';
    d->starts[d->n] = d->starts[*number] + length + 1;
    return THR_OK;
}

void thr_dictionary_free(thr_context *context, thr_dictionary *d) {
    thr_release(context, d->starts);
    thr_release(context, d->bytes);
    thr_release(context, d->hashes);
    thr_release(context, d->slots);
    *d = (thr_dictionary){.n = 0};
}
