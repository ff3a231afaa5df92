/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step.c - one training step: scores, loss, backward pass, and the optimisers.
 *
 * Let g_ra be the gradient by the score of request r's ad a. d_v of a user is the sum of g_ra v_a over its ads
 * (scores.c). d_v of an item is the sum of g_ra v_u over the requests that show it: the requests' ads are bags with
 * weights g, transposed to bags of requests by item.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/minmax.h"
#include "nn/dense.h"
#include "dual_tower/trainer.h"

/* ------------------------------------------------------------------------------------------------ optimisers */

/* Adam's rate decays linearly to 0 over the steps of all epochs. */
static thr_optimiser make_adam(const thr_dual_trainer *t, float rate) {
    thr_optimiser adam;
    thr_nn_optimiser_init(&adam, THR_OPTIMISER_ADAM);
    adam.rate = thr_training_rate(&t->base, rate);
    adam.step = t->base.state.step + 1;
    return adam;
}

/*
 * FTRL gets the gradient of the sum over a batch, not of the mean: beta is meant for gradients of single requests.
 */
static thr_optimiser make_ftrl(const thr_dual_trainer *t, float rate) {
    thr_optimiser ftrl;
    thr_nn_optimiser_init(&ftrl, THR_OPTIMISER_FTRL);
    ftrl.rate = rate;
    ftrl.l1 = t->options.l1;
    ftrl.l2 = t->options.l2;
    ftrl.gradient_scale = (float)t->options.run.batch;
    return ftrl;
}

thr_optimiser thr_dual_dense_optimiser(const thr_dual_trainer *trainer) {
    return make_adam(trainer, trainer->options.run.rate);
}

thr_optimiser thr_dual_table_optimiser(const thr_dual_trainer *trainer) {
    const float rate = trainer->options.embedding_rate;
    return trainer->options.optimiser == THR_DUAL_FTRL ? make_ftrl(trainer, rate) : make_adam(trainer, rate);
}

thr_optimiser thr_dual_hits_optimiser(const thr_dual_trainer *trainer) {
    return make_ftrl(trainer, trainer->options.hits_rate);
}

/* ------------------------------------------------------------------------------------------------ backward */

static size_t most_scratch(const thr_dual_trainer *t) {
    size_t most = 0;
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
        const thr_tensor_list list = thr_dual_tensors(&t->model, side);
        for (size_t p = 0; p < list.n; p++) {
            const size_t n = thr_nn_dense_scratch(list.shapes[p].n_rows, list.shapes[p].n_columns);
            most = THR_MAX(n, most);
        }
    }
    return most;
}

/* Reserve memory of the backward pass. Both sides' d_inputs are kept until the tables' optimisers have used them. */
static thr_status make_room(thr_dual_trainer *t, thr_error *err) {
    thr_context *context = t->base.context;
    thr_dual_back *b = &t->back;
    const thr_dual_config *config = &t->model.config;
    const size_t n_users = t->scores.batch.n, n_items = t->scores.batch.n_items;
    const size_t n = THR_MAX(n_users, n_items);
    const size_t n_inputs =
        n_users * thr_dual_n_inputs(&t->model, THR_SIDE_QUERY) + n_items * thr_dual_n_inputs(&t->model, THR_SIDE_ITEM);
    THR_TRY(thr_grow(context, &b->d_vectors, &b->d_vectors_capacity, n_items * thr_dual_n_vector(config), sizeof(float),
                     "a batch", err));
    THR_TRY(
        thr_grow(context, &b->d_outputs, &b->d_outputs_capacity, n * config->n_dims, sizeof(float), "a batch", err));
    THR_TRY(thr_grow(context, &b->d_products, &b->d_products_capacity, n * config->n_products, sizeof(float), "a batch",
                     err));
    THR_TRY(
        thr_grow(context, &b->d_hidden, &b->d_hidden_capacity, n * config->n_hidden, sizeof(float), "a batch", err));
    THR_TRY(thr_grow(context, &b->d_inputs, &b->d_inputs_capacity, n_inputs, sizeof(float), "a batch", err));
    return b->scratch != NULL ? THR_OK
                              : thr_alloc(context, most_scratch(t), sizeof(float), &b->scratch, "a batch", err);
}

