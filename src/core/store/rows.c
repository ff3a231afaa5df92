/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.c - copies of the corpus's rows on devices, beside the codes: records for the rescore, vectors for the refine.
 */
#include "store/slices.h"

#include "base/blocks.h"
#include "base/error.h"
#include "base/minmax.h"
#include "scan/job.h"

#include <string.h>

enum { KEEP_FREE = 8 }; /* 1 / KEEP_FREE of a device's memory */

void thr_store_free_rows(const thr_backend *backend, thr_store_slice *slice) {
    backend->release(slice->device, slice->rows.records);
    backend->release(slice->device, slice->rows.vectors);
    backend->release(slice->device, slice->rows.scales);
    backend->release(slice->device, slice->rows.inverse_norms);
    backend->release(slice->device, slice->rows.halves);
    slice->rows = (thr_store_rows){0};
}

/* Allocate an array of `size` bytes per row; NULL where it does not fit. */
static thr_status alloc_rows(thr_store *store, thr_store_slice *slice, size_t size, void *array_out, thr_error *err) {
    uint64_t free_bytes, all_bytes;
    void *array = NULL;
    const uint64_t bytes = slice->codes.n_items * size;
    THR_TRY(store->backend->free_memory(slice->device, &free_bytes, &all_bytes, err));
    if (free_bytes >= bytes + all_bytes / KEEP_FREE) {
        const thr_status status = store->backend->alloc(slice->device, bytes, &array, "vectors", err);
        if (status != THR_OK && status != THR_ENOMEM)
            return status;
        store->row_bytes += array == NULL ? 0 : bytes;
    }
    memcpy(array_out, &array, sizeof array);
    return THR_OK;
}

/* An array of a segment, through a function since the fields have different types. */
typedef const void *(*array_of)(const thr_segment *segment);

static const void *records_of(const thr_segment *segment) {
    return segment->records;
}
static const void *vectors_of(const thr_segment *segment) {
    return segment->vectors;
}
static const void *scales_of(const thr_segment *segment) {
    return segment->scales;
}
static const void *inverse_norms_of(const thr_segment *segment) {
    return segment->inverse_norms;
}
static const void *halves_of(const thr_segment *segment) {
    return segment->halves;
}

/* Copy the slice's rows from all segments that hold some of them. Rows between segments are not written. */
static thr_status copy_array(const thr_store *store, const thr_scan_corpus *corpus, const thr_store_slice *slice,
                             array_of get, size_t size, void *array, thr_error *err) {
    const uint64_t first = slice->first_block * THR_BLOCK_ITEMS, end = first + slice->codes.n_items;
    for (uint64_t row = first; row < end;) {
        const thr_segment *segment = thr_scan_segment_of(corpus, row);
        const uint64_t segment_end = segment->first_row + segment->n_items, to = THR_MIN(segment_end, end);
        const uint64_t n_blocks = thr_blocks_of(segment->n_items);
        const char *from = (const char *)get(segment) + (row - segment->first_row) * size;
        THR_TRY(store->backend->upload(slice->stream, (char *)array + (row - first) * size, from,
                                       (size_t)(to - row) * size, err));
        row = segment->first_row + n_blocks * THR_BLOCK_ITEMS;
    }
    return THR_OK;
}

/* Allocate and copy an array, if it fits. */
static thr_status keep_array(thr_store *store, const thr_scan_corpus *corpus, thr_store_slice *slice, array_of get,
                             size_t size, void *array_out, thr_error *err) {
    void *array;
    THR_TRY(alloc_rows(store, slice, size, array_out, err));
    memcpy(&array, array_out, sizeof array);
    return array == NULL ? THR_OK : copy_array(store, corpus, slice, get, size, array, err);
}

thr_status thr_store_copy_rows(thr_store *store, const thr_scan_corpus *corpus, thr_store_slice *slice,
                               thr_error *err) {
    const thr_segment *kind = corpus->segments;
    thr_store_rows *rows = &slice->rows;
    if (thr_is_nested(corpus)) {
        const thr_record_shape shape = thr_record_shape_of(corpus->quantiser->n_dims, corpus->quantiser->item_bits,
                                                           corpus->lead, kind->lead_offsets);
        THR_TRY(keep_array(store, corpus, slice, records_of, thr_record_size(shape), &rows->records, err));
    }
    if (corpus->keep == THR_DTYPE_NONE)
        return THR_OK;
    /* Vectors come last: without their other numbers they are of no use. */
    const bool norms = kind->inverse_norms != NULL && kind->halves == NULL;
    if (kind->scales != NULL)
        THR_TRY(keep_array(store, corpus, slice, scales_of, sizeof(float), &rows->scales, err));
    if (kind->halves != NULL)
        THR_TRY(keep_array(store, corpus, slice, halves_of, sizeof(float), &rows->halves, err));
    if (norms)
        THR_TRY(keep_array(store, corpus, slice, inverse_norms_of, sizeof(float), &rows->inverse_norms, err));
    if ((kind->scales == NULL || rows->scales != NULL) && (kind->halves == NULL || rows->halves != NULL) &&
        (!norms || rows->inverse_norms != NULL))
        THR_TRY(keep_array(store, corpus, slice, vectors_of, thr_row_size(corpus), &rows->vectors, err));
    return store->backend->wait(slice->stream, err);
}

bool thr_store_can_rescore(const thr_store *store) {
    for (uint32_t i = 0; i < store->n_slices; i++)
        if (store->slices[i].rows.records == NULL)
            return false;
    return true;
}

bool thr_store_can_refine(const thr_store *store) {
    for (uint32_t i = 0; i < store->n_slices; i++)
        if (store->slices[i].rows.vectors == NULL)
            return false;
    return true;
}
