/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train.h - a training from its lock to its report, for every kind of model: epochs of steps in shuffled order, each
 * followed by validation. The model is saved when it is the best so far, a checkpoint written after each epoch but the
 * last; training may stop early.
 */
#pragma once

#include "training/trainer.h"

enum { THR_TRAINING_INPUTS = 6 };

/* The model to write, and the files that it is learned from, which it must not overwrite; some may be NULL. */
typedef struct thr_training_files {
    const char *model_path, *inputs[THR_TRAINING_INPUTS];
} thr_training_files;

/*
 * Begin a training: lock the model, and make the kind's trainer by task, what the kind's start function takes. Paths
 * outlive the trainer, which the caller ends, also after an error. THR_OK; THR_EINVAL for options out of range;
 * THR_EEXIST for another training of the model or another kind of file there; a status of start; THR_ENOMEM.
 */
thr_status thr_training_begin(thr_context *context, const thr_trainer_kind *kind, const thr_training_files *files,
                              const thr_training_options *options, const void *task, thr_trainer **trainer,
                              thr_error *err);
void thr_training_end(thr_trainer *trainer); /* NULL is allowed */

/*
 * Train from the start or from the checkpoint to the end, then delete the checkpoint. Returns THR_OK; the status of a
 * function that failed; what training/checkpoint.h returns; THR_ECANCELED after writing a checkpoint.
 */
thr_status thr_training_run(thr_trainer *trainer, thr_error *err);

/* All of it. report may be NULL; it is filled in also after a failure. */
thr_status thr_training_train(thr_context *context, const thr_trainer_kind *kind, const thr_training_files *files,
                              const thr_training_options *options, const void *task, thr_tower_report *report,
                              thr_error *err);
