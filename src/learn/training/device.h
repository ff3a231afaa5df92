/* SPDX-License-Identifier: Apache-2.0 */
/* device.h - the steps of a training, on a GPU if its policy selects one (device/policy.h), else on the CPU. */
#pragma once

#include "device/policy.h"
#include "training/checkpoint.h"

/* How models of one kind learn. A learner is the GPU's copy of a trainer. */
typedef struct thr_step_functions {
    thr_device_copier copier; /* of learners */
    /* Run a step of either and return its loss. The learner's leaves the trainer's weights as they are. */
    thr_status (*on_cpu)(void *trainer, const uint32_t *numbers, double *loss, thr_error *err);
    thr_status (*on_device)(void *learner, void *trainer, const uint32_t *numbers, double *loss, thr_error *err);
    /* Download weights and state to the trainer. */
    thr_status (*fetch)(void *learner, void *trainer, thr_error *err);
} thr_step_functions;

typedef struct thr_training_device {
    const thr_step_functions *steps;
    void *trainer;
    thr_training_state *state;
    thr_device_policy policy;
    void *learner; /* NULL: steps run on the CPU */
    bool is_ahead; /* the learner's weights are newer than the trainer's */
} thr_training_device;

void thr_training_device_start(thr_training_device *device, thr_context *context, const thr_step_functions *steps,
                               void *trainer, thr_training_state *state);
void thr_training_device_end(thr_training_device *device);

/*
 * Choose where the steps of a training with so many weights run, which would take so many seconds on the CPU. name is
 * for messages and outlives the training. THR_OK or a status of device/policy.h.
 */
thr_status thr_training_device_choose(thr_training_device *device, const char *name, size_t n_weights, double seconds,
                                      thr_error *err);

/*
 * Run a step, count it and return its loss. THR_OK; THR_ERANGE when the loss is not finite; THR_ENOMEM; THR_EDEVICE
 * when the GPU fails and is required, or has newer weights.
 */
thr_status thr_training_device_step(thr_training_device *device, const uint32_t *numbers, double *loss, thr_error *err);

/* Bring the weights from the GPU, if it has newer ones. THR_OK; THR_EDEVICE. */
thr_status thr_training_device_fetch(thr_training_device *device, thr_error *err);
