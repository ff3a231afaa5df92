/* SPDX-License-Identifier: Apache-2.0 */
/* Training: epochs of steps in a shuffled order, validation, the best model kept, checkpoints. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/rng.h"
#include "tower/model_file.h"
#include "tower/trainer.h"

void thr_tower_train_options_init(thr_tower_train_options *options) {
    *options = (thr_tower_train_options){.size = sizeof *options,
                                         .valid_share = 0.02f,
                                         .format = {.query_column = 1, .item_column = 2},
                                         .n_epochs = 40,
                                         .patience = 10,
                                         .batch = 512,
                                         .float_share = 0.5f,
                                         .gamma = 10.0f,
                                         .rate = 0.002f,
                                         .word_dropout = 0.25f,
                                         .estimator = THR_ESTIMATOR_VARIANT,
                                         .seed = 1};
    thr_tower_config_init(&options->config);
}

enum { BATCH_MAX = 1 << 16 };

static thr_status check(const thr_tower_train_options *options, thr_error *err) {
    THR_TRY(thr_model_check(&options->config, err));
    if (options->batch < 2 || options->batch > BATCH_MAX)
        return thr_fail(err, THR_EINVAL, "batches of %u pairs: choose 2 to %d", options->batch, BATCH_MAX);
    if (options->n_negatives >= options->batch)
        return thr_fail(err, THR_EINVAL, "%u negatives: choose 1 to %u, one less than a batch has pairs, or 0 for that",
                        options->n_negatives, options->batch - 1);
    if (options->n_epochs < 1)
        return thr_fail(err, THR_EINVAL, "no epochs: choose 1 or more");
    if (!(options->gamma > 0) || !(options->rate > 0) || !isfinite(options->gamma) || !isfinite(options->rate))
        return thr_fail(err, THR_EINVAL, "gamma %g and rate %g: both have to be above 0", (double)options->gamma,
                        (double)options->rate);
    if (!(options->float_share >= 0 && options->float_share < 1))
        return thr_fail(err, THR_EINVAL, "a share of %g of the epochs for floats: choose 0 or more, below 1",
                        (double)options->float_share);
    if (!(options->word_dropout >= 0 && options->word_dropout < 1))
        return thr_fail(err, THR_EINVAL, "a share of %g of the words left out: choose 0 or more, below 1",
                        (double)options->word_dropout);
    if (options->valid_path == NULL && !(options->valid_share > 0 && options->valid_share <= 0.5f))
        return thr_fail(err, THR_EINVAL, "a share of %g of the queries to validate with: choose more than 0, up to 0.5",
                        (double)options->valid_share);
    if ((unsigned)options->estimator > THR_ESTIMATOR_TANH)
        return thr_fail(err, THR_EINVAL, "%d is no thr_estimator", (int)options->estimator);
    return THR_OK;
}

/* The order of an epoch depends on the seed and its number alone: a resumed training goes on as it would have. */
static void shuffle(thr_trainer *trainer) {
    uint64_t rng = trainer->options.seed ^ (trainer->state.epoch + 1) * 0x9e3779b97f4a7c15u;
    memcpy(trainer->order, trainer->train, trainer->n_train * sizeof *trainer->order);
    for (size_t i = trainer->n_train - 1; i > 0; i--) {
        const size_t j = (size_t)thr_rng_below(&rng, i + 1);
        const uint32_t kept = trainer->order[i];
        trainer->order[i] = trainer->order[j];
        trainer->order[j] = kept;
    }
}

/* The steps of the epoch under way that are left. */
static thr_status run_steps(thr_trainer *trainer, uint64_t n_steps, thr_error *err) {
    thr_trainer_state *state = &trainer->state;
    const uint64_t batch = trainer->options.batch;
    char what[48];
    (void)snprintf(what, sizeof what, "epoch %llu of %u", (unsigned long long)state->epoch + 1,
                   trainer->options.n_epochs);
    thr_progress progress = thr_progress_start(trainer->context, what, n_steps * batch);
    shuffle(trainer);
    for (; state->position < n_steps; state->position++) {
        const double begin = thr_clock();
        double loss = 0;
        THR_TRY(thr_progress_step(&progress, state->position * batch, err));
        THR_TRY(thr_trainer_step(trainer, trainer->order + state->position * batch, &loss, err));
        state->loss += loss;
        state->seconds += thr_clock() - begin;
    }
    return thr_progress_end(&progress, n_steps * batch, err);
}

