/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a training's steps are a GPU's, and what happens when it fails. */
#include "base/error.h"
#include "context/gpus.h"
#include "tower/trainer.h"

/*
 * "auto" takes a GPU where a CPU would be at it for more than so many times as long as waking a GPU up takes, at so
 * many pairs a second: half a minute, with what a context begins with. A training that is shorter keeps its bits.
 */
static const double PAIRS_A_SECOND = 20e3, WAKE_UPS = 60;

static bool is_worth_it(const thr_trainer *trainer) {
    const double n_pairs = (double)trainer->n_train * (double)trainer->options.n_epochs;
    return n_pairs / PAIRS_A_SECOND > WAKE_UPS * thr_gpus_wake_up(trainer->context);
}

/* Whether the CPU takes over where a GPU has failed so: as long as it has the same weights. */
static bool falls_back(const thr_trainer *trainer, thr_status status) {
    return !thr_gpus_required(trainer->context) && !trainer->device_is_ahead &&
           (status == THR_EDEVICE || status == THR_ENOMEM || status == THR_EUNSUPPORTED);
}

static thr_status fail_with(const thr_error *why, thr_status status, thr_error *err) {
    if (err != NULL)
        *err = *why;
    return status;
}

thr_status thr_trainer_choose_device(thr_trainer *trainer, thr_error *err) {
    thr_context *context = trainer->context;
    thr_error why = {.status = THR_OK};
    if (context->gpus == NULL || (!thr_gpus_required(context) && !is_worth_it(trainer)))
        return THR_OK;
    const thr_devices *devices = thr_gpus_get(context);
    if (devices == NULL)
        return THR_OK;
    const thr_status status = thr_device_learner_open(trainer, devices, &trainer->learner, &why);
    if (status == THR_OK)
        return THR_OK;
    if (!falls_back(trainer, status))
        return fail_with(&why, status, err);
    thr_gpus_give_up(context, &why);
    return THR_OK;
}

/* The step on the device, or, where that is too little or fails before its weights have moved, on the CPU. */
static thr_status step_somewhere(thr_trainer *trainer, const uint32_t *numbers, double *loss, thr_error *err) {
    thr_error why = {.status = THR_OK};
    if (trainer->learner == NULL)
        return thr_trainer_step_on_cpu(trainer, numbers, loss, err);
    const thr_status status = thr_device_learner_step(trainer->learner, trainer, numbers, loss, &why);
    if (status == THR_OK) {
        trainer->device_is_ahead = true;
        return THR_OK;
    }
    if (!falls_back(trainer, status))
        return fail_with(&why, status, err);
    thr_gpus_give_up(trainer->context, &why);
    thr_device_learner_close(trainer->learner);
    trainer->learner = NULL;
    return thr_trainer_step_on_cpu(trainer, numbers, loss, err);
}

thr_status thr_trainer_step(thr_trainer *trainer, const uint32_t *numbers, double *loss, thr_error *err) {
    THR_TRY(step_somewhere(trainer, numbers, loss, err));
    trainer->state.step++;
    return THR_OK;
}

thr_status thr_trainer_fetch(thr_trainer *trainer, thr_error *err) {
    if (!trainer->device_is_ahead)
        return THR_OK;
    THR_TRY(thr_device_learner_fetch(trainer->learner, trainer, err));
    trainer->device_is_ahead = false;
    return THR_OK;
}

thr_status thr_trainer_put(thr_trainer *trainer, thr_error *err) {
    return trainer->learner == NULL ? THR_OK : thr_device_learner_put(trainer->learner, trainer, err);
}
