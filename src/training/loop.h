/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop.h - the course of a training, whatever is learned: epochs of steps in a shuffled order, after each a
 * validation, the best model kept, checkpoints; and its end.
 */
#ifndef THR_TRAINING_LOOP_H
#define THR_TRAINING_LOOP_H

#include <thresher/tower.h>

#include "base/memory.h"
#include "training/split.h"

/* Where a training stands: all that a checkpoint holds besides arrays. Eight bytes each. */
typedef struct thr_training_state {
    uint64_t epoch;                              /* epochs that are complete */
    uint64_t position;                           /* steps that are done in the epoch under way */
    uint64_t step;                               /* steps that are done altogether */
    double loss;                                 /* summed over the steps of the epoch under way */
    double seconds;                              /* they took */
    uint64_t best_epoch;                         /* 0: none yet */
    double best_loss, best_valid_loss, best_auc; /* of that epoch */
    uint64_t n_learned;                          /* examples in complete epochs, each time they were met */
    double learning_seconds;                     /* they took */
} thr_training_state;

/* Examples have numbers; `user` is handed to all functions. */
typedef struct thr_training_loop {
    thr_context *context;
    uint32_t n_epochs, patience, batch;
    uint64_t seed;
    const thr_split *split;
    thr_training_state *state;
    thr_tower_epoch_fn on_epoch; /* NULL: nobody is told */
    void *on_epoch_user;
    void *user;
    /* One step on `batch` examples; counts state->step. */
    thr_status (*step)(void *user, const uint32_t *numbers, double *loss, thr_error *err);
    /* See that the weights are here, after an epoch's steps or before a stop's checkpoint. NULL: they are. */
    thr_status (*fetch)(void *user, thr_error *err);
    /* Fill in what validation says, and whether such a model may be kept (as_floats says no). */
    thr_status (*validate)(void *user, thr_tower_epoch *epoch, thr_error *err);
    thr_status (*save)(void *user, thr_error *err);
    thr_status (*checkpoint)(void *user, thr_error *err);
} thr_training_loop;

static inline uint64_t thr_training_steps(const thr_training_loop *loop) {
    return loop->split->n_train / loop->batch; /* of an epoch; the rest of the order is left out */
}

/* Examples learned in a second. */
static inline double thr_training_speed(const thr_training_state *state) {
    return state->learning_seconds > 0 ? (double)state->n_learned / state->learning_seconds : 0;
}

/*
 * From where the state stands to the end. What the functions return, or THR_ECANCELED after a checkpoint was written.
 */
thr_status thr_training_run(const thr_training_loop *loop, thr_error *err);

#endif
