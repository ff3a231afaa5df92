/* SPDX-License-Identifier: Apache-2.0 */
/* policy.c - whether a training runs on a GPU. */
#include "dual_tower/trainer.h"

/* Estimate of the CPU's speed. */
static const double REQUESTS_A_SECOND = 10e3;

const thr_step_functions thr_dual_steps = {
    .copier = {.copy = thr_dual_device_open, .free = thr_dual_device_close, .wake_ups = 1},
    .on_cpu = thr_dual_step_on_cpu,
    .on_device = thr_dual_device_step,
    .fetch = thr_dual_device_fetch};

thr_status thr_dual_choose_device(void *user, thr_error *err) {
    thr_dual_trainer *trainer = user;
    const size_t n_weights = trainer->tables[0].n + trainer->tables[1].n + trainer->dense.n + trainer->hits.n;
    const double n_requests = (double)trainer->split.n_train * (double)trainer->options.n_epochs;
    return thr_training_device_choose(&trainer->device, trainer->path, n_weights, n_requests / REQUESTS_A_SECOND, err);
}
