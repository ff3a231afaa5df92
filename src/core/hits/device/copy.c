/* SPDX-License-Identifier: Apache-2.0 */
/* copy.c - copies posting lists to a GPU, and manages the device memory of searches. */
#include "hits/device/gpu_lists.h"

#include <string.h>

#include "base/error.h"

_Static_assert((int)THR_HIT_WINDOW == (int)THR_LISTS_WINDOW && (int)THR_HIT_PLACES == (int)THR_LISTS_PLACES &&
                   (int)THR_HIT_RUNS == (int)THR_LISTS_RUNS && (int)THR_HIT_BITMAPS == (int)THR_LISTS_BITMAPS &&
                   (int)(THR_HIT_BITMAP_WORDS * sizeof(uint32_t)) == (int)THR_LISTS_BITMAP_BYTES,
               "a device's lists are the file's");

thr_status thr_hits_store_grow(thr_hit_store *store, thr_hit_buffer_name name, size_t size, void *memory_out,
                               thr_error *err) {
    return thr_device_buffer_grow(store->backend, store->device, &store->buffers[name], size, "a search", memory_out,
                                  err);
}

/* ------------------------------------------------------------------------------------------------ the lists */

/* Copy a section of the lists to new device memory. */
static thr_status copy(thr_hit_store *store, const void *from, size_t size, void *memory_out, thr_error *err) {
    void *memory = NULL;
    THR_TRY(store->backend->alloc(store->device, size, &memory, "posting lists", err));
    store->sections[store->n_sections++] = memory;
    store->list_bytes += size;
    memcpy(memory_out, &memory, sizeof memory);
    return size == 0 ? THR_OK : store->backend->upload(store->stream, memory, from, size, err);
}

/* Compute the first element of every stretch. */
static void find_begins(const thr_lists *lists, uint32_t *begins) {
    for (uint32_t e = 0; e < lists->n_entries; e++) {
        uint32_t at = lists->entry_begins[e];
        for (uint32_t p = thr_lists_first_stretch(lists, e); p < thr_lists_first_stretch(lists, e + 1); p++) {
            begins[p] = at;
            at += lists->stretch_sizes[p] + 1u;
        }
    }
}

static thr_status copy_lists(thr_hit_store *store, const uint32_t *rows, thr_error *err) {
    thr_status status = THR_OK;
    uint32_t *begins = NULL;
    const thr_lists *lists = store->lists;
    thr_device_hits *to = &store->hits;
    const size_t n_stretches = lists->n_stretches, n_bitmaps = lists->n_elements[THR_LISTS_BITMAPS];
    THR_TRY(thr_alloc(store->context, n_stretches, sizeof *begins, &begins, "posting lists", err));
    find_begins(lists, begins);
    to->n_items = lists->n_items;
    THR_TRY_OUT(copy(store, begins, n_stretches * sizeof *begins, &to->stretch_begins, err));
    THR_TRY_OUT(copy(store, lists->stretch_windows, n_stretches, &to->stretch_windows, err));
    THR_TRY_OUT(copy(store, lists->stretch_sizes, n_stretches * sizeof *lists->stretch_sizes, &to->stretch_sizes, err));
    THR_TRY_OUT(
        copy(store, lists->places, lists->n_elements[THR_LISTS_PLACES] * sizeof *lists->places, &to->places, err));
    THR_TRY_OUT(copy(store, lists->runs, lists->n_elements[THR_LISTS_RUNS] * 2 * sizeof *lists->runs, &to->runs, err));
    THR_TRY_OUT(copy(store, lists->bitmap_containers, n_bitmaps, &to->bitmap_containers, err));
    THR_TRY_OUT(copy(store, lists->bitmaps, n_bitmaps * THR_LISTS_BITMAP_BYTES, &to->bitmaps, err));
    if (rows != NULL)
        THR_TRY_OUT(copy(store, rows, lists->n_items * sizeof *rows, &to->rows, err));
    status = store->backend->wait(store->stream, err); /* before begins are freed */
out:
    if (status != THR_OK)
        (void)store->backend->wait(store->stream, NULL);
    thr_release(store->context, begins);
    return status;
}

thr_status thr_hits_store_create(thr_context *context, const thr_devices *devices, const thr_lists *lists,
                                 const uint32_t *rows, thr_hit_store **out, thr_error *err) {
    thr_hit_store *store = NULL;
    *out = NULL;
    THR_TRY(thr_alloc_zero(context, 1, sizeof *store, &store, "posting lists", err));
    store->context = context;
    store->backend = devices->backend;
    store->device = devices->devices[0];
    store->lists = lists;
    thr_device_buffers_start(store->buffers, THR_HIT_N_BUFFERS, THR_HIT_BUFFER_HOST_CHOSEN);
    (void)pthread_mutex_init(&store->mutex, NULL);
    thr_status status = store->backend->open_stream(store->device, &store->stream, err);
    if (status == THR_OK)
        status = copy_lists(store, rows, err);
    THR_RETURN_MADE(status, store, out, thr_hits_store_free);
}

void thr_hits_store_free(thr_hit_store *store) {
    if (store == NULL)
        return;
    const thr_backend *backend = store->backend;
    backend->close_stream(store->stream);
    for (uint32_t i = 0; i < store->n_sections; i++)
        backend->release(store->device, store->sections[i]);
    thr_device_buffers_free(backend, store->device, store->buffers, THR_HIT_N_BUFFERS);
    thr_lists_query_free(store->context, &store->query);
    THR_RELEASE(store->context, store->entries, store->best);
    (void)pthread_mutex_destroy(&store->mutex);
    thr_release(store->context, store);
}

thr_hit_store_size thr_hits_store_get_size(thr_hit_store *store) {
    (void)pthread_mutex_lock(&store->mutex);
    const thr_hit_store_size size = {.list_bytes = store->list_bytes,
                                     .workspace_bytes = thr_device_buffers_size(store->buffers, THR_HIT_N_BUFFERS)};
    (void)pthread_mutex_unlock(&store->mutex);
    return size;
}

void thr_hits_store_force(thr_hit_store *store, thr_hit_way way) {
    store->way = way;
}
