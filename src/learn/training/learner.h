/* SPDX-License-Identifier: Apache-2.0 */
/*
 * learner.h - a trainer's weights and optimiser state on the first device; each kind's learner begins with it.
 *
 * Validation, models and checkpoints stay on the host, which fetches the weights for them.
 *
 * Errors: THR_ENOMEM for memory of the host or the device; THR_EDEVICE for every other failure of the device.
 */
#pragma once

#include "training/trainer.h"

/* thr_weights on the device. */
typedef struct thr_device_weights {
    float *values, *gradients, *slots[THR_WEIGHTS_SLOTS];
} thr_device_weights;

struct thr_learner {
    const thr_backend *backend;
    thr_device *device;
    thr_stream *stream;
    thr_context *context;
    uint32_t batch; /* examples */
    void *memory;   /* of all weights */
    union {
        thr_device_weights weights[THR_N_TRAINED];
        struct {
            thr_device_weights tables[THR_N_SIDES], dense, hits;
        };
    };
};

/* Allocate a learner of `size` bytes, zero but for its thr_learner, and upload the weights. */
thr_status thr_training_learner_open(const thr_trainer *trainer, const thr_devices *devices, size_t size,
                                     void *learner_out, thr_error *err);
void thr_training_learner_close(thr_learner *learner);

/* Upload or download the trainer's weights and moments. THR_OK; THR_EDEVICE. */
thr_status thr_training_learner_put(const thr_learner *learner, const thr_trainer *trainer, thr_error *err);
thr_status thr_training_learner_fetch(const thr_learner *learner, const thr_trainer *trainer, thr_error *err);

/* Allocate device memory; the message of THR_ENOMEM suggests what a user can do. */
thr_status thr_training_learner_alloc(const thr_learner *learner, size_t size, void *memory_out, const char *what,
                                      thr_error *err);

/* The address on the device of a dense tensor, or of its gradient: at the offset that it has on the host. */
static inline float *thr_learner_tensor(const thr_learner *learner, const thr_trainer *trainer, thr_side side,
                                        size_t tensor) {
    return learner->dense.values + (trainer->tensors[side][tensor] - trainer->dense.values);
}
static inline float *thr_learner_gradient(const thr_learner *learner, const thr_trainer *trainer, thr_side side,
                                          size_t tensor) {
    return learner->dense.gradients + (trainer->tensors[side][tensor] - trainer->dense.values);
}
