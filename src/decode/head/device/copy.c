/* SPDX-License-Identifier: Apache-2.0 */
/* copy.c - uploading a head to a GPU, its plane codes on first use, and its growing buffers. */
#include "head/device/gpu_head.h"

#include <string.h>

#include "base/error.h"
#include "store/store.h"

static const size_t USUAL_LIMIT = (size_t)256 << 20;

thr_status thr_head_device_grow(thr_head_device *d, thr_head_device_buffer name, size_t size, void *memory_out,
                                thr_error *err) {
    return thr_device_buffer_grow(d->backend, d->device, &d->buffers[name], size, "a query", memory_out, err);
}

/* ------------------------------------------------------------------------------------------------ upload the head */

/* Upload a part of the head; NULL if the head lacks it. */
static thr_status copy(thr_head_device *d, const void *from, size_t size, void *memory_out, thr_error *err) {
    void *memory = NULL;
    if (from != NULL) {
        THR_TRY(d->backend->alloc(d->device, size, &memory, "a head", err));
        d->sections[d->n_sections++] = memory;
        d->head_bytes += size;
        THR_TRY(d->backend->upload(d->stream, memory, from, size, err));
    }
    memcpy(memory_out, &memory, sizeof memory);
    return THR_OK;
}

/*
 * Permutations are stored by dimension, so that adjacent threads, which have adjacent permutations, read adjacent
 * memory.
 */
static thr_status copy_permutations(thr_head_device *d, thr_error *err) {
    const thr_wta *wta = &d->head->wta;
    const uint32_t n_places = wta->shape.n_places, n = wta->shape.n_bands * wta->shape.n_hashes;
    uint32_t *turned = NULL;
    THR_TRY(thr_alloc(d->head->context, (size_t)n_places * n, sizeof *turned, &turned, "permutations", err));
    for (uint32_t j = 0; j < n_places; j++)
        for (uint32_t p = 0; p < n; p++)
            turned[(size_t)j * n + p] = thr_wta_place(wta, p, j);
    thr_status status = copy(d, turned, (size_t)n_places * n * sizeof *turned, &d->places, err);
    const thr_status waited = d->backend->wait(d->stream, status == THR_OK ? err : NULL);
    thr_release(d->head->context, turned);
    return status == THR_OK ? waited : status;
}

static thr_status copy_hashes(thr_head_device *d, thr_error *err) {
    const thr_head_contents *c = thr_head_of(d->head);
    const size_t n_slots = (size_t)c->lsh.table.n_slots + c->lsh.table.n_stash;
    if (c->shape.n_bands == 0)
        return THR_OK;
    THR_TRY(copy_permutations(d, err));
    THR_TRY(copy(d, c->lsh.table.slots, n_slots * sizeof(thr_cuckoo_slot), &d->slots, err));
    return copy(d, c->lsh.words, (size_t)c->n_words * c->shape.n_bands * sizeof(uint32_t), &d->listed, err);
}

static thr_status copy_head(thr_head_device *d, thr_error *err) {
    const thr_head_contents *c = thr_head_of(d->head);
    const size_t n = c->n_words;
    THR_TRY(copy(d, c->weights, n * thr_head_row_size(c), &d->weights, err));
    THR_TRY(copy(d, c->scales, n * sizeof *c->scales, &d->scales, err));
    THR_TRY(copy(d, c->bias, n * sizeof *c->bias, &d->bias, err));
    THR_TRY(copy(d, c->order, n * sizeof *c->order, &d->order, err));
    THR_TRY(copy_hashes(d, err));
    return d->backend->wait(d->stream, err);
}

thr_status thr_head_device_create(void *object, const thr_devices *devices, void **out, thr_error *err) {
    const thr_head *head = object;
    thr_head_device *d = NULL;
    *out = NULL;
    THR_TRY(thr_alloc_zero(head->context, 1, sizeof *d, &d, "a head", err));
    d->head = head;
    d->devices = devices;
    d->backend = devices->backend;
    d->device = devices->devices[0];
    d->limit = USUAL_LIMIT;
    thr_device_buffers_start(d->buffers, THR_HEAD_N_BUFFERS, THR_HEAD_BUFFER_HOST_IN);
    (void)pthread_mutex_init(&d->mutex, NULL);
    (void)pthread_mutex_init(&d->codes_mutex, NULL);
    thr_status status = d->backend->open_stream(d->device, &d->stream, err);
    if (status == THR_OK)
        status = copy_head(d, err);
    THR_RETURN_MADE(status, d, out, thr_head_device_free);
}

void thr_head_device_free(void *device) {
    thr_head_device *d = device;
    if (d == NULL)
        return;
    const thr_backend *backend = d->backend;
    backend->close_stream(d->stream);
    for (uint32_t i = 0; i < d->n_sections; i++)
        backend->release(d->device, d->sections[i]);
    thr_device_buffers_free(backend, d->device, d->buffers, THR_HEAD_N_BUFFERS);
    thr_store_free(d->store);
    thr_release(d->head->context, d->best);
    (void)pthread_mutex_destroy(&d->mutex);
    (void)pthread_mutex_destroy(&d->codes_mutex);
    thr_release(d->head->context, d);
}

/* ------------------------------------------------------------------------------------------------ plane codes */

thr_status thr_head_device_codes(thr_head_device *d, const thr_scan_corpus **corpus, thr_error *err) {
    thr_devices first = {.backend = d->backend, .n = 1, .devices = {d->device}};
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
    thr_head_device_size size = {.head_bytes = d->head_bytes};
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
