/* SPDX-License-Identifier: Apache-2.0 */
/* find.c - thr_index_find and thr_index_find_many. */
#include <thresher/items.h>

#include "base/error.h"
#include "index/names.h"

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

thr_status thr_index_find(const thr_index *index, const char *name, uint64_t *id, thr_error *err) {
    uint64_t row;
    if (index == NULL || name == NULL || id == NULL)
        return thr_fail(err, THR_EINVAL, "a name lookup needs an index and a pointer for the id");
    THR_TRY(thr_index_check_unchanged(index, err));
    if (!index->manifest.has_names && find_decimal(index, name, id))
        return THR_OK;
    if (!index->manifest.has_names)
        return thr_fail(err, THR_ENOTFOUND,
                        "%s: holds no item with the id '%.200s' (its items have ids, which are numbers, and no names)",
                        index->dir, name);
    const bool found = thr_index_name_row(index, name, &row);
    if (found)
        *id = thr_index_id_of(index, row);
    const thr_status status =
        found ? THR_OK : thr_fail(err, THR_ENOTFOUND, "%s: holds no item with the name '%.200s'", index->dir, name);
    return thr_index_check_after(index, status, err);
}

/* ------------------------------------------------------------------------------------------------ many names */

typedef struct finding {
    const thr_index *index;
    uint64_t *ids;
} finding;

static thr_status note(void *arg, uint64_t item, uint64_t row, thr_error *err) {
    const finding *f = arg;
    (void)err;
    f->ids[item] = thr_index_id_of(f->index, row);
    return THR_OK;
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
    if (index->manifest.has_names) {
        const thr_name_list list = {.each = names, .n = n};
        finding f = {index, ids};
        return n > 0 ? thr_index_check_after(index, thr_index_find_names(index, &list, note, &f, err), err) : THR_OK;
    }
    for (size_t i = 0; i < n; i++)
        if (!find_decimal(index, names[i], &ids[i]))
            ids[i] = THR_NO_ID;
    return THR_OK;
}
