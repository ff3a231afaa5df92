/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy.c - the steps of a training on a GPU if the training's policy selects one (device/policy.h), else on the CPU.
 */
#include "base/error.h"
#include "text_tower/trainer.h"

/* Estimate of the CPU's speed. */
static const double PAIRS_A_SECOND = 20e3;

static thr_status copy_training(void *object, const thr_devices *devices, void **copy, thr_error *err) {
    thr_device_learner *learner;
    const thr_status status = thr_text_device_learner_open(object, devices, &learner, err);
    *copy = learner;
    return status;
}

static void free_training(void *copy) {
    thr_text_device_learner_close(copy);
}

/* A GPU rounds sums differently. A training of less than half a minute on the CPU stays there and keeps its bits. */
static const thr_device_copier TRAINING = {.copy = copy_training, .free = free_training, .wake_ups = 60};

thr_status thr_text_trainer_choose_device(thr_text_trainer *trainer, thr_error *err) {
    if (thr_model_reads_vectors(&trainer->model.config))
        return THR_OK; /* such a step is as small as its transfer */
    const double n_pairs = (double)trainer->split.n_train * (double)trainer->options.n_epochs;
    const double n_weights = (double)THR_N_SIDES * (double)trainer->tables[0].n + (double)trainer->dense.n;
    const thr_device_use use = {.copier = &TRAINING,
                                .object = trainer,
                                .name = trainer->path,
                                .bytes = n_weights * (1 + THR_WEIGHTS_SLOTS) * sizeof(float),
                                .seconds = n_pairs / PAIRS_A_SECOND};
    return thr_device_enter(&trainer->on_device, &use, &trainer->learner, err);
}

/* Run the step on the device; if that fails before the weights have changed, run it on the CPU. */
static thr_status step_with_fallback(thr_text_trainer *trainer, const uint32_t *numbers, double *loss, thr_error *err) {
    thr_error why = {.status = THR_OK};
    if (trainer->learner == NULL)
        return thr_text_trainer_step_on_cpu(trainer, numbers, loss, err);
    const thr_status status = thr_text_device_learner_step(trainer->learner, trainer, numbers, loss, &why);
    if (status == THR_OK)
        trainer->device_is_ahead = true;
    if (status == THR_OK || trainer->device_is_ahead)
        return thr_pass_on(status, &why, err);
    trainer->learner = NULL;
    THR_TRY(thr_device_leave(&trainer->on_device, status, &why, NULL, err));
    return thr_text_trainer_step_on_cpu(trainer, numbers, loss, err);
}

thr_status thr_text_trainer_step(thr_text_trainer *trainer, const uint32_t *numbers, double *loss, thr_error *err) {
    THR_TRY(step_with_fallback(trainer, numbers, loss, err));
    trainer->state.step++;
    return THR_OK;
}

thr_status thr_text_trainer_fetch(thr_text_trainer *trainer, thr_error *err) {
    if (!trainer->device_is_ahead)
        return THR_OK;
    THR_TRY(thr_text_device_learner_fetch(trainer->learner, trainer, err));
    trainer->device_is_ahead = false;
    return THR_OK;
}

thr_status thr_text_trainer_put(thr_text_trainer *trainer, thr_error *err) {
    return trainer->learner == NULL ? THR_OK : thr_text_device_learner_put(trainer->learner, trainer, err);
}
