/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.c - creates and frees a store: cuts a corpus's blocks into a slice for each device, and copies its codes
 * (copy_codes.c) and rows (rows.c).
 */
#include "store/slices.h"

#include "base/blocks.h"
#include "base/error.h"
#include "base/minmax.h"
#include "code/encode.h"
#include "scan/job.h"
#include "store/chunks.h"
#include "store/search_memory.h"

#include <string.h>

static void free_slice(thr_store *store, thr_store_slice *slice) {
    const thr_backend *backend = store->backend;
    backend->close_stream(slice->stream);
    thr_store_free_rows(backend, slice);
    thr_store_free_codes(store, slice);
    thr_device_buffers_free(backend, slice->device, slice->buffers, THR_N_BUFFERS);
}

void thr_store_free(thr_store *store) {
    if (store == NULL)
        return;
    for (uint32_t i = 0; i < store->n_slices; i++)
        free_slice(store, &store->slices[i]);
    (void)pthread_mutex_destroy(&store->mutex);
    thr_release(store->context, store);
}

thr_store_size thr_store_get_size(thr_store *store) {
    (void)pthread_mutex_lock(&store->mutex);
    thr_store_size size = {
        .code_bytes = store->code_bytes, .host_code_bytes = store->host_code_bytes, .row_bytes = store->row_bytes};
    for (uint32_t i = 0; i < store->n_slices; i++)
        size.workspace_bytes += thr_device_buffers_size(store->slices[i].buffers, THR_N_BUFFERS);
    (void)pthread_mutex_unlock(&store->mutex);
    return size;
}

/* Compute the slice's tile sizes from a segment; all segments are of one kind. */
static void measure_tile(thr_store_slice *slice, const thr_segment *kind) {
    thr_tile_size *tile = &slice->tile;
    tile->codes = THR_BLOCKS_A_TILE * thr_block_size(slice->codes.n_dims, slice->codes.n_planes);
    if (kind->records != NULL) {
        slice->number_kind = THR_NUMBERS_LEADS;
        tile->numbers = THR_DEVICE_TILE * sizeof(uint16_t) * (kind->lead_offsets ? 2 : 1);
    } else if (kind->factors == NULL) {
        slice->number_kind = THR_NUMBERS_NORMS;
        tile->numbers = THR_BLOCKS_A_TILE * sizeof(uint32_t);
    } else {
        slice->number_kind = THR_NUMBERS_FACTORS;
        tile->numbers = THR_DEVICE_TILE * sizeof(float);
    }
    tile->offsets = kind->records == NULL && kind->offsets != NULL ? THR_DEVICE_TILE * sizeof(float) : 0;
    tile->all = tile->codes + tile->numbers + tile->offsets;
}

static thr_status open_slice(thr_store *store, const thr_scan_corpus *corpus, thr_store_slice *slice, thr_error *err) {
    const uint64_t first_row = slice->first_block * THR_BLOCK_ITEMS,
                   n_rows = (uint64_t)slice->n_blocks * THR_BLOCK_ITEMS;
    slice->n_tiles = THR_CEIL_DIV(slice->n_blocks, THR_BLOCKS_A_TILE);
    slice->codes = (thr_device_codes){.n_items = THR_MIN(corpus->n_rows - first_row, n_rows),
                                      .n_dims = corpus->quantiser->n_dims,
                                      .n_planes = corpus->lead,
                                      .lead_offsets = corpus->segments->lead_offsets};
    measure_tile(slice, corpus->segments);
    THR_TRY(store->backend->open_stream(slice->device, &slice->stream, err));
    THR_TRY(thr_store_place_codes(store, slice, err));
    THR_TRY(thr_store_copy_codes(store, corpus, slice, err));
    return thr_store_copy_rows(store, corpus, slice, err);
}

thr_status thr_store_create(thr_context *context, const thr_devices *devices, const thr_scan_corpus *corpus,
                            thr_store **store_out, thr_error *err) {
    const uint64_t n_blocks = thr_blocks_of(corpus->n_rows);
    const uint64_t n_tiles = THR_CEIL_DIV(n_blocks, THR_BLOCKS_A_TILE);
    const uint32_t n_slices = n_tiles < devices->n ? (uint32_t)n_tiles : devices->n;
    thr_store *store = NULL;
    *store_out = NULL;
    if (n_slices == 0 || THR_CEIL_DIV(n_tiles, n_slices) >= (UINT64_C(1) << 32) / THR_DEVICE_TILE)
        return thr_fail(err, THR_EUNSUPPORTED, "%llu items on %u GPUs: each must hold less than 2^32",
                        (unsigned long long)corpus->n_rows, devices->n);
    THR_TRY(thr_alloc_zero(context, 1, sizeof *store + n_slices * sizeof *store->slices, &store, "a store", err));
    store->context = context;
    store->backend = devices->backend;
    store->n_slices = n_slices;
    (void)pthread_mutex_init(&store->mutex, NULL);
    for (uint32_t i = 0; i < n_slices; i++) {
        thr_store_slice *slice = &store->slices[i];
        const uint64_t end = (i + 1) * n_tiles / n_slices * THR_BLOCKS_A_TILE;
        slice->device = devices->devices[i];
        thr_device_buffers_start(slice->buffers, THR_N_BUFFERS, THR_STORE_BUFFER_HOST_WORDS);
        slice->first_block = i * n_tiles / n_slices * THR_BLOCKS_A_TILE;
        slice->n_blocks = (uint32_t)(THR_MIN(end, n_blocks) - slice->first_block);
        const thr_status status = open_slice(store, corpus, slice, err);
        if (status != THR_OK) {
            store->n_slices = i + 1; /* the remaining slices have no devices yet */
            thr_store_free(store);
            return status;
        }
    }
    *store_out = store;
    return THR_OK;
}
