/* SPDX-License-Identifier: Apache-2.0 */
/* search_memory.c - grows the buffers of searches, and moves codes to the host where device memory does not suffice. */
#include "store/search_memory.h"

#include "base/error.h"
#include "base/minmax.h"
#include "store/chunks.h"

enum {
    BATCH_BYTES = 256 << 20, /* of memory for the rows that pass, over a batch of queries */
    SPARE_SHARE = 4          /* of the memory that a slice left free for searches, if that is less */
};

thr_status thr_store_grow(thr_store *store, thr_store_slice *slice, thr_store_buffer_name name, size_t size,
                          void *memory_out, thr_error *err) {
    thr_device_buffer *buffer = &slice->buffers[name];
    const bool grows = buffer->size < size;
    const thr_status status =
        thr_device_buffer_grow(store->backend, slice->device, buffer, size, "a search", memory_out, err);
    if (grows)
        slice->lacks = status == THR_ENOMEM && !buffer->pinned ? size : 0;
    return status;
}

uint32_t thr_store_fitting(const thr_store_slice *slice, uint32_t n, uint64_t size) {
    const uint64_t spare = slice->spare_bytes / SPARE_SHARE, most = THR_MIN(spare, BATCH_BYTES);
    const uint64_t fitting = n * size > most ? most / size : n;
    return fitting < 1 ? 1 : (uint32_t)fitting;
}

/*
 * Place a slice's codes again, leaving twice as much memory free as before, so that a search that lacks several buffers
 * does not cause a copy for each. If this fails slice->lacks stays set, and the next search begins here.
 */
static thr_status move_codes(thr_store *store, const thr_scan_corpus *corpus, thr_store_slice *slice, thr_error *err) {
    const size_t least = THR_MAX(slice->spare_bytes, slice->lacks);
    thr_store_free_codes(store, slice);
    slice->spare_bytes = least <= SIZE_MAX / 2 ? 2 * least : SIZE_MAX;
    THR_TRY(thr_store_place_codes(store, slice, err));
    THR_TRY(thr_store_copy_codes(store, corpus, slice, err));
    slice->lacks = 0;
    return THR_OK;
}

static thr_status move_all_codes(thr_store *store, const thr_scan_corpus *corpus, thr_error *err) {
    bool any = false;
    for (uint32_t i = 0; i < store->n_slices; i++)
        any = any || store->slices[i].lacks > 0;
    /* Wait for all devices: the repeated search overwrites memory that copies of the last attempt may still read. */
    for (uint32_t i = 0; i < store->n_slices && any; i++)
        THR_TRY(store->backend->wait(store->slices[i].stream, err));
    for (uint32_t i = 0; i < store->n_slices; i++)
        if (store->slices[i].lacks > 0)
            THR_TRY(move_codes(store, corpus, &store->slices[i], err));
    return THR_OK;
}

/* Whether a slice lacks memory that moving its resident codes could free. */
static bool can_move_codes(thr_store *store) {
    bool any = false;
    for (uint32_t i = 0; i < store->n_slices; i++) {
        thr_store_slice *slice = &store->slices[i];
        if (slice->n_resident == 0)
            slice->lacks = 0; /* no resident codes are left to move */
        any = any || slice->lacks > 0;
    }
    return any;
}

thr_status thr_store_with_lock(thr_store *store, const thr_scan_corpus *corpus, thr_store_work work, void *arg,
                               thr_error *err) {
    thr_status status;
    (void)pthread_mutex_lock(&store->mutex);
    do {
        status = move_all_codes(store, corpus, err);
        if (status != THR_OK)
            break;
        status = work(arg, err);
    } while (status == THR_ENOMEM && can_move_codes(store));
    (void)pthread_mutex_unlock(&store->mutex);
    return status;
}
