/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.c - a dual tower's learner: constants of its steps, opening and closing. */
#include "base/error.h"
#include "device/layout.h"
#include "dual_tower/device/learner.h"

static thr_status upload_constants(const thr_dual_trainer *t, thr_dual_learner *l, thr_error *err) {
    static const float one = 1.0f;
    const thr_backend *backend = l->base.backend;
    const size_t n = t->requests.most_ads;
    thr_device_layout at = {0};
    (void)thr_device_place(&at, n, sizeof *l->discounts);
    (void)thr_device_place(&at, 1, sizeof *l->one);
    THR_TRY(thr_training_learner_alloc(&l->base, at.used, &l->constants, "discounts of ranks", err));
    at = (thr_device_layout){.memory = l->constants};
    l->discounts = thr_device_place(&at, n, sizeof *l->discounts);
    l->one = thr_device_place(&at, 1, sizeof *l->one);
    THR_TRY(backend->upload(l->base.stream, l->discounts, t->discounts, n * sizeof *l->discounts, err));
    THR_TRY(backend->upload(l->base.stream, l->one, &one, sizeof one, err));
    THR_TRY(thr_alloc_zero(l->base.context, t->lexicon.words[THR_SIDE_ITEM].n_words, sizeof *l->slot_of, &l->slot_of,
                           "features", err));
    return backend->wait(l->base.stream, err);
}

thr_status thr_dual_device_open(void *user, const thr_devices *devices, void **learner, thr_error *err) {
    const thr_dual_trainer *trainer = user;
    thr_dual_learner *l = NULL;
    *learner = NULL;
    THR_TRY(thr_training_learner_open(&trainer->base, devices, sizeof *l, &l, err));
    l->on_host.pinned = true;
    const thr_status status = upload_constants(trainer, l, err);
    THR_RETURN_MADE(status, l, learner, thr_dual_device_close);
}

void thr_dual_device_close(void *learner) {
    thr_dual_learner *l = learner;
    if (l == NULL)
        return;
    const thr_backend *backend = l->base.backend;
    thr_device *device = l->base.device;
    (void)backend->wait(l->base.stream, NULL);
    backend->release(device, l->constants);
    thr_device_upload_free(backend, device, &l->upload);
    thr_device_buffers_free(backend, device, &l->workspace, 1);
    thr_device_buffers_free(backend, device, &l->on_host, 1);
    THR_RELEASE(l->base.context, l->slot_of, l->ad_slot_offsets, l->ad_slots, l->slot_ads, l->history_slots);
    thr_training_learner_close(&l->base);
}
