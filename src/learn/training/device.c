/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - steps on a GPU, and on the CPU if the GPU fails before it has changed the weights. */
#include "training/device.h"

#include "base/error.h"
#include "training/weights.h"

void thr_training_device_start(thr_training_device *device, thr_context *context, const thr_step_functions *steps,
                               void *trainer, thr_training_state *state) {
    *device = (thr_training_device){.steps = steps, .trainer = trainer, .state = state};
    thr_device_policy_start(&device->policy, context);
}

void thr_training_device_end(thr_training_device *device) {
    thr_device_policy_end(&device->policy);
}

thr_status thr_training_device_choose(thr_training_device *device, const char *name, size_t n_weights, double seconds,
                                      thr_error *err) {
    const thr_device_use use = {.copier = &device->steps->copier,
                                .object = device->trainer,
                                .name = name,
                                .bytes = (double)n_weights * (1 + THR_WEIGHTS_SLOTS) * sizeof(float),
                                .seconds = seconds};
    return thr_device_enter(&device->policy, &use, &device->learner, err);
}

static thr_status step_with_fallback(thr_training_device *device, const uint32_t *numbers, double *loss,
                                     thr_error *err) {
    const thr_step_functions *steps = device->steps;
    thr_error why = {.status = THR_OK};
    if (device->learner == NULL)
        return steps->on_cpu(device->trainer, numbers, loss, err);
    const thr_status status = steps->on_device(device->learner, device->trainer, numbers, loss, &why);
    if (status == THR_OK)
        device->is_ahead = true;
    if (status == THR_OK || device->is_ahead)
        return thr_pass_on(status, &why, err);
    device->learner = NULL;
    THR_TRY(thr_device_leave(&device->policy, status, &why, NULL, err));
    return steps->on_cpu(device->trainer, numbers, loss, err);
}

thr_status thr_training_device_step(thr_training_device *device, const uint32_t *numbers, double *loss,
                                    thr_error *err) {
    THR_TRY(step_with_fallback(device, numbers, loss, err));
    device->state->step++;
    return THR_OK;
}

thr_status thr_training_device_fetch(thr_training_device *device, thr_error *err) {
    if (!device->is_ahead)
        return THR_OK;
    THR_TRY(device->steps->fetch(device->learner, device->trainer, err));
    device->is_ahead = false;
    return THR_OK;
}
