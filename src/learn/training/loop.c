/* SPDX-License-Identifier: Apache-2.0 */
/* loop.c - the epochs of a training: shuffle, steps, validation, checkpoints. */
#include "training/loop.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/progress.h"
#include "base/rng.h"

/* The order depends only on the seed and the epoch's number, so a resumed training sees the same batches. */
static void shuffle(const thr_training_loop *loop) {
    uint64_t rng = loop->seed ^ (loop->state->epoch + 1) * 0x9e3779b97f4a7c15u;
    memcpy(loop->split->order, loop->split->train, loop->split->n_train * sizeof *loop->split->order);
    for (size_t i = loop->split->n_train - 1; i > 0; i--) {
        const size_t j = (size_t)thr_rng_below(&rng, i + 1);
        const uint32_t kept = loop->split->order[i];
        loop->split->order[i] = loop->split->order[j];
        loop->split->order[j] = kept;
    }
}

/* Run the remaining steps of the current epoch. */
static thr_status run_steps(const thr_training_loop *loop, thr_error *err) {
    thr_training_state *state = loop->state;
    const uint64_t batch = loop->batch, n_steps = thr_training_steps(loop);
    char what[48];
    (void)snprintf(what, sizeof what, "epoch %llu of %u", (unsigned long long)state->epoch + 1, loop->n_epochs);
    thr_progress progress = thr_progress_start(loop->context, what, n_steps * batch);
    shuffle(loop);
    for (; state->position < n_steps; state->position++) {
        const double begin = thr_clock();
        double loss = 0;
        THR_TRY(thr_progress_step(&progress, state->position * batch, err));
        THR_TRY(thr_training_device_step(loop->device, loop->split->order + state->position * batch, &loss, err));
        state->loss += loss;
        state->seconds += thr_clock() - begin;
    }
    return thr_progress_end(&progress, n_steps * batch, err);
}

/* Validate the model, save it if it is the best so far, and report the epoch. */
static thr_status end_epoch(const thr_training_loop *loop, thr_error *err) {
    thr_training_state *state = loop->state;
    const uint64_t n_steps = thr_training_steps(loop);
    thr_tower_epoch epoch = {.epoch = (uint32_t)state->epoch + 1,
                             .n_pairs = n_steps * loop->batch,
                             .seconds = state->seconds,
                             .loss = state->loss / (double)n_steps};
    epoch.examples_per_second = (double)epoch.n_pairs / state->seconds;
    THR_TRY(loop->validate(loop->user, &epoch, err));
    state->epoch++;
    epoch.best = !epoch.as_floats && (state->best_epoch == 0 || epoch.valid_loss < state->best_valid_loss);
    if (epoch.best) {
        THR_TRY(thr_training_image_save(loop->context, &loop->model, loop->path, err));
        state->best_epoch = state->epoch;
        state->best_loss = epoch.loss;
        state->best_valid_loss = epoch.valid_loss;
        state->best_quality = epoch.valid_quality;
    }
    state->n_learned += epoch.n_pairs;
    state->learning_seconds += state->seconds;
    state->position = 0;
    state->loss = state->seconds = 0;
    if (loop->on_epoch != NULL)
        loop->on_epoch(loop->on_epoch_user, &epoch);
    return THR_OK;
}

static bool is_done(const thr_training_loop *loop) {
    const thr_training_state *state = loop->state;
    return state->epoch >= loop->n_epochs ||
           (loop->patience != 0 && state->best_epoch != 0 && state->epoch >= state->best_epoch + loop->patience);
}

static thr_status write_checkpoint(const thr_training_loop *loop, thr_error *err) {
    const thr_checkpoint checkpoint = loop->describe(loop->user);
    return thr_training_checkpoint_save(loop->context, loop->path, &loop->model, &checkpoint, err);
}

/* Cancellation writes a checkpoint first, so that the training can resume. */
thr_status thr_training_run(const thr_training_loop *loop, thr_error *err) {
    if (loop->resume) {
        const thr_checkpoint checkpoint = loop->describe(loop->user);
        THR_TRY(thr_training_checkpoint_read(loop->context, loop->path, &checkpoint, err));
    }
    THR_TRY(loop->choose_device(loop->user, err));
    while (!is_done(loop)) {
        const thr_status status = run_steps(loop, err);
        if (status == THR_OK || status == THR_ECANCELED)
            THR_TRY(thr_training_device_fetch(loop->device, err));
        if (status == THR_ECANCELED) {
            THR_TRY(write_checkpoint(loop, err));
            return thr_fail(err, THR_ECANCELED,
                            "stopped in epoch %llu; a checkpoint was written: resume goes on from there",
                            (unsigned long long)loop->state->epoch + 1);
        }
        THR_TRY(status);
        THR_TRY(end_epoch(loop, err));
        if (!is_done(loop))
            THR_TRY(write_checkpoint(loop, err));
    }
    thr_training_checkpoint_delete(loop->context, loop->path);
    return THR_OK;
}
