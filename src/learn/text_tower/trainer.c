/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.c - the start and the end of a training of texts or vectors: options, weights, memory of steps. */
#include "text_tower/trainer.h"

#include "base/error.h"
#include "text_tower/model_file.h"

thr_status thr_text_trainer_check_split(const thr_text_trainer *trainer, const char *name, thr_error *err) {
    const uint32_t batch = trainer->options.run.batch;
    if (trainer->base.split.n_train >= 2 * (size_t)batch && trainer->base.split.n_valid >= 2)
        return THR_OK;
    return thr_fail(err, THR_EFORMAT,
                    "%s: %zu pairs to learn from and %zu to validate with: at least two batches of %u and two pairs "
                    "are needed; use smaller batches or more pairs",
                    name, trainer->base.split.n_train, trainer->base.split.n_valid, batch);
}

void thr_text_trainer_take_task(thr_text_trainer *trainer, const thr_text_task *task) {
    trainer->task = *task;
    trainer->options = *task->options;
    trainer->base.options = &trainer->options.run;
    if (trainer->options.n_negatives == 0)
        trainer->options.n_negatives = trainer->options.run.batch - 1;
}

void thr_text_trainer_identify(const thr_text_trainer *trainer, thr_checksum *sum) {
    const thr_tower_train_options *options = &trainer->options;
    const uint32_t numbers[] = {options->n_negatives, (uint32_t)options->estimator};
    const float rates[] = {options->gamma, options->word_dropout, options->float_share};
    thr_checksum_add(sum, numbers, sizeof numbers);
    thr_checksum_add(sum, rates, sizeof rates);
}

thr_model_source thr_text_trainer_model(const void *trainer) {
    return thr_text_model_source(&((const thr_text_trainer *)trainer)->model);
}

/* Allocate weights, gradients and the optimiser's state; the model's tensors are views of them. */
static thr_status make_weights(thr_text_trainer *trainer, thr_error *err) {
    const thr_tower_config *config = &trainer->model.config;
    const size_t n_table = trainer->model.grams.n * thr_model_n_columns(config);
    const thr_tensor_list lists[THR_N_SIDES] = {thr_text_model_tensors(config, THR_SIDE_QUERY),
                                                thr_text_model_tensors(config, THR_SIDE_ITEM)};
    for (size_t i = 0; i < thr_model_n_tables(config); i++)
        THR_TRY(thr_training_weights_make(trainer->base.context, n_table, false, &trainer->base.tables[i], err));
    THR_TRY(thr_training_make_dense(&trainer->base, lists, err));
    for (size_t side = 0; side < THR_N_SIDES; side++) {
        trainer->model.tables[side] = trainer->base.tables[config->shared_words ? 0 : side].values;
        for (size_t p = 0; p < lists[side].n; p++)
            trainer->model.tensors[side][p] = trainer->base.tensors[side][p];
    }
    return THR_OK;
}

thr_status thr_text_trainer_make(thr_text_trainer *trainer, thr_error *err) {
    thr_context *context = trainer->base.context;
    const thr_tower_train_options *options = &trainer->options;
    const size_t n_dims = options->config.n_dims;
    trainer->model.config = options->config;
    THR_TRY(make_weights(trainer, err));
    trainer->as_floats = trainer->model;
    trainer->as_floats.config.query_bits = trainer->as_floats.config.item_bits = THR_FLOAT_BITS;
    const thr_match_loss loss = thr_text_trainer_match_loss(trainer);
    for (size_t side = 0; side < THR_N_SIDES; side++)
        THR_TRY(thr_alloc(context, options->run.batch, n_dims * sizeof(float), &trainer->scratch.d_embeddings[side],
                          "gradients", err));
    THR_TRY(thr_text_backward_reserve(context, &options->config, options->run.batch, &trainer->scratch.back, err));
    return thr_alloc(context, thr_nn_match_loss_scratch(&loss, options->run.batch, n_dims), sizeof(float),
                     &trainer->scratch.loss, "a batch", err);
}

void thr_text_trainer_end(void *base) {
    thr_text_trainer *trainer = base;
    thr_context *context = trainer->base.context;
    thr_words_lexicon_free(context, &trainer->lexicon);
    thr_text_pairs_free(context, &trainer->pairs);
    thr_text_pairs_free(context, &trainer->valid_pairs);
    thr_text_vector_pairs_free(context, &trainer->vectors);
    thr_words_grams_free(context, &trainer->model.grams);
    for (size_t i = 0; i < THR_N_SIDES; i++) {
        thr_text_pass_free(context, &trainer->scratch.passes[i]);
        THR_RELEASE(context, trainer->scratch.d_embeddings[i], trainer->scratch.rows[i]);
    }
    thr_text_batch_free(context, &trainer->scratch.batch);
    thr_nn_bags_transposed_free(context, &trainer->scratch.transposed);
    thr_text_backward_free(context, &trainer->scratch.back);
    thr_release(context, trainer->scratch.loss);
}
