/* SPDX-License-Identifier: Apache-2.0 */
/* train.c - training a tower of texts or vectors: options, training loop, report. */
#include <math.h>

#include "base/error.h"
#include "training/checkpoint.h"
#include "training/lock.h"
#include "text_tower/model_file.h"
#include "text_tower/trainer.h"
#include "training/loop.h"

void thr_tower_train_options_init(thr_tower_train_options *options) {
    *options = (thr_tower_train_options){.valid_share = 0.02f,
                                         .format = {.query_column = 1, .item_column = 2},
                                         .n_epochs = 40,
                                         .patience = 10,
                                         .batch = 512,
                                         .float_share = 0.5f,
                                         .gamma = 10.0f,
                                         .rate = 0.002f,
                                         .word_dropout = 0.25f,
                                         .teacher_gamma = 20.0f,
                                         .estimator = THR_ESTIMATOR_VARIANT,
                                         .seed = 1};
    thr_tower_config_init(&options->config);
}

void thr_tower_train_options_init_vectors(thr_tower_train_options *options, bool items_alone) {
    thr_tower_train_options_init(options);
    options->config.n_dims = 32;
    options->config.query_bits = THR_FLOAT_BITS;
    options->config.item_bits = 4;
    options->gamma = options->teacher_gamma;
    options->float_share = 0;
    options->noise = 0.5f;
    options->rate = 0.03f;
    options->n_epochs = 20;
    options->batch = 256;
    options->teacher_share = items_alone ? 1 : 0;
}

enum { BATCH_MAX = 1 << 16 };

static thr_status check(const thr_tower_train_options *options, thr_error *err) {
    if (options->batch < 2 || options->batch > BATCH_MAX)
        return thr_fail(err, THR_EINVAL, "batches of %u pairs: choose 2 to %d", options->batch, BATCH_MAX);
    if (options->n_negatives >= options->batch)
        return thr_fail(err, THR_EINVAL, "%u negatives: choose 1 to %u, one less than a batch has pairs, or 0 for that",
                        options->n_negatives, options->batch - 1);
    if (options->n_epochs < 1)
        return thr_fail(err, THR_EINVAL, "no epochs: choose 1 or more");
    if (!(options->gamma > 0) || !(options->rate > 0) || !isfinite(options->gamma) || !isfinite(options->rate))
        return thr_fail(err, THR_EINVAL, "gamma %g and rate %g: both must be above 0", (double)options->gamma,
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
    if (!(options->teacher_share >= 0 && options->teacher_share <= 1))
        return thr_fail(err, THR_EINVAL, "a share of %g for the vectors' own cosines: choose 0 to 1",
                        (double)options->teacher_share);
    if (!(options->teacher_gamma > 0) || !isfinite(options->teacher_gamma))
        return thr_fail(err, THR_EINVAL, "a scale of %g for the vectors' own cosines: it must be above 0",
                        (double)options->teacher_gamma);
    if (!(options->noise >= 0) || !isfinite(options->noise))
        return thr_fail(err, THR_EINVAL, "noise of length %g: choose 0 or more", (double)options->noise);
    return thr_check_enum((int)options->estimator, THR_ESTIMATOR_TANH, "thr_estimator", err);
}

/* After the last epoch of floats, initialise the planes; then validate. */
static thr_status validate(void *user, thr_tower_epoch *epoch, thr_error *err) {
    thr_text_trainer *trainer = user;
    const uint32_t n_float = thr_text_trainer_float_epochs(trainer);
    THR_TRY(thr_text_trainer_validate(trainer, &epoch->valid_loss, &epoch->valid_quality, err));
    if (epoch->epoch == n_float) {
        THR_TRY(thr_text_trainer_init_planes(trainer, err));
        THR_TRY(thr_text_trainer_put(trainer, err));
    }
    epoch->as_floats = epoch->epoch <= n_float;
    return THR_OK;
}

static thr_status run(thr_text_trainer *trainer, thr_error *err) {
    const thr_tower_train_options *options = &trainer->options;
    const thr_training_loop loop = {.context = trainer->context,
                                    .n_epochs = options->n_epochs,
                                    .patience = options->patience,
                                    .batch = options->batch,
                                    .seed = options->seed,
                                    .path = trainer->path,
                                    .model = thr_text_model_source(&trainer->model),
                                    .split = &trainer->split,
                                    .state = &trainer->state,
                                    .resume = options->resume,
                                    .on_epoch = options->on_epoch,
                                    .on_epoch_user = options->on_epoch_user,
                                    .device = &trainer->device,
                                    .user = trainer,
                                    .choose_device = thr_text_trainer_choose_device,
                                    .validate = validate,
                                    .describe = thr_text_checkpoint_describe};
    return thr_training_run(&loop, err);
}

static thr_status train(thr_context *context, const thr_trainer_source *source, const thr_model_place *place,
                        const thr_tower_train_options *options, thr_tower_report *report, thr_error *err) {
    const char *path = place->model_path;
    THR_TRY(check(options, err));
    THR_TRY(thr_training_checkpoint_check_place(context, place, err));
    thr_training_lock lock = {.path = NULL};
    thr_text_trainer *trainer = NULL;
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_training_lock_take(context, path, &lock, err));
    THR_TRY_OUT(thr_alloc_zero(context, 1, sizeof *trainer, &trainer, "a training", err));
    status = thr_text_trainer_start(context, source, path, options, trainer, err);
    if (status == THR_OK)
        status = run(trainer, err);
    const thr_training_state *state = &trainer->state;
    if (report != NULL)
        *report = (thr_tower_report){.n_pairs = trainer->split.n_train,
                                     .n_valid = trainer->split.n_valid,
                                     .n_refused = trainer->pairs.n_refused + trainer->valid_pairs.n_refused,
                                     .n_grams = trainer->model.grams.n,
                                     .n_epochs = (uint32_t)state->epoch,
                                     .best_epoch = (uint32_t)state->best_epoch,
                                     .loss = state->best_loss,
                                     .valid_loss = state->best_valid_loss,
                                     .valid_quality = state->best_quality,
                                     .examples_per_second = thr_training_speed(state)};
    thr_text_trainer_free(trainer);
out:
    thr_training_lock_drop(&lock);
    thr_release(context, trainer);
    return status;
}

