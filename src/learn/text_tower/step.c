/* SPDX-License-Identifier: Apache-2.0 */
/* step.c - one training step on the CPU: forward, loss, backward, optimiser. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "text_tower/trainer.h"

thr_status thr_text_trainer_forward(thr_text_trainer *trainer, const thr_text_model *model, const thr_pairs *pairs,
                                    const uint32_t *numbers, size_t n, const thr_batch_mode *mode, thr_error *err) {
    thr_context *context = trainer->base.context;
    const thr_tower_config *config = &model->config;
    THR_TRY(thr_text_kind_of(trainer)->gather(trainer, pairs, numbers, n, mode, err));
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
        const thr_side_input input = thr_text_kind_of(trainer)->get_input(trainer, side, n);
        THR_TRY(thr_text_pass_reserve(context, config, side, n, &trainer->scratch.passes[side], err));
        thr_text_side_forward(context, model, side, &input, &trainer->scratch.passes[side]);
        if (!thr_text_pass_is_finite(config, side, &trainer->scratch.passes[side], n))
            return thr_training_diverged(&trainer->base, trainer->options.run.rate, err);
    }
    return THR_OK;
}

thr_batch_mode thr_text_trainer_batch_mode(const thr_text_trainer *trainer) {
    return (thr_batch_mode){true, trainer->options.word_dropout,
                            trainer->options.run.seed ^ (trainer->base.state.step << 32)};
}

uint32_t thr_text_trainer_float_epochs(const thr_text_trainer *trainer) {
    const thr_tower_config *config = &trainer->model.config;
    if (config->query_bits == THR_FLOAT_BITS && config->item_bits == THR_FLOAT_BITS)
        return 0;
    const uint32_t n_epochs = trainer->options.run.n_epochs;
    const float share = (float)n_epochs * trainer->options.float_share;
    /* one epoch at least has signs, or no model could be saved */
    return share < (float)(n_epochs - 1) ? (uint32_t)share : n_epochs - 1;
}

thr_match_loss thr_text_trainer_match_loss(const thr_text_trainer *trainer) {
    const thr_tower_train_options *options = &trainer->options;
    return (thr_match_loss){.gamma = options->gamma,
                            .shift = 1,
                            .n_negatives = options->n_negatives,
                            .teacher_share = trainer->vectors.n != 0 ? options->teacher_share : 0,
                            .teacher_gamma = options->teacher_gamma,
                            .n_teacher_dims = trainer->vectors.n_dims};
}

/* The annealing tanh's slope is 1 in the first epoch with signs and grows by 1 in every epoch. */
thr_slope thr_text_trainer_slope(const thr_text_trainer *trainer) {
    const double epochs = (double)trainer->base.state.step / (double)thr_trainer_steps(&trainer->base) -
                          (double)thr_text_trainer_float_epochs(trainer);
    return (thr_slope){trainer->options.estimator, (float)(1 + epochs)};
}

thr_optimiser thr_text_trainer_optimiser(const thr_text_trainer *trainer) {
    thr_optimiser adam;
    thr_nn_optimiser_init(&adam, THR_OPTIMISER_ADAM);
    adam.rate = thr_training_rate(&trainer->base, trainer->options.run.rate);
    adam.step = trainer->base.state.step + 1;
    return adam;
}

thr_optimiser thr_text_trainer_dense_optimiser(const thr_text_trainer *trainer) {
    thr_optimiser adam = thr_text_trainer_optimiser(trainer);
    const uint32_t n_float = thr_text_trainer_float_epochs(trainer);
    if (n_float > 0 && trainer->base.state.epoch >= n_float) {
        adam.rate *= thr_text_kind_of(trainer)->dense_share;
        adam.step -= n_float * thr_trainer_steps(&trainer->base);
    }
    return adam;
}

/* Apply the optimiser to all weights. */
static thr_status learn(thr_text_trainer *trainer, thr_error *err) {
    thr_context *context = trainer->base.context;
    const thr_tower_config *config = &trainer->model.config;
    const thr_optimiser adam = thr_text_trainer_optimiser(trainer),
                        dense_adam = thr_text_trainer_dense_optimiser(trainer);
    thr_text_kind_of(trainer)->learn_dense(trainer, &dense_adam);
    for (size_t i = 0; i < thr_model_n_tables(config); i++) {
        const thr_batch_words *words = &trainer->scratch.batch.tables[i];
        const thr_bags bags = thr_batch_bags(words);
        THR_TRY(thr_nn_bags_transpose(context, &bags, trainer->model.grams.n, &trainer->scratch.transposed, err));
        const thr_bags_table table = {trainer->base.tables[i].values, trainer->base.tables[i].slots,
                                      thr_model_n_columns(config)};
        THR_TRY(thr_nn_bags_backward(context, &trainer->scratch.transposed, words->d_vectors, &adam, &table, err));
    }
    return THR_OK;
}

thr_status thr_text_trainer_step_on_cpu(void *user, const uint32_t *numbers, double *loss, thr_error *err) {
    thr_text_trainer *trainer = user;
    thr_context *context = trainer->base.context;
    const thr_text_model *model = thr_trainer_model(trainer);
    const thr_tower_config *config = &model->config;
    const size_t n = trainer->options.run.batch;
    const thr_batch_mode mode = thr_text_trainer_batch_mode(trainer);
    const thr_match_loss match = thr_text_trainer_match_loss(trainer);
    THR_TRY(thr_text_trainer_forward(trainer, model, &trainer->pairs, numbers, n, &mode, err));
    const thr_match_batch batch = {
        .queries = thr_pass_embedding(config, THR_SIDE_QUERY, &trainer->scratch.passes[THR_SIDE_QUERY]),
        .items = thr_pass_embedding(config, THR_SIDE_ITEM, &trainer->scratch.passes[THR_SIDE_ITEM]),
        .n_rows = n,
        .n_dims = config->n_dims,
        .d_queries = trainer->scratch.d_embeddings[THR_SIDE_QUERY],
        .d_items = trainer->scratch.d_embeddings[THR_SIDE_ITEM],
        .teacher_queries = trainer->scratch.rows[THR_SIDE_QUERY],
        .teacher_items = trainer->scratch.rows[THR_SIDE_ITEM]};
    *loss = thr_nn_match_loss_run(context, &match, &batch, trainer->scratch.loss);
    if (!isfinite(*loss))
        return thr_training_diverged(&trainer->base, trainer->options.run.rate, err);
    memset(trainer->base.dense.gradients, 0, trainer->base.dense.n * sizeof *trainer->base.dense.gradients);
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
        const thr_side_gradients to = {.slope = thr_text_trainer_slope(trainer),
                                       .d_embedding = trainer->scratch.d_embeddings[side],
                                       .d_tensors = trainer->base.d_tensors[side],
                                       .d_vectors = thr_batch_table(config, &trainer->scratch.batch, side)->d_vectors,
                                       .workspace = &trainer->scratch.back};
        const thr_side_input input = thr_text_kind_of(trainer)->get_input(trainer, side, n);
        thr_text_side_backward(context, model, side, &input, &trainer->scratch.passes[side], &to);
    }
    return learn(trainer, err);
}
