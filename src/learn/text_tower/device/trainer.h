/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trainer.h - the steps of a training on a GPU.
 *
 * Weights, the optimiser's moments and all memory of a step live on one device. The host assembles and transposes a
 * batch as for the CPU, uploads some hundred kB of numbers, and downloads the losses of the rows. Layers, gradients and
 * Adam run on the device. Validation, the change from floats to signs, models and checkpoints run on the host, which
 * fetches the weights for them.
 *
 * The results have the same bits as the CPU's, except for matrix products and the loss, whose sums the device adds in
 * another order. One device gives the same bits in every run.
 *
 * Errors: THR_ENOMEM for memory of the host or the device; THR_EDEVICE for every other failure of the device.
 */
#pragma once

#include "device/choice.h"

typedef struct thr_device_learner thr_device_learner;
struct thr_text_trainer;

/* The functions of thr_text_steps, and put: trainer is a thr_text_trainer, learner a thr_device_learner. */

/*
 * Allocate what the trainer's steps need on the first device and upload the weights. A trial product loads cuBLAS, so
 * that a missing library is found before anything is learned.
 */
thr_status thr_text_device_learner_open(void *trainer, const thr_devices *devices, void **learner, thr_error *err);
void thr_text_device_learner_close(void *learner); /* learner may be NULL */

/* Upload or download the trainer's weights and moments. THR_OK; THR_EDEVICE. */
thr_status thr_text_device_learner_put(thr_device_learner *learner, const struct thr_text_trainer *trainer,
                                       thr_error *err);
thr_status thr_text_device_learner_fetch(void *learner, void *trainer, thr_error *err);

/*
 * Run a step, which changes the device's weights but not the trainer's. THR_OK; THR_ERANGE when the loss is not finite,
 * in which case the device's weights are lost; THR_EUNSUPPORTED for a batch of 2^32 words and trigrams or more.
 */
thr_status thr_text_device_learner_step(void *learner, void *trainer, const uint32_t *numbers, double *loss,
                                        thr_error *err);