thr_status thr_tower_train(thr_context *context, const char *pairs_path, const char *path,
                           const thr_tower_train_options *given, thr_tower_report *report, thr_error *err) {
    thr_tower_train_options options;
    thr_tower_train_options_init(&options);
    if (given != NULL)
        options = *given;
    options.config.n_inputs = 0;
    THR_TRY(thr_text_model_check(&options.config, err));
    const thr_model_place place = {
        path, THR_MODEL_KIND, "a model of text towers", {pairs_path, options.valid_path}, options.resume};
    return train(context, &(thr_trainer_source){.pairs_path = pairs_path}, &place, &options, report, err);
}

thr_status thr_tower_train_vectors(thr_context *context, thr_reader *queries, thr_reader *items, const char *path,
                                   const thr_tower_train_options *given, thr_tower_report *report, thr_error *err) {
    thr_tower_train_options options;
    thr_tower_train_options_init_vectors(&options, queries == NULL);
    if (context == NULL || items == NULL)
        return thr_fail(err, THR_EINVAL, "a training needs a context and a reader of items");
    if (given != NULL)
        options = *given;
    if (options.valid_path != NULL && queries != NULL)
        return thr_fail(
            err, THR_EUNSUPPORTED,
            "%s: pairs of vectors are validated with a share of themselves: leave it out, or give items alone",
            options.valid_path);
    if (options.pairs_path != NULL && queries == NULL)
        return thr_fail(err, THR_EINVAL, "%s: pairs by ids need vectors of queries: give those, too",
                        options.pairs_path);
    if (options.pairs_path == NULL && (options.query_ids_path != NULL || options.item_ids_path != NULL))
        return thr_fail(err, THR_EINVAL, "%s: ids are for a file of pairs: give that, too",
                        options.query_ids_path != NULL ? options.query_ids_path : options.item_ids_path);
    thr_reader *valid = NULL;
    const thr_model_place place = {path,
                                   THR_MODEL_KIND,
                                   "a model of text towers",
                                   {thr_reader_name(items), queries != NULL ? thr_reader_name(queries) : NULL,
                                    options.valid_path, options.pairs_path, options.query_ids_path,
                                    options.item_ids_path},
                                   options.resume};
    if (options.valid_path != NULL)
        THR_TRY(thr_reader_open(context, options.valid_path, &valid, err));
    const thr_trainer_source source = {.vectors = {.queries = queries,
                                                   .items = items,
                                                   .valid = valid,
                                                   .pairs_path = options.pairs_path,
                                                   .ids_paths = {options.query_ids_path, options.item_ids_path}}};
    const thr_status status = train(context, &source, &place, &options, report, err);
    thr_reader_free(valid);
    return status;
}