/* Judge the model, keep it where it is the best so far, and say so. */
static thr_status end_epoch(thr_trainer *trainer, uint64_t n_steps, thr_error *err) {
    thr_trainer_state *state = &trainer->state;
    const uint32_t n_float = thr_trainer_float_epochs(trainer);
    thr_tower_epoch epoch = {.epoch = (uint32_t)state->epoch + 1,
                             .n_pairs = n_steps * trainer->options.batch,
                             .seconds = state->seconds,
                             .loss = state->loss / (double)n_steps};
    epoch.examples_per_second = (double)epoch.n_pairs / state->seconds;
    THR_TRY(thr_trainer_judge(trainer, &epoch.valid_loss, &epoch.valid_auc, err));
    if (epoch.epoch == n_float) {
        THR_TRY(thr_trainer_put_signs(trainer, err));
        THR_TRY(thr_trainer_put(trainer, err));
    }
    state->epoch++;
    epoch.as_floats = epoch.epoch <= n_float;
    epoch.best = !epoch.as_floats && (state->best_epoch == 0 || epoch.valid_loss < state->best_valid_loss);
    if (epoch.best) {
        THR_TRY(thr_model_save(trainer->context, &trainer->model, trainer->path, err));
        state->best_epoch = state->epoch;
        state->best_loss = epoch.loss;
        state->best_valid_loss = epoch.valid_loss;
        state->best_auc = epoch.valid_auc;
    }
    state->n_learned += epoch.n_pairs;
    state->learning_seconds += state->seconds;
    state->position = 0;
    state->loss = state->seconds = 0;
    if (trainer->options.on_epoch != NULL)
        trainer->options.on_epoch(trainer->options.on_epoch_user, &epoch);
    return THR_OK;
}

static bool is_done(const thr_trainer *trainer) {
    const thr_trainer_state *state = &trainer->state;
    const uint32_t patience = trainer->options.patience;
    return state->epoch >= trainer->options.n_epochs ||
           (patience != 0 && state->best_epoch != 0 && state->epoch >= state->best_epoch + patience);
}

/* A training that is stopped can go on: where it stands is written down. */
static thr_status run(thr_trainer *trainer, thr_error *err) {
    const uint64_t n_steps = trainer->n_train / trainer->options.batch;
    while (!is_done(trainer)) {
        thr_status status = run_steps(trainer, n_steps, err);
        if (status == THR_OK || status == THR_ECANCELED)
            THR_TRY(thr_trainer_fetch(trainer, err));
        if (status == THR_ECANCELED) {
            THR_TRY(thr_checkpoint_write(trainer, err));
            return thr_fail(err, THR_ECANCELED,
                            "stopped in epoch %llu; a checkpoint was written: resume goes on from there",
                            (unsigned long long)trainer->state.epoch + 1);
        }
        THR_TRY(status);
        THR_TRY(end_epoch(trainer, n_steps, err));
        if (!is_done(trainer))
            THR_TRY(thr_checkpoint_write(trainer, err));
    }
    thr_checkpoint_remove(trainer);
    return THR_OK;
}

/* A place that cannot be written to is told before an epoch, not after. */
static thr_status check_place(thr_context *context, const char *path, thr_error *err) {
    thr_out out = {.fd = -1};
    struct stat there;
    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode))
        return thr_fail(err, THR_EINVAL, "%s: is there and no plain file: choose another name for the model", path);
    THR_TRY(thr_out_open(context, path, &out, err));
    thr_out_drop(&out);
    return THR_OK;
}

thr_status thr_tower_train(thr_context *context, const char *pairs_path, const char *path,
                           const thr_tower_train_options *given, thr_tower_report *report, thr_error *err) {
    thr_tower_train_options options;
    thr_tower_train_options_init(&options);
    if (given != NULL)
        THR_TRY(thr_take_options(&options, sizeof options, given, offsetof(thr_tower_train_options, on_epoch),
                                 "thr_tower_train_options", err));
    THR_TRY(check(&options, err));
    if (options.n_negatives == 0)
        options.n_negatives = options.batch - 1;
    THR_TRY(check_place(context, path, err));
    thr_trainer *trainer = NULL;
    THR_TRY(thr_alloc_zero(context, 1, sizeof *trainer, &trainer, "a training", err));
    thr_status status = thr_trainer_start(context, pairs_path, path, &options, trainer, err);
    if (status == THR_OK && options.resume)
        status = thr_checkpoint_read(trainer, err);
    if (status == THR_OK)
        status = thr_trainer_choose_device(trainer, err);
    if (status == THR_OK)
        status = run(trainer, err);
    const thr_trainer_state *state = &trainer->state;
    if (report != NULL)
        *report = (thr_tower_report){.n_pairs = trainer->n_train,
                                     .n_valid = trainer->n_valid,
                                     .n_refused = trainer->pairs.n_refused + trainer->valid_pairs.n_refused,
                                     .n_grams = trainer->model.grams.n,
                                     .n_epochs = (uint32_t)state->epoch,
                                     .best_epoch = (uint32_t)state->best_epoch,
                                     .loss = state->best_loss,
                                     .valid_loss = state->best_valid_loss,
                                     .valid_auc = state->best_auc,
                                     .examples_per_second = state->learning_seconds > 0
                                                                ? (double)state->n_learned / state->learning_seconds
                                                                : 0};
    thr_trainer_free(trainer);
    thr_release(context, trainer);
    return status;
}
