/* SPDX-License-Identifier: Apache-2.0 */
/* train.c - training a dual tower: options, training loop, report. */
#include <math.h>

#include "base/error.h"
#include "training/checkpoint.h"
#include "training/lock.h"
#include "dual_tower/model_file.h"
#include "dual_tower/trainer.h"
#include "training/loop.h"

void thr_dual_train_options_init(thr_dual_train_options *options) {
    *options = (thr_dual_train_options){.valid_share = 0.05f,
                                        .min_count = 2,
                                        .n_epochs = 20,
                                        .patience = 3,
                                        .batch = 512,
                                        .loss = THR_DUAL_LOSS_NDCG,
                                        .value = THR_DUAL_VALUE_SWAP,
                                        .rate = 0.002f,
                                        .optimiser = THR_DUAL_FTRL,
                                        .embedding_rate = 0.1f,
                                        .hits_rate = 0.05f,
                                        .seed = 1,
                                        .adam_beta1 = 0.9f,
                                        .adam_beta2 = 0.999f,
                                        .adam_epsilon = 1e-8f};
    thr_dual_config_init(&options->config);
}

enum { BATCH_MAX = 1 << 16 };

static thr_status check_rate(const char *what, float rate, bool zero, thr_error *err) {
    if (isfinite(rate) && (rate > 0 || (zero && rate == 0)))
        return THR_OK;
    return thr_fail(err, THR_EINVAL, "%s of %g: choose %s 0", what, (double)rate, zero ? "0 or above" : "above");
}

static thr_status check_decay(const char *what, float decay, thr_error *err) {
    if (decay >= 0 && decay < 1)
        return THR_OK;
    return thr_fail(err, THR_EINVAL, "%s of %g: choose 0 or more, below 1", what, (double)decay);
}

static thr_status check(const thr_dual_train_options *options, thr_error *err) {
    THR_TRY(thr_dual_check(&options->config, err));
    if (options->batch < 1 || options->batch > BATCH_MAX)
        return thr_fail(err, THR_EINVAL, "batches of %u requests: choose 1 to %d", options->batch, BATCH_MAX);
    if (options->n_epochs < 1)
        return thr_fail(err, THR_EINVAL, "no epochs: choose 1 or more");
    if (options->min_count < 1)
        return thr_fail(err, THR_EINVAL, "words in 0 requests: there is nothing to learn of them; choose 1 or more");
    if (options->valid_path == NULL && !(options->valid_share > 0 && options->valid_share <= 0.5f))
        return thr_fail(err, THR_EINVAL, "a share of %g of the requests to validate with: choose more than 0, to 0.5",
                        (double)options->valid_share);
    THR_TRY(thr_check_enum((int)options->loss, THR_DUAL_LOSS_SUM, "thr_dual_loss", err));
    THR_TRY(thr_check_enum((int)options->value, THR_DUAL_VALUE_SWAP, "thr_dual_value", err));
    THR_TRY(thr_check_enum((int)options->optimiser, THR_DUAL_FTRL, "thr_dual_optimiser", err));
    THR_TRY(check_rate("a rate", options->rate, false, err));
    THR_TRY(check_rate("a rate of embeddings", options->embedding_rate, false, err));
    THR_TRY(check_rate("a rate of hits", options->hits_rate, false, err));
    THR_TRY(check_decay("an Adam beta1", options->adam_beta1, err));
    THR_TRY(check_decay("an Adam beta2", options->adam_beta2, err));
    THR_TRY(check_rate("an Adam epsilon", options->adam_epsilon, false, err));
    THR_TRY(check_rate("an l1", options->l1, true, err));
    return check_rate("an l2", options->l2, true, err);
}

static thr_status validate(void *user, thr_tower_epoch *epoch, thr_error *err) {
    return thr_dual_evaluate(user, &epoch->valid_loss, &epoch->valid_quality, err);
}

static thr_status run(thr_dual_trainer *trainer, thr_error *err) {
    const thr_dual_train_options *options = &trainer->options;
    const thr_training_loop loop = {.context = trainer->context,
                                    .n_epochs = options->n_epochs,
                                    .patience = options->patience,
                                    .batch = options->batch,
                                    .seed = options->seed,
                                    .path = trainer->path,
                                    .model = thr_dual_source(&trainer->model),
                                    .split = &trainer->split,
                                    .state = &trainer->state,
                                    .resume = options->resume,
                                    .on_epoch = options->on_epoch,
                                    .on_epoch_user = options->on_epoch_user,
                                    .device = &trainer->device,
                                    .user = trainer,
                                    .choose_device = thr_dual_choose_device,
                                    .validate = validate,
                                    .describe = thr_dual_checkpoint_describe};
    return thr_training_run(&loop, err);
}

static thr_dual_report report_of(const thr_dual_trainer *trainer) {
    const thr_training_state *state = &trainer->state;
    return (thr_dual_report){.n_requests = trainer->split.n_train,
                             .n_valid = trainer->split.n_valid,
                             .n_items = trainer->items.n,
                             .n_user_words = thr_dual_n_words(&trainer->model.words[THR_SIDE_QUERY]),
                             .n_item_words = thr_dual_n_words(&trainer->model.words[THR_SIDE_ITEM]),
                             .n_epochs = (uint32_t)state->epoch,
                             .best_epoch = (uint32_t)state->best_epoch,
                             .loss = state->best_loss,
                             .valid_loss = state->best_valid_loss,
                             .valid_gauc = state->best_quality,
                             .requests_per_second = thr_training_speed(state)};
}

thr_status thr_dual_train(thr_context *context, const char *requests_path, const char *items_path, const char *path,
                          const thr_dual_train_options *given, thr_dual_report *report, thr_error *err) {
    thr_dual_train_options options;
    thr_dual_train_options_init(&options);
    if (given != NULL)
        options = *given;
    THR_TRY(check(&options, err));
    THR_TRY(thr_check_path(requests_path, "the requests to read", err));
    const thr_model_place place = {
        path, THR_DUAL_KIND, "a dual tower", {requests_path, items_path, options.valid_path}, options.resume};
    THR_TRY(thr_training_checkpoint_check_place(context, &place, err));
    thr_training_lock lock = {.path = NULL};
    thr_dual_trainer *trainer = NULL;
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_training_lock_take(context, path, &lock, err));
    THR_TRY_OUT(thr_alloc_zero(context, 1, sizeof *trainer, &trainer, "a training", err));
    status = thr_dual_trainer_start(context, requests_path, items_path, path, &options, trainer, err);
    if (status == THR_OK)
        status = run(trainer, err);
    if (report != NULL)
        *report = report_of(trainer);
    thr_dual_trainer_free(trainer);
out:
    thr_training_lock_drop(&lock);
    thr_release(context, trainer);
    return status;
}
