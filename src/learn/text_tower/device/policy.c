/* SPDX-License-Identifier: Apache-2.0 */
/* policy.c - whether a training runs on a GPU. */
#include "text_tower/trainer.h"

/* Estimate of the CPU's speed. */
static const double PAIRS_A_SECOND = 20e3;

/* A GPU rounds sums differently. A training of less than half a minute on the CPU stays there and keeps its bits. */
const thr_step_functions thr_text_steps = {
    .copier = {.copy = thr_text_device_learner_open, .free = thr_text_device_learner_close, .wake_ups = 60},
    .on_cpu = thr_text_trainer_step_on_cpu,
    .on_device = thr_text_device_learner_step,
    .fetch = thr_text_device_learner_fetch};

thr_status thr_text_trainer_choose_device(void *user, thr_error *err) {
    thr_text_trainer *trainer = user;
    if (thr_model_reads_vectors(&trainer->model.config))
        return THR_OK; /* such a step is as small as its transfer */
    const size_t n_weights = THR_N_SIDES * trainer->tables[0].n + trainer->dense.n;
    const double n_pairs = (double)trainer->split.n_train * (double)trainer->options.n_epochs;
    return thr_training_device_choose(&trainer->device, trainer->path, n_weights, n_pairs / PAIRS_A_SECOND, err);
}

thr_status thr_text_trainer_put(thr_text_trainer *trainer, thr_error *err) {
    thr_device_learner *learner = trainer->device.learner;
    return learner == NULL ? THR_OK : thr_text_device_learner_put(learner, trainer, err);
}
