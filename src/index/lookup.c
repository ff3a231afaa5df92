/* SPDX-License-Identifier: Apache-2.0 */
/* lookup.c - looks up rows, names and vectors by id, and ids by name. Checks the contents of files as it reads them. */
#include "index/impl.h"

#include "base/error.h"
#include "code/fixed.h"
#include "kernel/convert.h"

#include <inttypes.h>
#include <string.h>

bool thr_index_row(const thr_index *index, uint64_t id, uint64_t *row) {
    *row = id;
    if (!index->manifest.has_ids)
        return id < index->manifest.n_rows && thr_live_has(&index->live, id);
    for (uint32_t i = 0; i < index->n_segments; i++) {
        const uint64_t first_id = index->manifest.segments[i].first_id;
        uint32_t item = (uint32_t)(id - first_id);
        const bool found = index->mapped[i].view.ids != NULL
                               ? thr_index_segment_find_id(&index->mapped[i].view, id, &item)
                               : id >= first_id && id - first_id < index->segments[i].n_items;
        *row = index->segments[i].first_row + item;
        if (found && thr_live_has(&index->live, *row))
            return true;
    }
    return false;
}

const char *thr_index_name(const thr_index *index, uint64_t id) {
    uint64_t row;
    if (!index->manifest.has_names || !thr_index_row(index, id, &row))
        return NULL;
    const thr_mapped *mapped = &index->mapped[thr_index_segment_of(index, row)];
    if (thr_map_check(&mapped->map, mapped->path, NULL) != THR_OK)
        return NULL;
    return thr_index_segment_item_name(&mapped->view, (uint32_t)(row - mapped->view.scan.first_row));
}

thr_status thr_index_row_names(const thr_index *index, uint64_t first, size_t n, const char **names, thr_error *err) {
    if (index == NULL || (names == NULL && n != 0))
        return thr_fail(err, THR_EINVAL, "reading names needs an index and memory for them");
    THR_TRY(thr_index_check_unchanged(index, err));
    const uint64_t n_rows = index->manifest.n_rows;
    for (size_t i = 0; i < n; i++) {
        names[i] = NULL;
        if (!index->manifest.has_names || first >= n_rows || i >= n_rows - first ||
            !thr_live_has(&index->live, first + i))
            continue;
        const thr_segment_view *view = &index->mapped[thr_index_segment_of(index, first + i)].view;
        names[i] = thr_index_segment_item_name(view, (uint32_t)(first + i - view->scan.first_row));
    }
    return THR_OK;
}

/* In an index without names, an item's name is its id in decimal. */
static thr_status find_decimal(const thr_index *index, const char *name, uint64_t *id, thr_error *err) {
    uint64_t value = 0, row;
    bool good = name[0] != '\0';
    for (const char *p = name; good && *p != '\0'; p++)
        good = *p >= '0' && *p <= '9' && !__builtin_mul_overflow(value, (uint64_t)10, &value) &&
               !__builtin_add_overflow(value, (uint64_t)(*p - '0'), &value);
    if (!good)
        return thr_fail(err, THR_ENOTFOUND,
                        "%s: has no names, so '%.200s' cannot be looked up: give the number of an id", index->dir,
                        name);
    if (!thr_index_row(index, value, &row))
        return thr_fail(err, THR_ENOTFOUND, "%s: holds no item with the id %" PRIu64, index->dir, value);
    *id = value;
    return THR_OK;
}

thr_status thr_index_find(const thr_index *index, const char *name, uint64_t *id, thr_error *err) {
    if (index == NULL || name == NULL || id == NULL)
        return thr_fail(err, THR_EINVAL, "a name lookup needs an index and a pointer for the id");
    THR_TRY(thr_index_check_unchanged(index, err));
    if (!index->manifest.has_names)
        return find_decimal(index, name, id, err);
    uint64_t size = strlen(name) + 1;
    for (uint32_t s = 0; s < index->n_segments; s++) {
        const thr_segment_view *view = &index->mapped[s].view;
        for (uint32_t i = 0; i < view->shape.n_items; i++) {
            if (view->names.offsets[i + 1] - view->names.offsets[i] != size)
                continue;
            const char *candidate = thr_index_segment_item_name(view, i);
            const uint64_t row = index->segments[s].first_row + i;
            if (candidate == NULL || memcmp(candidate, name, size) != 0 || !thr_live_has(&index->live, row))
                continue;
            *id = thr_index_id_of(index, row);
            return THR_OK;
        }
    }
    return thr_fail(err, THR_ENOTFOUND, "%s: holds no item with the name '%.200s'", index->dir, name);
}

void thr_index_row_vector(const thr_index *index, uint64_t row, float *out) {
    const thr_segment *segment = &index->segments[thr_index_segment_of(index, row)];
    const size_t n_dims = index->manifest.quantiser.n_dims, item = (size_t)(row - segment->first_row);
    switch (index->manifest.keep) {
    case THR_DTYPE_NONE:
        thr_code_read(segment->codes, (uint32_t)n_dims, index->manifest.lead, item, out);
        break;
    case THR_DTYPE_F32:
        memcpy(out, (const float *)segment->vectors + item * n_dims, n_dims * sizeof(float));
        break;
    case THR_DTYPE_F16:
        thr_kernel_f16_to_f32(index->context, (const uint16_t *)segment->vectors + item * n_dims, out, n_dims);
        break;
    default:
        for (size_t d = 0; d < n_dims; d++)
            out[d] = segment->scales[item] * (float)((const int8_t *)segment->vectors)[item * n_dims + d];
        break;
    }
}

thr_status thr_index_vector(const thr_index *index, uint64_t id, float *out, thr_error *err) {
    uint64_t row;
    if (index == NULL || out == NULL)
        return thr_fail(err, THR_EINVAL, "reading a vector needs an index and memory for it");
    if (index->manifest.keep == THR_DTYPE_NONE && !index->manifest.model.codes)
        return thr_fail(err, THR_EUNSUPPORTED,
                        "%s: holds codes only: build it with vectors kept, as float32, float16 or int8", index->dir);
    THR_TRY(thr_index_check_unchanged(index, err));
    if (!thr_index_row(index, id, &row))
        return thr_fail(err, THR_ENOTFOUND, "%s: holds no item with the id %" PRIu64, index->dir, id);
    thr_index_row_vector(index, row, out);
    return THR_OK;
}
