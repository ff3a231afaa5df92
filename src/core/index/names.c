/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - finds items by name. */
#include "index/names.h"

#include "base/error.h"
#include "base/radix.h"

#include <string.h>

const char *thr_index_name_in(const thr_name_list *names, size_t i) {
    return names->each != NULL ? names->each[i] : names->bytes + names->offsets[i];
}

static bool segment_row(const thr_index *index, uint32_t s, const char *name, uint64_t key, uint64_t *row) {
    uint32_t item;
    const bool found = thr_index_segment_find_name(&index->mapped[s].view, name, key, &item);
    *row = found ? index->segments[s].first_row + item : 0;
    return found && thr_live_has(&index->live, *row);
}

/* Look in segments with slots, or in all. */
static bool find_in_segments(const thr_index *index, const char *name, uint64_t key, bool all, uint64_t *row) {
    for (uint32_t s = 0; s < index->n_segments; s++)
        if ((all || index->mapped[s].view.name_slots != NULL) && segment_row(index, s, name, key, row))
            return true;
    return false;
}

/* Look in the tail, too. */
static bool find(const thr_index *index, const char *name, uint64_t key, bool all, uint64_t *row) {
    return (index->n_tail > 0 &&
            thr_index_tail_find_name(index->tail, index->live.words, index->n_tail, name, key, row)) ||
           find_in_segments(index, name, key, all, row);
}

bool thr_index_segment_name_row(const thr_index *index, const char *name, uint64_t key, uint64_t *row) {
    return find_in_segments(index, name, key, true, row);
}

bool thr_index_name_row(const thr_index *index, const char *name, uint64_t *row) {
    return find(index, name, thr_index_name_key(name, strlen(name) + 1), true, row);
}

/* ------------------------------------------------------------------------------------------------ without slots */

/* Wanted names and their keys, sorted by these. */
typedef struct finder {
    const thr_name_list *names;
    thr_keyed *sorted;
} finder;

/* The row's name may be wanted repeatedly. */
static thr_status check_name(const finder *f, const char *name, uint64_t row, thr_name_found *found, void *arg,
                             thr_error *err) {
    const uint64_t key = thr_index_name_key(name, strlen(name) + 1);
    for (size_t i = thr_radix_first(f->sorted, f->names->n, key); i < f->names->n && f->sorted[i].key == key; i++)
        if (strcmp(thr_index_name_in(f->names, (size_t)f->sorted[i].value), name) == 0)
            THR_TRY(found(arg, f->sorted[i].value, row, err));
    return THR_OK;
}

static thr_status pass_over(const finder *f, const thr_index *index, uint32_t s, thr_name_found *found, void *arg,
                            thr_error *err) {
    const thr_segment_view *view = &index->mapped[s].view;
    for (uint32_t i = 0; i < view->shape.n_items; i++) {
        const uint64_t row = index->segments[s].first_row + i;
        const char *name = thr_live_has(&index->live, row) ? thr_index_segment_item_name(view, i) : NULL;
        if (name != NULL)
            THR_TRY(check_name(f, name, row, found, arg, err));
    }
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ many */

thr_status thr_index_find_names(const thr_index *index, const thr_name_list *names, thr_name_found *found, void *arg,
                                thr_error *err) {
    finder f = {.names = names};
    thr_status status = THR_OK;
    uint32_t n_without = 0;
    uint64_t row;
    THR_TRY(thr_alloc(index->context, names->n, sizeof *f.sorted, &f.sorted, "names", err));
    for (size_t i = 0; i < names->n; i++) {
        const char *name = thr_index_name_in(names, i);
        f.sorted[i] = (thr_keyed){thr_index_name_key(name, strlen(name) + 1), i};
        if (find(index, name, f.sorted[i].key, false, &row))
            THR_TRY_OUT(found(arg, i, row, err));
    }
    for (uint32_t s = 0; s < index->n_segments; s++)
        n_without += index->mapped[s].view.name_slots == NULL;
    if (n_without > 0)
        THR_TRY_OUT(thr_radix_sort(index->context, f.sorted, names->n, err));
    for (uint32_t s = 0; s < index->n_segments && n_without > 0; s++)
        if (index->mapped[s].view.name_slots == NULL)
            THR_TRY_OUT(pass_over(&f, index, s, found, arg, err));
out:
    thr_release(index->context, f.sorted);
    return status;
}
