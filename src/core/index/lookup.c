/* SPDX-License-Identifier: Apache-2.0 */
/* lookup.c - looks up rows, names and vectors by id. Checks the contents of files as it reads them. */
#include <thresher/items.h>

#include "index/impl.h"

#include "base/error.h"
#include "code/fixed.h"
#include "kernel/convert.h"
#include "select/bitmap.h"

#include <inttypes.h>
#include <string.h>

bool thr_index_row(const thr_index *index, uint64_t id, uint64_t *row) {
    return (index->n_tail > 0 && thr_index_tail_find(index->tail, index->live.words, index->n_tail, id, row)) ||
           thr_index_segment_row(index, index->live.words, id, row);
}

thr_status thr_index_rows(const thr_index *index, const uint64_t *ids, size_t n, uint64_t *rows, thr_error *err) {
    if (index == NULL || (n > 0 && (ids == NULL || rows == NULL)))
        return thr_fail(err, THR_EINVAL, "looking up rows needs an index, ids and memory for the rows");
    THR_TRY(thr_index_check_unchanged(index, err));
    for (size_t i = 0; i < n; i++)
        if (!thr_index_row(index, ids[i], &rows[i]))
            rows[i] = THR_NO_ID;
    return thr_index_check_after(index, THR_OK, err);
}

thr_status thr_index_row_ids(const thr_index *index, uint64_t first, size_t n, uint64_t *ids, thr_error *err) {
    if (index == NULL || (n > 0 && ids == NULL))
        return thr_fail(err, THR_EINVAL, "reading ids needs an index and memory for them");
    THR_TRY(thr_index_check_unchanged(index, err));
    const uint64_t n_rows = index->manifest.n_rows;
    for (size_t i = 0; i < n; i++) {
        const bool there = first < n_rows && i < n_rows - first && thr_live_has(&index->live, first + i);
        ids[i] = there ? thr_index_id_of(index, first + i) : THR_NO_ID;
    }
    return thr_index_check_after(index, THR_OK, err);
}

uint64_t thr_index_n_removed(const thr_index *index) {
    uint64_t n = index->n_tail;
    for (uint32_t i = 0; i < index->n_segments; i++)
        n += index->segments[i].n_items;
    return n - index->manifest.n_items;
}

thr_index_journal thr_index_get_journal(const thr_index *index) {
    if (index->tail == NULL)
        return (thr_index_journal){.n_items = 0};
    const uint64_t first = index->tail->first_row, end = first + index->n_tail;
    return (thr_index_journal){.n_items =
                                   index->n_tail > 0 ? thr_select_bitmap_count_range(index->live.words, first, end) : 0,
                               .n_rows = index->n_tail,
                               .n_bytes = index->info.file_bytes - index->root->base_bytes};
}

const char *thr_index_name(const thr_index *index, uint64_t id) {
    uint64_t row;
    if (!index->manifest.has_names || !thr_index_row(index, id, &row))
        return NULL;
    if (thr_index_in_tail(index, row))
        return index->tail->names[row - index->tail->first_row];
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
        if (thr_index_in_tail(index, first + i)) {
            names[i] = index->tail->names[first + i - index->tail->first_row];
            continue;
        }
        const thr_segment_view *view = &index->mapped[thr_index_segment_of(index, first + i)].view;
        names[i] = thr_index_segment_item_name(view, (uint32_t)(first + i - view->scan.first_row));
    }
    return THR_OK;
}

/* Turn the stored numbers of an item, as floats, into its vector (scan/segment.h). */
static void unpack(const thr_index *index, const thr_segment *segment, size_t item, float *out) {
    const thr_manifest *m = &index->manifest;
    const double scale = (double)segment->scales[item];
    const double inverse = segment->inverse_norms == NULL ? 1 : (double)segment->inverse_norms[item];
    for (uint32_t d = 0; d < thr_manifest_vector_dims(m); d++)
        out[d] = inverse == 0 ? 0 : (float)(((double)m->kept_centre[d] + scale * (double)out[d]) / inverse);
}

void thr_index_row_vector(const thr_index *index, uint64_t row, float *out) {
    const thr_segment *segment =
        thr_index_in_tail(index, row) ? &index->tail_segment : &index->segments[thr_index_segment_of(index, row)];
    const size_t n_dims = thr_manifest_vector_dims(&index->manifest),
                 item = (size_t)(row - (segment == &index->tail_segment ? index->tail->first_row : segment->first_row));
    switch (thr_index_kept_type(&index->manifest)) {
    case THR_DTYPE_NONE:
        thr_code_read(segment->codes, index->manifest.quantiser.n_dims, index->manifest.lead, item, out);
        break;
    case THR_DTYPE_F32:
        memcpy(out, (const float *)segment->vectors + item * n_dims, n_dims * sizeof(float));
        break;
    case THR_DTYPE_F16:
        thr_kernel_f16_to_f32(index->context, (const uint16_t *)segment->vectors + item * n_dims, out, n_dims);
        unpack(index, segment, item, out);
        break;
    default:
        for (size_t d = 0; d < n_dims; d++)
            out[d] = (float)((const int8_t *)segment->vectors)[item * n_dims + d];
        unpack(index, segment, item, out);
        break;
    }
}

static thr_status check_keeps_vectors(const thr_index *index, thr_error *err) {
    const thr_manifest_model *model = &index->manifest.model;
    if (index->manifest.keep == THR_DTYPE_NONE && (!model->codes || model->n_inputs != 0))
        return thr_fail(err, THR_EUNSUPPORTED,
                        "%s: holds codes only: build it with vectors kept, as float32, float16 or int8", index->dir);
    return thr_index_check_unchanged(index, err);
}

thr_status thr_index_vector(const thr_index *index, uint64_t id, float *out, thr_error *err) {
    return thr_index_vectors(index, &id, 1, out, err);
}

thr_status thr_index_vectors(const thr_index *index, const uint64_t *ids, size_t n, float *out, thr_error *err) {
    uint64_t row;
    if (index == NULL || (n > 0 && (ids == NULL || out == NULL)))
        return thr_fail(err, THR_EINVAL, "reading vectors needs an index, ids and memory for the vectors");
    THR_TRY(check_keeps_vectors(index, err));
    for (size_t i = 0; i < n; i++) {
        if (!thr_index_row(index, ids[i], &row)) {
            const thr_status status =
                thr_fail(err, THR_ENOTFOUND, "%s: holds no item with the id %" PRIu64, index->dir, ids[i]);
            return thr_index_check_after(index, status, err);
        }
        thr_index_row_vector(index, row, out + i * thr_manifest_vector_dims(&index->manifest));
    }
    return thr_index_check_after(index, THR_OK, err);
}
