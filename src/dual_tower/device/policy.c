/* SPDX-License-Identifier: Apache-2.0 */
/* policy.c - the steps of a training on a GPU if its policy selects one (device/policy.h), else on the CPU. */
#include "base/error.h"
#include "dual_tower/trainer.h"

/* Estimate of the CPU's speed. */
static const double REQUESTS_A_SECOND = 10e3;

static thr_status copy_training(void *object, const thr_devices *devices, void **copy, thr_error *err) {
    thr_dual_learner *learner;
    const thr_status status = thr_dual_device_open(object, devices, &learner, err);
    *copy = learner;
    return status;
}

static void free_training(void *copy) {
    thr_dual_device_close(copy);
}

static const thr_device_copier TRAINING = {.copy = copy_training, .free = free_training, .wake_ups = 1};

thr_status thr_dual_choose_device(thr_dual_trainer *trainer, thr_error *err) {
    const size_t n_weights = trainer->tables[0].n + trainer->tables[1].n + trainer->dense.n + trainer->hits.n;
    const thr_device_use use = {.copier = &TRAINING,
                                .object = trainer,
                                .name = trainer->path,
                                .bytes = (double)n_weights * (1 + THR_WEIGHTS_SLOTS) * sizeof(float),
                                .seconds = (double)trainer->split.n_train * (double)trainer->options.n_epochs /
                                           REQUESTS_A_SECOND};
    return thr_device_enter(&trainer->on_device, &use, &trainer->learner, err);
}

/* Run the step on the device; if that fails before the weights have changed, run it on the CPU. */
static thr_status step_with_fallback(thr_dual_trainer *trainer, const uint32_t *numbers, double *loss, thr_error *err) {
    thr_error why = {.status = THR_OK};
    if (trainer->learner == NULL)
        return thr_dual_step_on_cpu(trainer, numbers, loss, err);
    const thr_status status = thr_dual_device_step(trainer->learner, trainer, numbers, loss, &why);
    if (status == THR_OK)
        trainer->device_is_ahead = true;
    if (status == THR_OK || trainer->device_is_ahead)
        return thr_pass_on(status, &why, err);
    trainer->learner = NULL;
    THR_TRY(thr_device_leave(&trainer->on_device, status, &why, NULL, err));
    return thr_dual_step_on_cpu(trainer, numbers, loss, err);
}

thr_status thr_dual_step(thr_dual_trainer *trainer, const uint32_t *numbers, double *loss, thr_error *err) {
    THR_TRY(step_with_fallback(trainer, numbers, loss, err));
    trainer->state.step++;
    return THR_OK;
}

thr_status thr_dual_fetch(thr_dual_trainer *trainer, thr_error *err) {
    if (!trainer->device_is_ahead)
        return THR_OK;
    THR_TRY(thr_dual_device_fetch(trainer->learner, trainer, err));
    trainer->device_is_ahead = false;
    return THR_OK;
}
