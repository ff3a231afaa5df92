/* SPDX-License-Identifier: Apache-2.0 */
/* train.c - training a tower of texts or vectors: options, training loop, report. */
#include <math.h>

#include "base/error.h"
#include "text_tower/trainer.h"
#include "training/train.h"
#include "io/reader.h"

void thr_tower_train_options_init(thr_tower_train_options *options) {
    *options = (thr_tower_train_options){
        .run = {.valid_share = 0.02f, .n_epochs = 40, .patience = 10, .batch = 512, .rate = 0.002f, .seed = 1},
        .config =
            {.n_dims = 64, .n_pooled = 288, .query_bits = 3, .item_bits = 2, .max_grams = 49292, .max_words = 128},
        .format = {.query_column = 1, .item_column = 2},
        .float_share = 0.5f,
        .gamma = 10.0f,
        .word_dropout = 0.25f,
        .teacher_gamma = 20.0f,
        .estimator = THR_ESTIMATOR_VARIANT};
}

void thr_tower_train_options_init_vectors(thr_tower_train_options *options, bool items_alone) {
    thr_tower_train_options_init(options);
    options->run.rate = 0.03f;
    options->run.n_epochs = 20;
    options->run.batch = 256;
    options->config.n_dims = 32;
    options->config.query_bits = THR_FLOAT_BITS;
    options->config.item_bits = 4;
    options->gamma = options->teacher_gamma;
    options->float_share = 0;
    options->noise = 0.5f;
    options->teacher_share = items_alone ? 1 : 0;
}

static thr_status check(const thr_tower_train_options *options, thr_error *err) {
    const uint32_t batch = options->run.batch;
    if (batch < 2)
        return thr_fail(err, THR_EINVAL, "batches of %u pairs: choose 2 or more", batch);
    if (options->n_negatives >= batch)
        return thr_fail(err, THR_EINVAL, "%u negatives: choose 1 to %u, one less than a batch has pairs, or 0 for that",
                        options->n_negatives, batch - 1);
    if (!(options->gamma > 0) || !isfinite(options->gamma))
        return thr_fail(err, THR_EINVAL, "a gamma of %g: it must be above 0", (double)options->gamma);
    if (!(options->float_share >= 0 && options->float_share < 1))
        return thr_fail(err, THR_EINVAL, "a share of %g of the epochs for floats: choose 0 or more, below 1",
                        (double)options->float_share);
    if (!(options->word_dropout >= 0 && options->word_dropout < 1))
        return thr_fail(err, THR_EINVAL, "a share of %g of the words left out: choose 0 or more, below 1",
                        (double)options->word_dropout);
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

static thr_status train(thr_context *context, const thr_text_trainer_kind *kind, const thr_training_files *files,
                        const thr_text_task *task, thr_tower_report *report, thr_error *err) {
    THR_TRY(check(task->options, err));
    return thr_training_train(context, &kind->base, files, &task->options->run, task, report, err);
}

thr_status thr_tower_train(thr_context *context, const char *pairs_path, const char *path,
                           const thr_tower_train_options *given, thr_tower_report *report, thr_error *err) {
    thr_tower_train_options options;
    thr_tower_train_options_init(&options);
    if (given != NULL)
        options = *given;
    options.config.n_inputs = 0;
    THR_TRY(thr_text_model_check(&options.config, err));
    const thr_training_files files = {path, {pairs_path, options.run.valid_path}};
    const thr_text_task task = {.options = &options, .pairs_path = pairs_path};
    return train(context, &thr_texts_trainer, &files, &task, report, err);
}

thr_status thr_tower_train_vectors(thr_context *context, thr_reader *queries, thr_reader *items, const char *path,
                                   const thr_tower_train_options *given, thr_tower_report *report, thr_error *err) {
    thr_tower_train_options options;
    thr_tower_train_options_init_vectors(&options, queries == NULL);
    if (context == NULL || items == NULL)
        return thr_fail(err, THR_EINVAL, "a training needs a context and a reader of items");
    if (given != NULL)
        options = *given;
    if (options.run.valid_path != NULL && queries != NULL)
        return thr_fail(
            err, THR_EUNSUPPORTED,
            "%s: pairs of vectors are validated with a share of themselves: leave it out, or give items alone",
            options.run.valid_path);
    if (options.pairs_path != NULL && queries == NULL)
        return thr_fail(err, THR_EINVAL, "%s: pairs by ids need vectors of queries: give those, too",
                        options.pairs_path);
    if (options.pairs_path == NULL && (options.query_ids_path != NULL || options.item_ids_path != NULL))
        return thr_fail(err, THR_EINVAL, "%s: ids are for a file of pairs: give that, too",
                        options.query_ids_path != NULL ? options.query_ids_path : options.item_ids_path);
    thr_reader *valid = NULL;
    const thr_training_files files = {path,
                                      {thr_io_reader_name(items), queries != NULL ? thr_io_reader_name(queries) : NULL,
                                       options.run.valid_path, options.pairs_path, options.query_ids_path,
                                       options.item_ids_path}};
    if (options.run.valid_path != NULL)
        THR_TRY(thr_reader_open(context, options.run.valid_path, &valid, err));
    const thr_text_task task = {.options = &options,
                                .vectors = {.queries = queries,
                                            .items = items,
                                            .valid = valid,
                                            .pairs_path = options.pairs_path,
                                            .ids_paths = {options.query_ids_path, options.item_ids_path}}};
    const thr_status status = train(context, &thr_vectors_trainer, &files, &task, report, err);
    thr_reader_free(valid);
    return status;
}
