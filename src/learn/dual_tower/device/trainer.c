/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.c - weights of a dual tower on a device: memory, upload, download. */
#include "base/error.h"
#include "device/layout.h"
#include "dual_tower/device/learner.h"

/* Values and slots of two tables, of dense tensors and of hits. */
enum { ARRAYS_MOST = (1 + THR_WEIGHTS_SLOTS) * (THR_N_SIDES + 2) };

static void lay_out_weights(const thr_weights *from, thr_dual_device_weights *to, thr_device_layout *at) {
    to->values = thr_device_place(at, from->n, sizeof(float));
    to->gradients = from->gradients != NULL ? thr_device_place(at, from->n, sizeof(float)) : NULL;
    for (size_t s = 0; s < THR_WEIGHTS_SLOTS; s++)
        to->slots[s] = thr_device_place(at, from->n, sizeof(float));
}

static size_t most_ads(const thr_dual_trainer *t) {
    return t->requests.most_ads;
}

static void lay_out(const thr_dual_trainer *t, thr_dual_learner *l, thr_device_layout *at) {
    for (size_t side = 0; side < THR_N_SIDES; side++)
        lay_out_weights(&t->tables[side], &l->tables[side], at);
    lay_out_weights(&t->dense, &l->dense, at);
    lay_out_weights(&t->hits, &l->hits, at);
    l->discounts = thr_device_place(at, most_ads(t), sizeof *l->discounts);
    l->one = thr_device_place(at, 1, sizeof *l->one);
}

typedef struct array {
    float *host, *device;
    size_t size; /* bytes */
} array;

static size_t list_weights(const thr_weights *host, const thr_dual_device_weights *device, array *arrays) {
    arrays[0] = (array){host->values, device->values, host->n * sizeof(float)};
    for (size_t s = 0; s < THR_WEIGHTS_SLOTS; s++)
        arrays[1 + s] = (array){host->slots[s], device->slots[s], host->n * sizeof(float)};
    return 1 + THR_WEIGHTS_SLOTS;
}

static size_t list_arrays(const thr_dual_trainer *t, const thr_dual_learner *l, array arrays[ARRAYS_MOST]) {
    size_t n = 0;
    for (size_t side = 0; side < THR_N_SIDES; side++)
        n += list_weights(&t->tables[side], &l->tables[side], arrays + n);
    n += list_weights(&t->dense, &l->dense, arrays + n);
    return n + (t->hits.n != 0 ? list_weights(&t->hits, &l->hits, arrays + n) : 0);
}

static thr_status open_learner(const thr_dual_trainer *t, thr_dual_learner *l, thr_error *err) {
    static const float one = 1.0f;
    thr_device_layout at = {0};
    array arrays[ARRAYS_MOST];
    lay_out(t, l, &at);
    THR_TRY(l->backend->open_stream(l->device, &l->stream, err));
    THR_TRY(l->backend->alloc(l->device, at.used, &l->weights, "weights and the optimisers' state", err));
    at = (thr_device_layout){.memory = l->weights};
    lay_out(t, l, &at);
    const size_t n = list_arrays(t, l, arrays);
    for (size_t i = 0; i < n; i++)
        THR_TRY(l->backend->upload(l->stream, arrays[i].device, arrays[i].host, arrays[i].size, err));
    THR_TRY(l->backend->upload(l->stream, l->discounts, t->discounts, most_ads(t) * sizeof *l->discounts, err));
    THR_TRY(l->backend->upload(l->stream, l->one, &one, sizeof one, err));
    THR_TRY(thr_alloc_zero(l->context, t->lexicon.words[THR_SIDE_ITEM].n_words, sizeof *l->slot_of, &l->slot_of,
                           "features", err));
    return l->backend->wait(l->stream, err);
}

thr_status thr_dual_device_open(void *user, const thr_devices *devices, void **learner, thr_error *err) {
    const thr_dual_trainer *trainer = user;
    thr_dual_learner *l = NULL;
    *learner = NULL;
    THR_TRY(thr_alloc_zero(trainer->context, 1, sizeof *l, &l, "a training on a GPU", err));
    l->backend = devices->backend;
    l->device = devices->devices[0];
    l->context = trainer->context;
    l->on_host.pinned = true;
    const thr_status status = open_learner(trainer, l, err);
    THR_RETURN_MADE(status, l, learner, thr_dual_device_close);
}

void thr_dual_device_close(void *learner) {
    thr_dual_learner *l = learner;
    if (l == NULL)
        return;
    l->backend->close_stream(l->stream);
    l->backend->release(l->device, l->weights);
    thr_device_upload_free(l->backend, l->device, &l->upload);
    thr_device_buffers_free(l->backend, l->device, &l->workspace, 1);
    thr_device_buffers_free(l->backend, l->device, &l->on_host, 1);
    THR_RELEASE(l->context, l->slot_of, l->ad_slot_offsets, l->ad_slots, l->slot_ads, l->history_slots);
    thr_release(l->context, l);
}

thr_status thr_dual_device_fetch(void *learner, void *trainer, thr_error *err) {
    const thr_dual_learner *l = learner;
    array arrays[ARRAYS_MOST];
    const size_t n = list_arrays(trainer, l, arrays);
    for (size_t i = 0; i < n; i++)
        THR_TRY(l->backend->download(l->stream, arrays[i].host, arrays[i].device, arrays[i].size, err));
    return l->backend->wait(l->stream, err);
}
