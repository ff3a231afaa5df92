/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop.h - the training loop, for every kind of model: epochs of steps in shuffled order, each followed by validation.
 * A model is saved when it is the best so far, a checkpoint written after each epoch but the last; training may stop
 * early.
 */
#pragma once

#include <thresher/tower.h>

#include "training/device.h"

/* A training. Examples are numbered; every function gets `user`. */
typedef struct thr_training_loop {
    thr_context *context;
    uint32_t n_epochs, patience, batch;
    uint64_t seed;
    const char *path;       /* of the model */
    thr_model_source model; /* its tensors */
    const thr_split *split;
    thr_training_state *state;
    bool resume;                 /* from the checkpoint */
    thr_tower_epoch_fn on_epoch; /* called after every epoch, or NULL */
    void *on_epoch_user;
    thr_training_device *device; /* runs the steps, of `batch` examples each */
    void *user;
    /* Choose what runs the steps, after weights have been drawn or read. */
    thr_status (*choose_device)(void *user, thr_error *err);
    /* Fill in the validation's results, and in epoch->as_floats whether the model must not be saved yet. */
    thr_status (*validate)(void *user, thr_tower_epoch *epoch, thr_error *err);
    /* Describe what a checkpoint holds besides the model. */
    thr_checkpoint (*describe)(void *user);
} thr_training_loop;

static inline uint64_t thr_training_steps(const thr_training_loop *loop) {
    return loop->split->n_train / loop->batch; /* of an epoch; an incomplete last batch is dropped */
}

/* Examples learned a second. */
static inline double thr_training_speed(const thr_training_state *state) {
    return state->learning_seconds > 0 ? (double)state->n_learned / state->learning_seconds : 0;
}

/*
 * Train from *loop->state, or resume, to the end, then delete the checkpoint. Returns THR_OK; the status of a function
 * that failed; what training/checkpoint.h returns; THR_ECANCELED after writing a checkpoint.
 */
thr_status thr_training_run(const thr_training_loop *loop, thr_error *err);