/* Backpropagate d_vectors through the layers of a side to d_inputs. */
static void side_backward(thr_dual_trainer *t, thr_side side, size_t n, const float *d_vectors, float *d_inputs) {
    thr_context *context = t->base.context;
    const thr_dual_config *config = &t->model.config;
    float *const *d_tensors = t->base.d_tensors[side];
    const thr_dual_pass *pass = &t->scores.passes[side];
    thr_dual_back *b = &t->back;
    const size_t n_vector = thr_dual_n_vector(config);
    const thr_dual_layers layers = thr_dual_layers_of(&t->model, side);
    const thr_dense_gradients to_hidden = {.d_x = b->d_hidden,
                                           .d_weights = d_tensors[THR_DUAL_OUTPUT_WEIGHT],
                                           .d_bias = d_tensors[THR_DUAL_OUTPUT_BIAS],
                                           .scratch = b->scratch};
    const thr_dense_gradients to_inputs = {.d_x = d_inputs,
                                           .d_weights = d_tensors[THR_DUAL_HIDDEN_WEIGHT],
                                           .d_bias = d_tensors[THR_DUAL_HIDDEN_BIAS],
                                           .scratch = b->scratch};
    const thr_dense_gradients of_products = {
        .d_x = d_inputs, .add_to_d_x = true, .d_weights = d_tensors[THR_DUAL_PRODUCT_WEIGHT], .scratch = b->scratch};
    for (size_t i = 0; i < n; i++) {
        memcpy(b->d_outputs + i * config->n_dims, d_vectors + i * n_vector, config->n_dims * sizeof(float));
        if (config->n_products != 0)
            memcpy(b->d_products + i * config->n_products, d_vectors + i * n_vector + config->n_dims,
                   config->n_products * sizeof(float));
    }
    thr_nn_dense_backward(context, &layers.output, pass->hidden, b->d_outputs, n, &to_hidden);
    thr_nn_tanh_backward(context, pass->hidden, b->d_hidden, n * config->n_hidden, b->d_hidden);
    thr_nn_dense_backward(context, &layers.hidden, pass->inputs, b->d_hidden, n, &to_inputs);
    if (config->n_products != 0)
        thr_nn_dense_backward(context, &layers.product, pass->inputs, b->d_products, n, &of_products);
}

/* d_inputs of a side: the users' come first, then the items'. */
static float *inputs_of(thr_dual_trainer *t, thr_side side) {
    return t->back.d_inputs +
           (side == THR_SIDE_QUERY ? 0 : t->scores.batch.n * thr_dual_n_inputs(&t->model, THR_SIDE_QUERY));
}

thr_status thr_dual_gradient(thr_dual_trainer *trainer, const uint32_t *numbers, size_t n, double *loss,
                             thr_error *err) {
    thr_context *context = trainer->base.context;
    thr_dual_scores *scores = &trainer->scores;
    thr_dual_back *back = &trainer->back;
    const thr_dual_data data = thr_dual_trainer_data(trainer);
    const thr_rank_loss rank = thr_dual_trainer_loss(trainer);
    const size_t n_vector = thr_dual_n_vector(&trainer->model.config);
    const thr_dual_some some = {&trainer->requests, numbers, n};
    THR_TRY(thr_dual_scores_run(context, &data, &some, &rank, true, scores, err));
    *loss = 0;
    for (size_t r = 0; r < n; r++)
        *loss += scores->losses[r];
    *loss /= (double)n;
    THR_TRY(make_room(trainer, err));
    memset(trainer->base.dense.gradients, 0, trainer->base.dense.n * sizeof *trainer->base.dense.gradients);
    const thr_bags ads = {
        .n_bags = n, .offsets = scores->batch.ad_offsets, .rows = scores->batch.ads, .weights = scores->d_scores};
    side_backward(trainer, THR_SIDE_QUERY, n, scores->d_users, inputs_of(trainer, THR_SIDE_QUERY));
    THR_TRY(thr_nn_bags_transpose(context, &ads, scores->batch.n_items, &back->ads, err));
    const thr_bags requests = thr_bags_of_rows(&back->ads); /* every item of the batch is an ad of some request */
    thr_nn_bags_forward(context, scores->passes[THR_SIDE_QUERY].vectors, n_vector, &requests, back->d_vectors);
    side_backward(trainer, THR_SIDE_ITEM, scores->batch.n_items, back->d_vectors, inputs_of(trainer, THR_SIDE_ITEM));
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ steps */

static thr_status step_tables(thr_dual_trainer *t, thr_error *err) {
    const thr_optimiser optimiser = thr_dual_table_optimiser(t);
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
        const thr_dual_vocabulary *words = &t->model.words[side];
        const thr_bags bags = thr_dual_bags_view(&t->scores.batch.examples[side], thr_dual_n_fields(words));
        THR_TRY(thr_nn_bags_transpose(t->base.context, &bags, thr_dual_n_words(words), &t->back.words, err));
        const thr_bags_table table = {t->base.tables[side].values, t->base.tables[side].slots,
                                      t->model.config.n_embedding};
        THR_TRY(thr_nn_bags_backward(t->base.context, &t->back.words, inputs_of(t, side), &optimiser, &table, err));
    }
    return THR_OK;
}

