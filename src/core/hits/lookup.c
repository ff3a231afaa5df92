/* SPDX-License-Identifier: Apache-2.0 */
/* lookup.c - makes the index of places by row and rows by name; names are in a hash table. */
#include "hits/lookup.h"

#include <string.h>

#include "base/files/checksum.h"
#include "base/error.h"

static thr_status place_rows(thr_context *context, const thr_hits_contents *c, uint32_t **places, thr_error *err) {
    if (c->rows == NULL)
        return THR_OK;
    THR_TRY(thr_alloc_zero(context, c->lists.n_items, sizeof **places, places, "the places of items", err));
    for (uint32_t place = 0; place < c->lists.n_items; place++)
        (*places)[c->rows[place]] = place;
    return THR_OK;
}

static thr_status hash_names(thr_context *context, const thr_strings *names, thr_hit_index *index, thr_error *err) {
    size_t n_slots = 2;
    if (names->offsets == NULL)
        return THR_OK;
    while (n_slots < 2 * names->n)
        n_slots *= 2;
    THR_TRY(thr_alloc_zero(context, n_slots, sizeof *index->slots, &index->slots, "the names of items", err));
    index->mask = n_slots - 1;
    for (uint64_t row = 0; row < names->n; row++) {
        const char *name = thr_strings_get(names, row);
        if (name == NULL)
            continue;
        size_t slot = (size_t)thr_checksum_of(name, strlen(name)) & index->mask;
        while (index->slots[slot] != 0)
            slot = (slot + 1) & index->mask;
        index->slots[slot] = (uint32_t)row + 1;
    }
    return THR_OK;
}

thr_status thr_hits_index_make(thr_context *context, const thr_hits_contents *contents, thr_hit_index **out,
                               thr_error *err) {
    thr_hit_index *index = NULL;
    THR_TRY(thr_alloc_zero(context, 1, sizeof *index, &index, "the places of items", err));
    thr_status status = place_rows(context, contents, &index->places, err);
    if (status == THR_OK)
        status = hash_names(context, &contents->names, index, err);
    if (status != THR_OK)
        thr_hits_index_free(context, index);
    else
        *out = index;
    return status;
}

void thr_hits_index_free(thr_context *context, thr_hit_index *index) {
    if (index == NULL)
        return;
    THR_RELEASE(context, index->places, index->slots, index);
}

bool thr_hits_index_find(const thr_hit_index *index, const thr_strings *names, const char *name, uint64_t *row) {
    size_t slot = (size_t)thr_checksum_of(name, strlen(name)) & index->mask;
    for (; index->slots[slot] != 0; slot = (slot + 1) & index->mask) {
        const char *candidate = thr_strings_get(names, index->slots[slot] - 1);
        if (candidate != NULL && strcmp(candidate, name) == 0) {
            *row = index->slots[slot] - 1;
            return true;
        }
    }
    return false;
}
