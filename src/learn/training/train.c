/* SPDX-License-Identifier: Apache-2.0 */
/* train.c - the course of a training: lock, start, epochs of shuffle, steps and validation, checkpoints, report. */
#include "training/train.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/progress.h"
#include "base/rng.h"
#include "training/checkpoint.h"

enum { BATCH_MAX = 1 << 16 };

static thr_status check(const thr_training_options *options, thr_error *err) {
    if (options->batch < 1 || options->batch > BATCH_MAX)
        return thr_fail(err, THR_EINVAL, "batches of %u examples: choose 1 to %d", options->batch, BATCH_MAX);
    if (options->n_epochs < 1)
        return thr_fail(err, THR_EINVAL, "no epochs: choose 1 or more");
    if (!(options->rate > 0) || !isfinite(options->rate))
        return thr_fail(err, THR_EINVAL, "a rate of %g: choose above 0", (double)options->rate);
    if (options->valid_path == NULL && !(options->valid_share > 0 && options->valid_share <= 0.5f))
        return thr_fail(err, THR_EINVAL,
                        "a share of %g of the examples to validate with: choose more than 0, up to 0.5",
                        (double)options->valid_share);
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ epochs */

/* The order depends only on the seed and the epoch's number, so a resumed training sees the same batches. */
static void shuffle(const thr_trainer *trainer) {
    const thr_split *split = &trainer->split;
    uint64_t rng = trainer->options->seed ^ (trainer->state.epoch + 1) * 0x9e3779b97f4a7c15u;
    memcpy(split->order, split->train, split->n_train * sizeof *split->order);
    for (size_t i = split->n_train - 1; i > 0; i--) {
        const size_t j = (size_t)thr_rng_below(&rng, i + 1);
        const uint32_t kept = split->order[i];
        split->order[i] = split->order[j];
        split->order[j] = kept;
    }
}

/* Run the remaining steps of the current epoch. */
static thr_status run_steps(thr_trainer *trainer, thr_error *err) {
    thr_training_state *state = &trainer->state;
    const uint64_t batch = trainer->options->batch, n_steps = thr_trainer_steps(trainer);
    char what[48];
    (void)snprintf(what, sizeof what, "epoch %llu of %u", (unsigned long long)state->epoch + 1,
                   trainer->options->n_epochs);
    thr_progress progress = thr_progress_start(trainer->context, what, n_steps * batch);
    shuffle(trainer);
    for (; state->position < n_steps; state->position++) {
        const double begin = thr_clock();
        double loss = 0;
        THR_TRY(thr_progress_step(&progress, state->position * batch, err));
        THR_TRY(thr_training_step(trainer, trainer->split.order + state->position * batch, &loss, err));
        state->loss += loss;
        state->seconds += thr_clock() - begin;
    }
    return thr_progress_end(&progress, n_steps * batch, err);
}

/* Validate the model, save it if it is the best so far, and report the epoch. */
static thr_status end_epoch(thr_trainer *trainer, thr_error *err) {
    const thr_training_options *options = trainer->options;
    thr_training_state *state = &trainer->state;
    const uint64_t n_steps = thr_trainer_steps(trainer);
    thr_tower_epoch epoch = {.epoch = (uint32_t)state->epoch + 1,
                             .n_pairs = n_steps * options->batch,
                             .seconds = state->seconds,
                             .loss = state->loss / (double)n_steps};
    epoch.examples_per_second = (double)epoch.n_pairs / state->seconds;
    THR_TRY(trainer->kind->validate(trainer, &epoch, err));
    state->epoch++;
    epoch.best = !epoch.as_floats && (state->best_epoch == 0 || epoch.valid_loss < state->best_valid_loss);
    if (epoch.best) {
        const thr_model_source model = trainer->kind->model(trainer);
        THR_TRY(thr_training_image_save(trainer->context, &model, trainer->path, err));
        state->best_epoch = state->epoch;
        state->best_loss = epoch.loss;
        state->best_valid_loss = epoch.valid_loss;
        state->best_quality = epoch.valid_quality;
    }
    state->n_learned += epoch.n_pairs;
    state->learning_seconds += state->seconds;
    state->position = 0;
    state->loss = state->seconds = 0;
    if (options->on_epoch != NULL)
        options->on_epoch(options->on_epoch_user, &epoch);
    return THR_OK;
}

static bool is_done(const thr_trainer *trainer) {
    const thr_training_state *state = &trainer->state;
    const uint32_t patience = trainer->options->patience;
    return state->epoch >= trainer->options->n_epochs ||
           (patience != 0 && state->best_epoch != 0 && state->epoch >= state->best_epoch + patience);
}

/* Cancellation writes a checkpoint first, so that the training can resume. */
thr_status thr_training_run(thr_trainer *trainer, thr_error *err) {
    if (trainer->options->resume)
        THR_TRY(thr_training_checkpoint_read(trainer, err));
    THR_TRY(thr_training_choose_device(trainer, err));
    while (!is_done(trainer)) {
        const thr_status status = run_steps(trainer, err);
        if (status == THR_OK || status == THR_ECANCELED)
            THR_TRY(thr_training_fetch(trainer, err));
        if (status == THR_ECANCELED) {
            THR_TRY(thr_training_checkpoint_save(trainer, err));
            return thr_fail(err, THR_ECANCELED,
                            "stopped in epoch %llu; a checkpoint was written: resume goes on from there",
                            (unsigned long long)trainer->state.epoch + 1);
        }
        THR_TRY(status);
        THR_TRY(end_epoch(trainer, err));
        if (!is_done(trainer))
            THR_TRY(thr_training_checkpoint_save(trainer, err));
    }
    thr_training_checkpoint_delete(trainer);
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ all of it */

thr_status thr_training_begin(thr_context *context, const thr_trainer_kind *kind, const thr_training_files *files,
                              const thr_training_options *options, const void *task, thr_trainer **trainer_out,
                              thr_error *err) {
    thr_trainer *trainer = NULL;
    *trainer_out = NULL;
    THR_TRY(check(options, err));
    THR_TRY(thr_alloc_zero(context, 1, kind->size, &trainer, "a training", err));
    *trainer_out = trainer;
    trainer->context = context;
    trainer->kind = kind;
    trainer->options = options;
    trainer->path = files->model_path;
    thr_device_policy_start(&trainer->policy, context);
    THR_TRY(thr_training_checkpoint_check_place(trainer, files, err));
    THR_TRY(thr_training_lock_take(context, trainer->path, &trainer->lock, err));
    return kind->start(trainer, task, err);
}

void thr_training_end(thr_trainer *trainer) {
    if (trainer == NULL)
        return;
    thr_context *context = trainer->context;
    thr_device_policy_end(&trainer->policy);
    trainer->kind->end(trainer);
    thr_training_split_free(context, &trainer->split);
    for (size_t w = 0; w < THR_N_TRAINED; w++)
        thr_training_weights_free(context, &trainer->weights[w]);
    thr_training_lock_drop(&trainer->lock);
    thr_release(context, trainer);
}

static thr_tower_report report_of(const thr_trainer *trainer) {
    const thr_training_state *state = &trainer->state;
    return (thr_tower_report){.n_pairs = trainer->split.n_train,
                              .n_valid = trainer->split.n_valid,
                              .n_refused = trainer->n_refused,
                              .n_epochs = (uint32_t)state->epoch,
                              .best_epoch = (uint32_t)state->best_epoch,
                              .loss = state->best_loss,
                              .valid_loss = state->best_valid_loss,
                              .valid_quality = state->best_quality,
                              .examples_per_second =
                                  state->learning_seconds > 0 ? (double)state->n_learned / state->learning_seconds : 0};
}

thr_status thr_training_train(thr_context *context, const thr_trainer_kind *kind, const thr_training_files *files,
                              const thr_training_options *options, const void *task, thr_tower_report *report,
                              thr_error *err) {
    thr_trainer *trainer = NULL;
    thr_status status = thr_training_begin(context, kind, files, options, task, &trainer, err);
    if (status == THR_OK)
        status = thr_training_run(trainer, err);
    if (report != NULL && trainer != NULL)
        *report = report_of(trainer);
    thr_training_end(trainer);
    return status;
}
