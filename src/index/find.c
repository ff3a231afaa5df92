/* SPDX-License-Identifier: Apache-2.0 */
/* find.c - finds ids by name: one name in a pass over the names, or many in one pass. */
#include <thresher/items.h>

#include "base/files/checksum.h"
#include "base/error.h"
#include "base/radix.h"
#include "index/impl.h"

#include <inttypes.h>
#include <string.h>

/* In an index without names, an item's name is its id in decimal. */
static bool find_decimal(const thr_index *index, const char *name, uint64_t *id) {
    uint64_t value = 0, row;
    bool good = name[0] != '\0';
    for (const char *p = name; good && *p != '\0'; p++)
        good = *p >= '0' && *p <= '9' && !__builtin_mul_overflow(value, (uint64_t)10, &value) &&
               !__builtin_add_overflow(value, (uint64_t)(*p - '0'), &value);
    *id = value;
    return good && thr_index_row(index, value, &row);
}

/* The name of a live row of the tail; NULL if the row is not live. */
static const char *tail_name(const thr_index *index, uint32_t i) {
    return thr_live_has(&index->live, index->tail->first_row + i) ? index->tail->names[i] : NULL;
}

/* ------------------------------------------------------------------------------------------------ one name */

static bool find_in_tail(const thr_index *index, const char *name, uint64_t *id) {
    for (uint32_t i = 0; i < index->n_tail; i++) {
        const char *candidate = tail_name(index, i);
        if (candidate == NULL || strcmp(candidate, name) != 0)
            continue;
        *id = index->tail->ids[i];
        return true;
    }
    return false;
}

static bool find_in_segment(const thr_index *index, uint32_t s, const char *name, uint64_t *id) {
    const thr_segment_view *view = &index->mapped[s].view;
    const uint64_t size = strlen(name) + 1;
    for (uint32_t i = 0; i < view->shape.n_items; i++) {
        if (view->names.offsets[i + 1] - view->names.offsets[i] != size)
            continue;
        const char *candidate = thr_index_segment_item_name(view, i);
        const uint64_t row = index->segments[s].first_row + i;
        if (candidate == NULL || memcmp(candidate, name, size) != 0 || !thr_live_has(&index->live, row))
            continue;
        *id = thr_index_id_of(index, row);
        return true;
    }
    return false;
}

thr_status thr_index_find(const thr_index *index, const char *name, uint64_t *id, thr_error *err) {
    bool found = false;
    if (index == NULL || name == NULL || id == NULL)
        return thr_fail(err, THR_EINVAL, "a name lookup needs an index and a pointer for the id");
    THR_TRY(thr_index_check_unchanged(index, err));
    if (!index->manifest.has_names && find_decimal(index, name, id))
        return THR_OK;
    if (!index->manifest.has_names)
        return thr_fail(err, THR_ENOTFOUND,
                        "%s: holds no item with the id '%.200s' (its items have ids, which are numbers, and no names)",
                        index->dir, name);
    found = find_in_tail(index, name, id);
    for (uint32_t s = 0; s < index->n_segments && !found; s++)
        found = find_in_segment(index, s, name, id);
    const thr_status status =
        found ? THR_OK : thr_fail(err, THR_ENOTFOUND, "%s: holds no item with the name '%.200s'", index->dir, name);
    return thr_index_check_after(index, status, err);
}

/* ------------------------------------------------------------------------------------------------ many names */

/* Wanted names, sorted by checksum. */
typedef struct finder {
    const char *const *names;
    thr_keyed *sorted; /* checksums and numbers of the names */
    size_t n;
    uint64_t *ids;
} finder;

static uint64_t key_of(const char *name) {
    return thr_checksum_of(name, strlen(name) + 1);
}

/* Note the id of an item for every wanted name that equals its own; a name may be wanted repeatedly. */
static void note(const finder *f, const char *name, uint64_t id) {
    const uint64_t key = key_of(name);
    size_t low = 0, high = f->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (f->sorted[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < f->n && f->sorted[low].key == key; low++)
        if (strcmp(f->names[f->sorted[low].row], name) == 0)
            f->ids[f->sorted[low].row] = id;
}

static void find_all(const finder *f, const thr_index *index) {
    for (uint32_t s = 0; s < index->n_segments; s++) {
        const thr_segment_view *view = &index->mapped[s].view;
        for (uint32_t i = 0; i < view->shape.n_items; i++) {
            const uint64_t row = index->segments[s].first_row + i;
            const char *name = thr_live_has(&index->live, row) ? thr_index_segment_item_name(view, i) : NULL;
            if (name != NULL)
                note(f, name, thr_index_id_of(index, row));
        }
    }
    for (uint32_t i = 0; i < index->n_tail; i++)
        if (tail_name(index, i) != NULL)
            note(f, index->tail->names[i], index->tail->ids[i]);
}

static thr_status find_names(const thr_index *index, const char *const *names, size_t n, uint64_t *ids,
                             thr_error *err) {
    finder f = {.names = names, .n = n, .ids = ids};
    thr_status status = THR_OK;
    THR_TRY(thr_alloc(index->context, n, sizeof *f.sorted, &f.sorted, "names", err));
    for (size_t i = 0; i < n; i++)
        f.sorted[i] = (thr_keyed){key_of(names[i]), i};
    THR_TRY_OUT(thr_radix_sort(index->context, f.sorted, n, err));
    find_all(&f, index);
out:
    thr_release(index->context, f.sorted);
    return status;
}

thr_status thr_index_find_many(const thr_index *index, const char *const *names, size_t n, uint64_t *ids,
                               thr_error *err) {
    if (index == NULL || (n > 0 && (names == NULL || ids == NULL)))
        return thr_fail(err, THR_EINVAL, "looking up names needs an index, names and memory for the ids");
    for (size_t i = 0; i < n; i++) {
        if (names[i] == NULL)
            return thr_fail(err, THR_EINVAL, "name %zu is NULL", i);
        ids[i] = THR_NO_ID;
    }
    THR_TRY(thr_index_check_unchanged(index, err));
    if (index->manifest.has_names)
        return n > 0 ? thr_index_check_after(index, find_names(index, names, n, ids, err), err) : THR_OK;
    for (size_t i = 0; i < n; i++)
        if (!find_decimal(index, names[i], &ids[i]))
            ids[i] = THR_NO_ID;
    return THR_OK;
}
