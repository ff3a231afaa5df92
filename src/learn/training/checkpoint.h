/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint.h - the file of a checkpoint, for every kind of model.
 *
 * It is a model's file with more in it: the optimiser's arrays as tensors beside the weights, and in the metadata the
 * identity of the training and its state, as 16 hexadecimal digits a number. Checksums cover everything: a resumed
 * training must learn exactly what an uninterrupted one would have learned.
 */
#pragma once

#include "training/train.h"

/*
 * Check, before the first epoch, that a model and its checkpoint can be written: the directory is writable, the path is
 * none of the inputs, and no other kind of file is there to be overwritten.
 */
thr_status thr_training_checkpoint_check_place(const thr_trainer *trainer, const thr_training_files *files,
                                               thr_error *err);

/* Write the checkpoint. THR_OK; THR_ENOSPACE; THR_EIO; THR_ENOMEM. */
thr_status thr_training_checkpoint_save(const thr_trainer *trainer, thr_error *err);

/*
 * Read the checkpoint: weights, the optimiser's arrays and the state. THR_OK; THR_ENOTFOUND without a checkpoint, or if
 * the best model so far is gone; what thr_tensors_open returns; THR_EFORMAT; THR_ECORRUPT; THR_EMISMATCH for another
 * training's checkpoint.
 */
thr_status thr_training_checkpoint_read(thr_trainer *trainer, thr_error *err);

void thr_training_checkpoint_delete(const thr_trainer *trainer);
