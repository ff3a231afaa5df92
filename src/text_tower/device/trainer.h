/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trainer.h - the steps of a training on a GPU.
 *
 * Weights, the optimiser's moments and all that a step takes live on one device. The host fills a batch and transposes
 * it as it does for itself, sends some hundred kB of numbers, and gets the losses of the rows back; layers, gradients
 * and Adam are the device's. Judging, changing to signs, models and checkpoints stay the host's, which fetches the
 * weights for them.
 *
 * All is the CPU's, bit for bit, but for products of matrices and the loss, whose sums the device adds up in an order
 * of its own. One device gives the same bits every time.
 *
 * Errors: THR_ENOMEM for memory of the host or the device, THR_EDEVICE for everything else that happens to the device.
 */
#ifndef THR_TEXT_TOWER_DEVICE_TRAINER_H
#define THR_TEXT_TOWER_DEVICE_TRAINER_H

#include "device/choice.h"

typedef struct thr_device_learner thr_device_learner;
struct thr_text_trainer;

/*
 * Room for the trainer's steps on the first of the devices, and its weights there. What is needed to run a step, cuBLAS
 * above all, is tried: a failure is known before anything was learned.
 */
thr_status thr_text_device_learner_open(const struct thr_text_trainer *trainer, const thr_devices *devices,
                                        thr_device_learner **learner, thr_error *err);
void thr_text_device_learner_close(thr_device_learner *learner); /* NULL is allowed */

/* The trainer's weights and moments to the device, and back. */
thr_status thr_text_device_learner_put(thr_device_learner *learner, const struct thr_text_trainer *trainer,
                                       thr_error *err);
thr_status thr_text_device_learner_fetch(const thr_device_learner *learner, struct thr_text_trainer *trainer,
                                         thr_error *err);

/*
 * The loss of a step, and the device's weights after it; the trainer's own stay. THR_ERANGE when it is not finite: the
 * device's weights are lost then. THR_EUNSUPPORTED for a batch of 2^32 words and trigrams or more.
 */
thr_status thr_text_device_learner_step(thr_device_learner *learner, struct thr_text_trainer *trainer,
                                        const uint32_t *numbers, double *loss, thr_error *err);

#endif
