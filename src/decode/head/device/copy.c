/* SPDX-License-Identifier: Apache-2.0 */
/* copy.c - uploading a head to a GPU, its plane codes on first use, and its growing buffers. */
#include "head/device/gpu_head.h"

#include <string.h>

#include "base/error.h"
#include "store/store.h"

static const size_t USUAL_LIMIT = (size_t)256 << 20;

thr_status thr_head_device_grow(thr_head_device *d, thr_head_device_buffer name, size_t size, void *memory_out,
                                thr_error *err) {
    return thr_device_buffer_grow(d->arrays.backend, d->arrays.device, &d->buffers[name], size, "a query", memory_out,
                                  err);
}

/* ------------------------------------------------------------------------------------------------ upload the head */

/*
 * Permutations are stored by dimension, so that adjacent threads, which have adjacent permutations, read adjacent
 * memory.
 */
static void turn_permutations(const thr_wta *wta, uint32_t n, uint32_t *turned) {
    for (uint32_t j = 0; j < wta->shape.n_places; j++)
        for (uint32_t p = 0; p < n; p++)
            turned[(size_t)j * n + p] = thr_wta_place(wta, p, j);
}

static thr_status copy_head(thr_head_device *d, thr_error *err) {
    const thr_head_contents *c = thr_head_of(d->head);
    const thr_wta *wta = &d->head->wta;
    const bool hashes = c->shape.n_bands > 0;
    const uint32_t n_permutations = hashes ? wta->shape.n_bands * wta->shape.n_hashes : 0;
    const size_t n = c->n_words, n_slots = (size_t)c->lsh.table.n_slots + c->lsh.table.n_stash;
    uint32_t *turned = NULL;
    THR_TRY(thr_alloc(d->head->context, (size_t)wta->shape.n_places * n_permutations, sizeof *turned, &turned,
                      "permutations", err));
    if (hashes)
        turn_permutations(wta, n_permutations, turned);
    const thr_device_array table[] = {
        {c->weights, n, thr_head_row_size(c), &d->weights},
        {c->scales, c->scales != NULL ? n : 0, sizeof *c->scales, &d->scales},
        {c->bias, c->bias != NULL ? n : 0, sizeof *c->bias, &d->bias},
        {c->order, c->order != NULL ? n : 0, sizeof *c->order, &d->order},
        {turned, (size_t)wta->shape.n_places * n_permutations, sizeof *turned, &d->places},
        {c->lsh.table.slots, hashes ? n_slots : 0, sizeof(thr_cuckoo_slot), &d->slots},
        {c->lsh.words, n * c->shape.n_bands, sizeof *c->lsh.words, &d->listed}};
    thr_status status = thr_device_arrays_put(&d->arrays, table, sizeof table / sizeof *table, err);
    const thr_status waited = d->arrays.backend->wait(d->arrays.stream, status == THR_OK ? err : NULL);
    thr_release(d->head->context, turned); /* uploaded by now */
    return status == THR_OK ? waited : status;
}

thr_status thr_head_device_create(void *object, const thr_devices *devices, void **out, thr_error *err) {
    const thr_head *head = object;
    thr_head_device *d = NULL;
    *out = NULL;
    THR_TRY(thr_alloc_zero(head->context, 1, sizeof *d, &d, "a head", err));
    d->head = head;
    d->limit = USUAL_LIMIT;
    thr_device_buffers_start(d->buffers, THR_HEAD_N_BUFFERS, THR_HEAD_BUFFER_HOST_IN);
    (void)pthread_mutex_init(&d->mutex, NULL);
    (void)pthread_mutex_init(&d->codes_mutex, NULL);
    thr_status status = thr_device_arrays_start(&d->arrays, devices, "a head", err);
    if (status == THR_OK)
        status = copy_head(d, err);
    THR_RETURN_MADE(status, d, out, thr_head_device_free);
}

void thr_head_device_free(void *device) {
    thr_head_device *d = device;
    if (d == NULL)
        return;
    thr_device_arrays_free(&d->arrays);
    thr_device_buffers_free(d->arrays.backend, d->arrays.device, d->buffers, THR_HEAD_N_BUFFERS);
    thr_store_free(d->store);
    thr_release(d->head->context, d->best);
    (void)pthread_mutex_destroy(&d->mutex);
    (void)pthread_mutex_destroy(&d->codes_mutex);
    thr_release(d->head->context, d);
}

/* ------------------------------------------------------------------------------------------------ plane codes */

thr_status thr_head_device_codes(thr_head_device *d, const thr_scan_corpus **corpus, thr_error *err) {
    thr_devices first = {.backend = d->arrays.backend, .n = 1, .devices = {d->arrays.device}};
    thr_status status = THR_OK;
    (void)pthread_mutex_lock(&d->codes_mutex);
    if (d->store == NULL) {
        status = thr_store_create(d->head->context, &first, &d->head->corpus, &d->store, err);
        d->corpus = d->head->corpus;
        d->corpus.store = d->store;
    }
    (void)pthread_mutex_unlock(&d->codes_mutex);
    *corpus = &d->corpus; /* immutable from here on */
    return status;
}

/* ------------------------------------------------------------------------------------------------ memory */

thr_head_device_size thr_head_device_get_size(thr_head_device *d) {
    thr_head_device_size size = {.head_bytes = d->arrays.bytes};
    (void)pthread_mutex_lock(&d->codes_mutex);
    if (d->store != NULL) {
        const thr_store_size codes = thr_store_get_size(d->store);
        size.code_bytes = codes.code_bytes + codes.row_bytes + codes.workspace_bytes;
    }
    (void)pthread_mutex_unlock(&d->codes_mutex);
    (void)pthread_mutex_lock(&d->mutex);
    size.workspace_bytes = thr_device_buffers_size(d->buffers, THR_HEAD_N_BUFFERS);
    (void)pthread_mutex_unlock(&d->mutex);
    return size;
}

void thr_head_device_limit(thr_head_device *d, size_t bytes) {
    d->limit = bytes;
}
