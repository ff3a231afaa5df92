/* SPDX-License-Identifier: Apache-2.0 */
/* learner.c - memory of a training's weights on a device, and their upload and download. */
#include "training/learner.h"

#include <string.h>

#include "base/error.h"
#include "device/layout.h"

thr_status thr_training_learner_alloc(const thr_learner *learner, size_t size, void *memory_out, const char *what,
                                      thr_error *err) {
    thr_error why = {.status = THR_OK};
    void *memory = NULL;
    const thr_status status = learner->backend->alloc(learner->device, size, &memory, what, &why);
    memcpy(memory_out, &memory, sizeof memory);
    if (status == THR_ENOMEM)
        return thr_fail(err, THR_ENOMEM,
                        "%s; batches smaller than %u examples and smaller vocabularies take less, and on the CPU "
                        "(device cpu) no GPU's memory is needed",
                        why.text, learner->batch);
    return thr_pass_on(status, &why, err);
}

static void lay_out(const thr_trainer *trainer, thr_learner *learner, thr_device_layout *at) {
    for (size_t w = 0; w < THR_N_TRAINED; w++) {
        const thr_weights *from = &trainer->weights[w];
        thr_device_weights *to = &learner->weights[w];
        to->values = thr_device_place(at, from->n, sizeof(float));
        to->gradients = from->gradients != NULL ? thr_device_place(at, from->n, sizeof(float)) : NULL;
        for (size_t s = 0; s < THR_WEIGHTS_SLOTS; s++)
            to->slots[s] = thr_device_place(at, from->n, sizeof(float));
    }
}

static thr_status copy(const thr_learner *learner, float *here, float *there, size_t n, bool to_device,
                       thr_error *err) {
    const size_t size = n * sizeof *here;
    return to_device ? learner->backend->upload(learner->stream, there, here, size, err)
                     : learner->backend->download(learner->stream, here, there, size, err);
}

static thr_status copy_all(const thr_learner *learner, const thr_trainer *trainer, bool to_device, thr_error *err) {
    for (size_t w = 0; w < THR_N_TRAINED; w++) {
        const thr_weights *here = &trainer->weights[w];
        const thr_device_weights *there = &learner->weights[w];
        if (here->n == 0)
            continue;
        THR_TRY(copy(learner, here->values, there->values, here->n, to_device, err));
        for (size_t s = 0; s < THR_WEIGHTS_SLOTS; s++)
            THR_TRY(copy(learner, here->slots[s], there->slots[s], here->n, to_device, err));
    }
    return learner->backend->wait(learner->stream, err);
}

thr_status thr_training_learner_put(const thr_learner *learner, const thr_trainer *trainer, thr_error *err) {
    return copy_all(learner, trainer, true, err);
}

thr_status thr_training_learner_fetch(const thr_learner *learner, const thr_trainer *trainer, thr_error *err) {
    return copy_all(learner, trainer, false, err);
}

static thr_status upload(const thr_trainer *trainer, thr_learner *learner, thr_error *err) {
    thr_device_layout at = {0};
    THR_TRY(learner->backend->open_stream(learner->device, &learner->stream, err));
    lay_out(trainer, learner, &at);
    if (at.too_large)
        return thr_fail(err, THR_ENOMEM, "weights and their moments: more bytes than there can be");
    THR_TRY(thr_training_learner_alloc(learner, at.used, &learner->memory, "weights and their moments", err));
    at = (thr_device_layout){.memory = learner->memory};
    lay_out(trainer, learner, &at);
    return thr_training_learner_put(learner, trainer, err);
}

thr_status thr_training_learner_open(const thr_trainer *trainer, const thr_devices *devices, size_t size,
                                     void *learner_out, thr_error *err) {
    thr_learner *learner = NULL;
    memcpy(learner_out, &learner, sizeof learner);
    THR_TRY(thr_alloc_zero(trainer->context, 1, size, &learner, "a training on a GPU", err));
    learner->backend = devices->backend;
    learner->device = devices->devices[0];
    learner->context = trainer->context;
    learner->batch = trainer->options->batch;
    const thr_status status = upload(trainer, learner, err);
    if (status != THR_OK) {
        thr_training_learner_close(learner);
        learner = NULL;
    }
    memcpy(learner_out, &learner, sizeof learner);
    return status;
}

void thr_training_learner_close(thr_learner *learner) {
    learner->backend->close_stream(learner->stream);
    learner->backend->release(learner->device, learner->memory);
    thr_release(learner->context, learner);
}
