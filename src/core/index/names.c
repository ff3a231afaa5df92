/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - finds items by name. */
#include "index/names.h"

#include "base/error.h"

#include <string.h>

const char *thr_index_name_in(const thr_name_list *names, size_t i) {
    return names->each != NULL ? names->each[i] : names->bytes + names->offsets[i];
}

bool thr_index_segment_name_row(const thr_index *index, const char *name, uint64_t key, uint64_t *row) {
    for (uint32_t s = 0; s < index->n_segments; s++) {
        uint32_t item;
        if (!thr_index_segment_find_name(&index->mapped[s].view, name, key, &item))
            continue;
        *row = index->segments[s].first_row + item;
        if (thr_live_has(&index->live, *row))
            return true;
    }
    return false;
}

bool thr_index_name_row(const thr_index *index, const char *name, uint64_t *row) {
    const uint64_t key = thr_index_name_key(name, strlen(name) + 1);
    return (index->n_tail > 0 &&
            thr_index_tail_find_name(index->tail, index->live.words, index->n_tail, name, key, row)) ||
           thr_index_segment_name_row(index, name, key, row);
}

thr_status thr_index_find_names(const thr_index *index, const thr_name_list *names, thr_name_found *found, void *arg,
                                thr_error *err) {
    uint64_t row;
    for (size_t i = 0; i < names->n; i++)
        if (thr_index_name_row(index, thr_index_name_in(names, i), &row))
            THR_TRY(found(arg, i, row, err));
    return THR_OK;
}
