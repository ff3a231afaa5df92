/* SPDX-License-Identifier: Apache-2.0 */
/* step.c - one training step on the CPU: forward, loss, backward, optimiser. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "text_tower/trainer.h"

thr_status thr_text_trainer_diverged(const thr_text_trainer *trainer, thr_error *err) {
    return thr_fail(err, THR_ERANGE, "the loss is no longer finite at step %llu: learn at a lower rate than %g; %s",
                    (unsigned long long)trainer->state.step + 1, (double)trainer->options.rate,
                    trainer->state.best_epoch != 0 ? "the best model so far was kept" : "no model was written");
}

/* Assemble a batch of texts and embed its words. */
static thr_status fill_texts(thr_text_trainer *trainer, const thr_batch_source *source, const thr_batch_mode *mode,
                             thr_error *err) {
    thr_batch *batch = &trainer->scratch.batch;
    THR_TRY(thr_text_batch_fill(trainer->context, source, mode, batch, err));
    for (size_t i = 0; i < thr_model_n_tables(source->config); i++) {
        const thr_bags bags = thr_batch_bags(&batch->tables[i]);
        thr_nn_bags_forward(trainer->context, trainer->tables[i].values, thr_model_n_columns(source->config), &bags,
                            batch->tables[i].vectors);
    }
    return THR_OK;
}

thr_side_input thr_text_trainer_input(thr_text_trainer *trainer, thr_side side, size_t n) {
    const thr_tower_config *config = &trainer->model.config;
    thr_batch *batch = &trainer->scratch.batch;
    return thr_model_reads_vectors(config)
               ? (thr_side_input){.n = n, .vectors = trainer->scratch.rows[side]}
               : (thr_side_input){n, &batch->texts[side], thr_batch_table(config, batch, side)->vectors};
}

thr_status thr_text_trainer_forward(thr_text_trainer *trainer, const thr_text_model *model, const thr_pairs *pairs,
                                    const uint32_t *numbers, size_t n, const thr_batch_mode *mode, thr_error *err) {
    thr_context *context = trainer->context;
    const thr_tower_config *config = &model->config;
    if (thr_model_reads_vectors(config))
        thr_text_vector_pairs_gather(&trainer->vectors, numbers, n,
                                     &(thr_vector_noise){mode->learn ? trainer->options.noise : 0, mode->seed},
                                     trainer->scratch.rows);
    else
        THR_TRY(fill_texts(trainer, &(thr_batch_source){config, &trainer->lexicon, pairs, numbers, n}, mode, err));
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
        const thr_side_input input = thr_text_trainer_input(trainer, side, n);
        THR_TRY(thr_text_pass_reserve(context, config, side, n, &trainer->scratch.passes[side], err));
        thr_text_side_forward(context, model, side, &input, &trainer->scratch.passes[side]);
        if (!thr_text_pass_is_finite(config, side, &trainer->scratch.passes[side], n))
            return thr_text_trainer_diverged(trainer, err);
    }
    return THR_OK;
}

thr_batch_mode thr_text_trainer_batch_mode(const thr_text_trainer *trainer) {
    return (thr_batch_mode){true, trainer->options.word_dropout, trainer->options.seed ^ (trainer->state.step << 32)};
}

uint32_t thr_text_trainer_float_epochs(const thr_text_trainer *trainer) {
    const thr_tower_config *config = &trainer->model.config;
    if (config->query_bits == THR_FLOAT_BITS && config->item_bits == THR_FLOAT_BITS)
        return 0;
    const uint32_t n_epochs = trainer->options.n_epochs;
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
    const size_t n_steps = trainer->split.n_train / trainer->options.batch;
    const double epochs =
        (double)trainer->state.step / (double)n_steps - (double)thr_text_trainer_float_epochs(trainer);
    return (thr_slope){trainer->options.estimator, (float)(1 + epochs)};
}

/* The learning rate decays linearly from options.rate to 0 over the steps of all epochs. */
static float find_rate(const thr_text_trainer *trainer) {
    const size_t n_steps = trainer->split.n_train / trainer->options.batch;
    const double all = (double)n_steps * (double)trainer->options.n_epochs;
    return (float)((double)trainer->options.rate * (1 - (double)trainer->state.step / all));
}

thr_optimiser thr_text_trainer_optimiser(const thr_text_trainer *trainer) {
    thr_optimiser adam;
    thr_nn_optimiser_init(&adam, THR_OPTIMISER_ADAM);
    adam.rate = find_rate(trainer);
    adam.step = trainer->state.step + 1;
    return adam;
}

