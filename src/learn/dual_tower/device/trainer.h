/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trainer.h - the steps of a dual tower's training on a GPU.
 *
 * Weights and the optimisers' state live on one device. The host assembles a batch as for the CPU and uploads it in one
 * copy; gathers, layers, products of fields, scores with hits, the loss, all gradients and the optimisers run on the
 * device. Every sum has the CPU's order, so the weights have the CPU's bits; the loss of a step may differ in the last
 * bits of a double. Validation, models and checkpoints run on the host, which fetches the weights for them.
 *
 * Errors: THR_ENOMEM for memory of the host or the device; THR_EDEVICE for every other failure of the device.
 */
#pragma once

#include "device/choice.h"

/* The functions of thr_dual_steps: trainer is a thr_dual_trainer, learner a thr_dual_learner. */

/* Allocate memory for the weights on the first device and upload them. */
thr_status thr_dual_device_open(void *trainer, const thr_devices *devices, void **learner, thr_error *err);
void thr_dual_device_close(void *learner); /* NULL is allowed */

/* Download weights and state to the trainer. THR_OK; THR_EDEVICE. */
thr_status thr_dual_device_fetch(void *learner, void *trainer, thr_error *err);

/*
 * Run a step, which changes the device's weights but not the trainer's. THR_OK; THR_ERANGE when the loss is not finite:
 * the device's weights are lost then.
 */
thr_status thr_dual_device_step(void *learner, void *trainer, const uint32_t *numbers, double *loss, thr_error *err);