/* A history's word updates its own weight and its field's by the same gradient: two entries in its request's bag. */
static thr_status list_hits(thr_dual_trainer *t, thr_bags *bags, thr_error *err) {
    thr_context *context = t->base.context;
    const thr_dual_batch *batch = &t->scores.batch;
    thr_dual_back *b = &t->back;
    const size_t n_words = thr_dual_n_words(&t->model.words[THR_SIDE_QUERY]);
    const size_t most = 2 * batch->history_offsets[batch->n], n_old = b->ones_capacity;
    THR_TRY(thr_grow(context, &b->hit_offsets, &b->hit_offsets_capacity, batch->n + 1, sizeof *b->hit_offsets, "hits",
                     err));
    THR_TRY(thr_grow(context, &b->hit_rows, &b->hit_rows_capacity, most, sizeof *b->hit_rows, "hits", err));
    THR_TRY(thr_grow(context, &b->hit_weights, &b->hit_weights_capacity, most, sizeof *b->hit_weights, "hits", err));
    THR_TRY(thr_grow(context, &b->ones, &b->ones_capacity, batch->n, sizeof *b->ones, "hits", err));
    for (size_t i = n_old; i < b->ones_capacity; i++)
        b->ones[i] = 1.0f;
    size_t n = 0;
    for (size_t r = 0; r < batch->n; r++) {
        b->hit_offsets[r] = n;
        for (size_t h = batch->history_offsets[r]; h < batch->history_offsets[r + 1]; h++) {
            const thr_dual_history *word = &batch->history[h];
            const float gradient = t->scores.d_history[h];
            if (gradient == 0)
                continue;
            b->hit_rows[n] = (uint32_t)(n_words + word->field);
            b->hit_weights[n++] = gradient;
            if (word->row == THR_DUAL_NONE)
                continue;
            b->hit_rows[n] = word->row;
            b->hit_weights[n++] = gradient;
        }
    }
    b->hit_offsets[batch->n] = n;
    *bags = (thr_bags){.n_bags = batch->n, .offsets = b->hit_offsets, .rows = b->hit_rows, .weights = b->hit_weights};
    return THR_OK;
}

static thr_status step_hits(thr_dual_trainer *t, thr_error *err) {
    const thr_optimiser optimiser = thr_dual_hits_optimiser(t);
    thr_bags bags;
    THR_TRY(list_hits(t, &bags, err));
    THR_TRY(thr_nn_bags_transpose(t->base.context, &bags, t->base.hits.n, &t->back.words, err));
    const thr_bags_table hits = {t->base.hits.values, t->base.hits.slots, 1};
    return thr_nn_bags_backward(t->base.context, &t->back.words, t->back.ones, &optimiser, &hits, err);
}

thr_status thr_dual_step_on_cpu(void *user, const uint32_t *numbers, double *loss, thr_error *err) {
    thr_dual_trainer *trainer = user;
    const thr_optimiser adam = thr_dual_dense_optimiser(trainer);
    THR_TRY(thr_dual_gradient(trainer, numbers, trainer->options.run.batch, loss, err));
    if (!isfinite(*loss))
        return thr_dual_diverged(trainer, err);
    thr_nn_optimiser_step(trainer->base.context->kernels, &adam, trainer->base.dense.values,
                          trainer->base.dense.gradients, trainer->base.dense.slots, trainer->base.dense.n);
    THR_TRY(step_tables(trainer, err));
    return trainer->model.config.hits ? step_hits(trainer, err) : THR_OK;
}

thr_status thr_dual_diverged(const thr_dual_trainer *trainer, thr_error *err) {
    const thr_dual_train_options *options = &trainer->options;
    return thr_training_diverged(&trainer->base,
                                 fmaxf(fmaxf(options->run.rate, options->embedding_rate), options->hits_rate), err);
}