/* Planes start as a good quantiser. A larger rate destroys it: the loss falls, but fewer items are found. */
static const float DENSE_SHARE = 0.1f;

thr_optimiser thr_text_trainer_dense_optimiser(const thr_text_trainer *trainer) {
    const thr_tower_config *config = &trainer->model.config;
    thr_optimiser adam = thr_text_trainer_optimiser(trainer);
    const uint32_t n_float = thr_text_trainer_float_epochs(trainer);
    if (n_float > 0 && trainer->state.epoch >= n_float) {
        adam.rate *= thr_model_reads_vectors(config) ? 1 : DENSE_SHARE;
        adam.step -= (uint64_t)n_float * (trainer->split.n_train / trainer->options.batch);
    }
    return adam;
}

/*
 * How large a tensor's weights are for vectors of length 1, relative to those of W_i and R: Adam's steps are as large
 * as its rate, whatever the weight. B maps +-1 to components of such vectors.
 */
static float scale_of(const thr_tower_config *config, size_t tensor) {
    const float component = 1.0f / sqrtf((float)config->n_inputs);
    if (thr_text_is_rebuild(tensor))
        return 2.0f * component / sqrtf((float)config->n_dims);
    return tensor == THR_TEXT_POOL_BIAS || (tensor > 0 && thr_text_is_rebuild(tensor - 1)) ? component : 1.0f;
}

/* Step the dense parameters of a model of vectors, each at a rate that fits its size. */
static void learn_tensors(thr_text_trainer *trainer, const thr_optimiser *adam) {
    const thr_tower_config *config = &trainer->model.config;
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++)
        for (size_t p = 0; p < thr_text_model_n_tensors(config, side); p++) {
            const thr_tensor_shape shape = thr_text_model_tensor_shape(config, p);
            const size_t at = (size_t)(trainer->model.tensors[side][p] - trainer->dense.values);
            float *const slots[THR_WEIGHTS_SLOTS] = {trainer->dense.slots[0] + at, trainer->dense.slots[1] + at};
            thr_optimiser own = *adam;
            own.rate *= scale_of(config, p);
            thr_nn_optimiser_step(trainer->context->kernels, &own, trainer->dense.values + at,
                                  trainer->dense.gradients + at, slots, (size_t)shape.n_rows * shape.n_columns);
        }
}

/* Apply the optimiser to all weights. */
static thr_status learn(thr_text_trainer *trainer, thr_error *err) {
    thr_context *context = trainer->context;
    const thr_tower_config *config = &trainer->model.config;
    const thr_optimiser adam = thr_text_trainer_optimiser(trainer),
                        dense_adam = thr_text_trainer_dense_optimiser(trainer);
    if (thr_model_reads_vectors(config))
        learn_tensors(trainer, &dense_adam);
    else
        thr_nn_optimiser_step(context->kernels, &dense_adam, trainer->dense.values, trainer->dense.gradients,
                              trainer->dense.slots, trainer->dense.n);
    for (size_t i = 0; i < thr_model_n_tables(config); i++) {
        const thr_batch_words *words = &trainer->scratch.batch.tables[i];
        const thr_bags bags = thr_batch_bags(words);
        THR_TRY(thr_nn_bags_transpose(context, &bags, trainer->model.grams.n, &trainer->scratch.transposed, err));
        const thr_bags_table table = {trainer->tables[i].values, trainer->tables[i].slots, thr_model_n_columns(config)};
        THR_TRY(thr_nn_bags_backward(context, &trainer->scratch.transposed, words->d_vectors, &adam, &table, err));
    }
    return THR_OK;
}

thr_status thr_text_trainer_step_on_cpu(void *user, const uint32_t *numbers, double *loss, thr_error *err) {
    thr_text_trainer *trainer = user;
    thr_context *context = trainer->context;
    const thr_text_model *model = thr_trainer_model(trainer);
    const thr_tower_config *config = &model->config;
    const size_t n = trainer->options.batch;
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
        return thr_text_trainer_diverged(trainer, err);
    memset(trainer->dense.gradients, 0, trainer->dense.n * sizeof *trainer->dense.gradients);
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
        const thr_side_gradients to = {.slope = thr_text_trainer_slope(trainer),
                                       .d_embedding = trainer->scratch.d_embeddings[side],
                                       .d_tensors = trainer->d_tensors[side],
                                       .d_vectors = thr_batch_table(config, &trainer->scratch.batch, side)->d_vectors,
                                       .workspace = &trainer->scratch.back};
        const thr_side_input input = thr_text_trainer_input(trainer, side, n);
        thr_text_side_backward(context, model, side, &input, &trainer->scratch.passes[side], &to);
    }
    return learn(trainer, err);
}
