/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text/dictionary.h"

#include <string.h>

#include "base/files/checksum.h"
#include "base/error.h"

static thr_status make_room(thr_context *context, thr_dictionary *d, size_t length, thr_error *err) {
    const size_t n = d->n;
    const size_t used = n == 0 ? 0 : (size_t)d->starts[n];
    THR_TRY(thr_slots_make_room(context, &d->slots, n, "a dictionary", err));
    THR_TRY(thr_grow(context, &d->starts, &d->starts_capacity, n + 2, sizeof *d->starts, "a dictionary", err));
    THR_TRY(thr_grow(context, &d->bytes, &d->bytes_capacity, used + length + 1, 1, "a dictionary", err));
    d->starts[n] = used;
    return THR_OK;
}

static bool is_it(const thr_dictionary *d, uint32_t i, const char *text, size_t length) {
    return d->starts[i + 1] - d->starts[i] == length + 1 && memcmp(d->bytes + d->starts[i], text, length) == 0;
}

bool thr_dictionary_find(const thr_dictionary *d, const char *text, size_t length, uint32_t *number) {
    if (d->n == 0)
        return false;
    const uint64_t hash = thr_checksum_of(text, length);
    size_t slot = (size_t)hash;
    while (thr_slots_next(&d->slots, hash, &slot, number))
        if (is_it(d, *number, text, length))
            return true;
    return false;
}

thr_status thr_dictionary_add(thr_context *context, thr_dictionary *d, const char *text, size_t length,
                              uint32_t *number, bool *is_new, thr_error *err) {
    THR_TRY(make_room(context, d, length, err));
    const uint64_t hash = thr_checksum_of(text, length);
    size_t slot = (size_t)hash;
    uint32_t n = 0;
    bool found = false;
    while (!found && thr_slots_next(&d->slots, hash, &slot, &n))
        found = is_it(d, n, text, length);
    if (!found) {
        n = d->n++;
        thr_slots_put(&d->slots, hash, slot, n);
        memcpy(d->bytes + d->starts[n], text, length);
        d->bytes[d->starts[n] + length] = '\0';
        d->starts[d->n] = d->starts[n] + length + 1;
    }
    if (number != NULL)
        *number = n;
    if (is_new != NULL)
        *is_new = !found;
    return THR_OK;
}

thr_status thr_dictionary_add_all(thr_context *context, thr_dictionary *d, const thr_dictionary *from, thr_error *err) {
    for (uint32_t i = 0; i < from->n; i++) {
        const char *text = thr_dictionary_text(from, i);
        THR_TRY(thr_dictionary_add(context, d, text, strlen(text), NULL, NULL, err));
    }
    return THR_OK;
}

void thr_dictionary_free(thr_context *context, thr_dictionary *d) {
    THR_RELEASE(context, d->starts, d->bytes);
    thr_slots_free(context, &d->slots);
    *d = (thr_dictionary){.n = 0};
}
