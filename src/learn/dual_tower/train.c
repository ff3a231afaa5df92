/* SPDX-License-Identifier: Apache-2.0 */
/* train.c - training a dual tower: options, training loop, report. */
#include <math.h>

#include "base/error.h"
#include "base/files/file.h"
#include "dual_tower/trainer.h"
#include "training/train.h"

void thr_dual_train_options_init(thr_dual_train_options *options) {
    *options = (thr_dual_train_options){
        .run = {.valid_share = 0.05f, .n_epochs = 20, .patience = 3, .batch = 512, .rate = 0.002f, .seed = 1},
        .config = {.n_embedding = 32, .n_hidden = 128, .n_dims = 64, .n_products = 32, .hits = true},
        .min_count = 2,
        .loss = THR_DUAL_LOSS_NDCG,
        .value = THR_DUAL_VALUE_SWAP,
        .optimiser = THR_DUAL_FTRL,
        .embedding_rate = 0.1f,
        .hits_rate = 0.05f};
}

static thr_status check_rate(const char *what, float rate, bool zero, thr_error *err) {
    if (isfinite(rate) && (rate > 0 || (zero && rate == 0)))
        return THR_OK;
    return thr_fail(err, THR_EINVAL, "%s of %g: choose %s 0", what, (double)rate, zero ? "0 or above" : "above");
}

static thr_status check(const thr_dual_train_options *options, thr_error *err) {
    THR_TRY(thr_dual_check(&options->config, err));
    if (options->min_count < 1)
        return thr_fail(err, THR_EINVAL, "words in 0 requests: there is nothing to learn of them; choose 1 or more");
    THR_TRY(thr_check_enum((int)options->loss, THR_DUAL_LOSS_SUM, "thr_dual_loss", err));
    THR_TRY(thr_check_enum((int)options->value, THR_DUAL_VALUE_SWAP, "thr_dual_value", err));
    THR_TRY(thr_check_enum((int)options->optimiser, THR_DUAL_FTRL, "thr_dual_optimiser", err));
    THR_TRY(check_rate("a rate of embeddings", options->embedding_rate, false, err));
    THR_TRY(check_rate("a rate of hits", options->hits_rate, false, err));
    THR_TRY(check_rate("an l1", options->l1, true, err));
    return check_rate("an l2", options->l2, true, err);
}

thr_status thr_dual_train(thr_context *context, const char *requests_path, const char *items_path, const char *path,
                          const thr_dual_train_options *given, thr_tower_report *report, thr_error *err) {
    thr_dual_train_options options;
    thr_dual_train_options_init(&options);
    if (given != NULL)
        options = *given;
    const thr_training_files files = {path, {requests_path, items_path, options.run.valid_path}};
    const thr_dual_task task = {&options, requests_path, items_path};
    THR_TRY(check(&options, err));
    THR_TRY(thr_check_path(requests_path, "the requests to read", err));
    return thr_training_train(context, &thr_dual_trainer_kind, &files, &options.run, &task, report, err);
}
