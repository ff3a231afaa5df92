/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.c - a training's weights, rate and steps; the CPU makes steps if the GPU fails before it changed weights. */
#include "training/trainer.h"

#include "base/error.h"
#include "training/learner.h"

thr_status thr_training_make_dense(thr_trainer *trainer, const thr_tensor_list lists[THR_N_SIDES], thr_error *err) {
    size_t n = 0;
    for (size_t side = 0; side < THR_N_SIDES; side++)
        for (size_t p = 0; p < lists[side].n; p++)
            n += thr_training_tensor_floats(&lists[side].shapes[p]);
    THR_TRY(thr_training_weights_make(trainer->context, n, true, &trainer->dense, err));
    size_t at = 0;
    for (size_t side = 0; side < THR_N_SIDES; side++)
        for (size_t p = 0; p < lists[side].n; p++) {
            trainer->tensors[side][p] = trainer->dense.values + at;
            trainer->d_tensors[side][p] = trainer->dense.gradients + at;
            at += thr_training_tensor_floats(&lists[side].shapes[p]);
        }
    return THR_OK;
}

bool thr_training_is_finite(const thr_trainer *trainer) {
    for (size_t w = 0; w < THR_N_TRAINED; w++)
        if (!thr_training_all_finite(trainer->weights[w].values, trainer->weights[w].n))
            return false;
    return true;
}

float thr_training_rate(const thr_trainer *trainer, float rate) {
    const double all = (double)thr_trainer_steps(trainer) * (double)trainer->options->n_epochs;
    return (float)((double)rate * (1 - (double)trainer->state.step / all));
}

thr_status thr_training_diverged(const thr_trainer *trainer, float rate, thr_error *err) {
    return thr_fail(err, THR_ERANGE, "the loss is no longer finite at step %llu: learn at a lower rate than %g; %s",
                    (unsigned long long)trainer->state.step + 1, (double)rate,
                    trainer->state.best_epoch != 0 ? "the best model so far was kept" : "no model was written");
}

static thr_status step_with_fallback(thr_trainer *trainer, const uint32_t *numbers, double *loss, thr_error *err) {
    thr_error why = {.status = THR_OK};
    if (trainer->learner == NULL)
        return trainer->kind->step(trainer, numbers, loss, err);
    const thr_status status = trainer->kind->learner_step(trainer->learner, trainer, numbers, loss, &why);
    if (status == THR_OK)
        trainer->is_ahead = true;
    if (status == THR_OK || trainer->is_ahead)
        return thr_pass_on(status, &why, err);
    trainer->learner = NULL;
    THR_TRY(thr_device_leave(&trainer->policy, status, &why, NULL, err));
    return trainer->kind->step(trainer, numbers, loss, err);
}

thr_status thr_training_step(thr_trainer *trainer, const uint32_t *numbers, double *loss, thr_error *err) {
    THR_TRY(step_with_fallback(trainer, numbers, loss, err));
    trainer->state.step++;
    return THR_OK;
}

thr_status thr_training_choose_device(thr_trainer *trainer, thr_error *err) {
    const thr_trainer_kind *kind = trainer->kind;
    const double n_examples = (double)trainer->split.n_train * (double)trainer->options->n_epochs;
    size_t n_weights = 0;
    if (kind->copier == NULL)
        return THR_OK;
    for (size_t w = 0; w < THR_N_TRAINED; w++)
        n_weights += trainer->weights[w].n;
    const thr_device_use use = {.copier = kind->copier,
                                .object = trainer,
                                .name = trainer->path,
                                .bytes = (double)n_weights * (1 + THR_WEIGHTS_SLOTS) * sizeof(float),
                                .seconds = n_examples / kind->examples_a_second};
    return thr_device_enter(&trainer->policy, &use, &trainer->learner, err);
}

thr_status thr_training_fetch(thr_trainer *trainer, thr_error *err) {
    if (!trainer->is_ahead)
        return THR_OK;
    THR_TRY(thr_training_learner_fetch(trainer->learner, trainer, err));
    trainer->is_ahead = false;
    return THR_OK;
}

thr_status thr_training_put(thr_trainer *trainer, thr_error *err) {
    return trainer->learner == NULL ? THR_OK : thr_training_learner_put(trainer->learner, trainer, err);
}
