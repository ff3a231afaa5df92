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
    return thr_device_buffer_grow(store->arrays.backend, store->arrays.device, &store->buffers[name], size, "a search",
                                  memory_out, err);
}

/* ------------------------------------------------------------------------------------------------ the lists */

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
    const thr_device_array table[] = {
        {begins, n_stretches, sizeof *begins, &to->stretch_begins},
        {lists->stretch_windows, n_stretches, sizeof *lists->stretch_windows, &to->stretch_windows},
        {lists->stretch_sizes, n_stretches, sizeof *lists->stretch_sizes, &to->stretch_sizes},
        {lists->places, lists->n_elements[THR_LISTS_PLACES], sizeof *lists->places, &to->places},
        {lists->runs, lists->n_elements[THR_LISTS_RUNS], 2 * sizeof *lists->runs, &to->runs},
        {lists->bitmap_containers, n_bitmaps, sizeof *lists->bitmap_containers, &to->bitmap_containers},
        {lists->bitmaps, n_bitmaps, THR_LISTS_BITMAP_BYTES, &to->bitmaps},
        {rows, rows != NULL ? lists->n_items : 0, sizeof *rows, &to->rows}};
    status = thr_device_arrays_put(&store->arrays, table, sizeof table / sizeof *table, err);
    const thr_status waited = store->arrays.backend->wait(store->arrays.stream, status == THR_OK ? err : NULL);
    thr_release(store->context, begins); /* uploaded by now */
    return status == THR_OK ? waited : status;
}

thr_status thr_hits_store_create(thr_context *context, const thr_devices *devices, const thr_lists *lists,
                                 const uint32_t *rows, thr_hit_store **out, thr_error *err) {
    thr_hit_store *store = NULL;
    *out = NULL;
    THR_TRY(thr_alloc_zero(context, 1, sizeof *store, &store, "posting lists", err));
    store->context = context;
    store->lists = lists;
    thr_device_buffers_start(store->buffers, THR_HIT_N_BUFFERS, THR_HIT_BUFFER_HOST_CHOSEN);
    (void)pthread_mutex_init(&store->mutex, NULL);
    thr_status status = thr_device_arrays_start(&store->arrays, devices, "posting lists", err);
    if (status == THR_OK)
        status = copy_lists(store, rows, err);
    THR_RETURN_MADE(status, store, out, thr_hits_store_free);
}

void thr_hits_store_free(thr_hit_store *store) {
    if (store == NULL)
        return;
    thr_device_arrays_free(&store->arrays);
    thr_device_buffers_free(store->arrays.backend, store->arrays.device, store->buffers, THR_HIT_N_BUFFERS);
    thr_lists_query_free(store->context, &store->query);
    THR_RELEASE(store->context, store->entries, store->best);
    (void)pthread_mutex_destroy(&store->mutex);
    thr_release(store->context, store);
}

thr_hit_store_size thr_hits_store_get_size(thr_hit_store *store) {
    (void)pthread_mutex_lock(&store->mutex);
    const thr_hit_store_size size = {.list_bytes = store->arrays.bytes,
                                     .workspace_bytes = thr_device_buffers_size(store->buffers, THR_HIT_N_BUFFERS)};
    (void)pthread_mutex_unlock(&store->mutex);
    return size;
}

void thr_hits_store_force(thr_hit_store *store, thr_hit_way way) {
    store->way = way;
}
