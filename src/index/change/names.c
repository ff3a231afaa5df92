/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - finds many names in an index: sorts their checksums, then looks up that of every row's name. */
#include "index/change/names.h"

#include "base/files/checksum.h"
#include "base/error.h"
#include "base/radix.h"

#include <string.h>

typedef struct finder {
    const thr_ids *names;
    thr_keyed *sorted; /* checksums and numbers of the names */
} finder;

/* The number of the name; UINT64_MAX if it is none of them. */
static uint64_t find(const finder *f, const char *name) {
    const size_t length = strlen(name);
    const uint64_t key = thr_checksum_of(name, length + 1);
    uint64_t low = 0, high = f->names->n;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (f->sorted[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < f->names->n && f->sorted[low].key == key; low++) {
        const uint64_t item = f->sorted[low].row;
        if (strcmp(f->names->names + f->names->offsets[item], name) == 0)
            return item;
    }
    return UINT64_MAX;
}

static thr_status check_name(const finder *f, const char *name, uint64_t row, thr_name_found *found, void *arg,
                             thr_error *err) {
    const uint64_t item = name == NULL ? UINT64_MAX : find(f, name);
    return item == UINT64_MAX ? THR_OK : found(arg, item, row, err);
}

static thr_status find_in_segment(const finder *f, const thr_index *index, uint32_t s, thr_name_found *found, void *arg,
                                  thr_error *err) {
    const thr_segment_view *view = &index->mapped[s].view;
    for (uint32_t i = 0; i < view->shape.n_items; i++) {
        const uint64_t row = index->segments[s].first_row + i;
        const char *name = thr_live_has(&index->live, row) ? thr_index_segment_item_name(view, i) : NULL;
        THR_TRY(check_name(f, name, row, found, arg, err));
    }
    return THR_OK;
}

static thr_status find_in_tail(const finder *f, const thr_index *index, thr_name_found *found, void *arg,
                               thr_error *err) {
    for (uint32_t i = 0; i < index->n_tail; i++) {
        const uint64_t row = index->tail->first_row + i;
        if (thr_live_has(&index->live, row))
            THR_TRY(check_name(f, index->tail->names[i], row, found, arg, err));
    }
    return THR_OK;
}

thr_status thr_index_find_names(const thr_index *index, const thr_ids *names, thr_name_found *found, void *arg,
                                thr_error *err) {
    finder f = {.names = names};
    thr_status status = THR_OK;
    THR_TRY(thr_alloc(index->context, (size_t)names->n, sizeof *f.sorted, &f.sorted, "names", err));
    for (uint64_t i = 0; i < names->n; i++) {
        const uint64_t size = names->offsets[i + 1] - names->offsets[i];
        f.sorted[i] = (thr_keyed){thr_checksum_of(names->names + names->offsets[i], (size_t)size), i};
    }
    THR_TRY_OUT(thr_radix_sort(index->context, f.sorted, (size_t)names->n, err));
    for (uint32_t s = 0; s < index->n_segments; s++)
        THR_TRY_OUT(find_in_segment(&f, index, s, found, arg, err));
    THR_TRY_OUT(find_in_tail(&f, index, found, arg, err));
out:
    thr_release(index->context, f.sorted);
    return status;
}
