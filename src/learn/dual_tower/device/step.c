/* SPDX-License-Identifier: Apache-2.0 */
/* step.c - one step on a device: dual_tower/step.c and scores.c, operation by operation, on one stream. */
#include <math.h>

#include "base/error.h"
#include "dual_tower/device/learner.h"
#include "nn/adam_op.h"
#include "nn/dense_op.h"

/* A dense layer, and where its activations and gradients are; rows of the output are y_row floats apart. */
typedef struct layer {
    thr_dense dense;
    float *d_weights, *d_bias; /* d_bias NULL: none */
    const float *x, *d_y;
    float *y, *d_x;
    size_t y_row;
    bool add_to_d_x, tanh;
} layer;

typedef struct side_layers {
    layer hidden, output, product;
} side_layers;

static layer layer_of(const thr_dual_learner *l, const thr_dual_trainer *t, thr_side side, thr_dual_tensor weight,
                      thr_dense dense) {
    const bool biased = dense.bias != NULL;
    dense.weights = thr_learner_tensor(&l->base, &t->base, side, weight);
    dense.bias = biased ? thr_learner_tensor(&l->base, &t->base, side, weight + 1) : NULL;
    return (layer){.dense = dense,
                   .d_weights = thr_learner_gradient(&l->base, &t->base, side, weight),
                   .d_bias = biased ? thr_learner_gradient(&l->base, &t->base, side, weight + 1) : NULL,
                   .y_row = dense.n_out};
}

static side_layers layers_of(const thr_dual_learner *l, const thr_dual_trainer *t, thr_side side) {
    const thr_dual_device_side *s = &l->sides[side];
    const thr_dual_layers host = thr_dual_layers_of(&t->model, side);
    const size_t n_vector = thr_dual_n_vector(&t->model.config), n_dims = t->model.config.n_dims;
    side_layers all = {.hidden = layer_of(l, t, side, THR_DUAL_HIDDEN_WEIGHT, host.hidden),
                       .output = layer_of(l, t, side, THR_DUAL_OUTPUT_WEIGHT, host.output)};
    all.hidden.x = s->inputs;
    all.hidden.y = s->hidden;
    all.hidden.tanh = true;
    all.hidden.d_y = s->d_hidden;
    all.hidden.d_x = s->d_inputs;
    all.output.x = s->hidden;
    all.output.y = s->vectors;
    all.output.d_y = s->d_vectors;
    all.output.d_x = s->d_hidden;
    all.output.y_row = n_vector;
    if (t->model.config.n_products == 0)
        return all;
    all.product = layer_of(l, t, side, THR_DUAL_PRODUCT_WEIGHT, host.product);
    all.product.x = s->inputs;
    all.product.y = s->vectors + n_dims;
    all.product.d_y = s->d_vectors + n_dims;
    all.product.d_x = s->d_inputs;
    all.product.y_row = n_vector;
    all.product.add_to_d_x = true;
    return all;
}

static thr_status forward(const thr_dual_learner *l, const layer *a, size_t n, thr_error *err) {
    thr_layer_op op = thr_nn_dense_op(&a->dense, a->x, a->dense.n_in, n, a->y);
    op.c_row = (uint32_t)a->y_row;
    op.tanh = a->tanh;
    return l->base.backend->layer(l->base.stream, &op, err);
}

/* d_x, then x^T d_y, and the sum of d_y as its product with ones. */
static thr_status backward(const thr_dual_learner *l, const layer *a, uint32_t n, thr_error *err) {
    const uint32_t n_in = (uint32_t)a->dense.n_in, n_out = (uint32_t)a->dense.n_out, y_row = (uint32_t)a->y_row;
    const thr_layer_op d_x = {.c = a->d_x,
                              .a = a->d_y,
                              .b = a->dense.weights,
                              .c_row = n_in,
                              .a_row = y_row,
                              .a_step = 1,
                              .b_step = 1,
                              .b_column = n_out,
                              .n_rows = n,
                              .n_columns = n_in,
                              .n_inner = n_out,
                              .add = a->add_to_d_x};
    const thr_layer_op d_weights = {.c = a->d_weights,
                                    .a = a->x,
                                    .b = a->d_y,
                                    .c_row = n_out,
                                    .a_row = 1,
                                    .a_step = n_in,
                                    .b_step = y_row,
                                    .b_column = 1,
                                    .n_rows = n_in,
                                    .n_columns = n_out,
                                    .n_inner = n};
    thr_layer_op d_bias = d_weights;
    d_bias.c = a->d_bias;
    d_bias.a = l->one;
    d_bias.a_row = d_bias.a_step = 0;
    d_bias.n_rows = 1;
    THR_TRY(l->base.backend->layer(l->base.stream, &d_x, err));
    THR_TRY(l->base.backend->layer(l->base.stream, &d_weights, err));
    return a->d_bias != NULL ? l->base.backend->layer(l->base.stream, &d_bias, err) : THR_OK;
}

static thr_status side_forward(const thr_dual_learner *l, const thr_dual_trainer *t, thr_side side, thr_error *err) {
    const thr_dual_device_side *s = &l->sides[side];
    const side_layers all = layers_of(l, t, side);
    const thr_gather_op embed = {.table = l->base.tables[side].values,
                                 .offsets = s->words.offsets,
                                 .rows = s->words.rows,
                                 .weights = s->words.weights,
                                 .n_bags = s->words.n,
                                 .n_columns = t->model.config.n_embedding,
                                 .out = s->inputs};
    THR_TRY(l->base.backend->gather(l->base.stream, &embed, err));
    THR_TRY(forward(l, &all.hidden, s->n, err));
    THR_TRY(forward(l, &all.output, s->n, err));
    return t->model.config.n_products != 0 ? forward(l, &all.product, s->n, err) : THR_OK;
}

static thr_status side_backward(const thr_dual_learner *l, const thr_dual_trainer *t, thr_side side, thr_error *err) {
    const thr_dual_device_side *s = &l->sides[side];
    const side_layers all = layers_of(l, t, side);
    const thr_plane_back_op tanh = {.in = s->hidden,
                                    .out = s->hidden,
                                    .d_out = s->d_hidden,
                                    .d_in = s->d_hidden,
                                    .weight = 1,
                                    .estimator = THR_DEVICE_TANH,
                                    .n = (uint64_t)s->n * t->model.config.n_hidden};
    THR_TRY(backward(l, &all.output, s->n, err));
    THR_TRY(l->base.backend->plane_back(l->base.stream, &tanh, err));
    THR_TRY(backward(l, &all.hidden, s->n, err));
    return t->model.config.n_products != 0 ? backward(l, &all.product, s->n, err) : THR_OK;
}

/* Scores and losses; then the gradients by the vectors of users and of items. */
static thr_status run_requests(thr_dual_learner *l, thr_error *err) {
    thr_requests_op *op = &l->requests;
    const thr_dual_device_side *users = &l->sides[THR_SIDE_QUERY], *items = &l->sides[THR_SIDE_ITEM];
    const thr_gather_op to_users = {.table = items->vectors,
                                    .offsets = op->ad_offsets,
                                    .rows = op->ads,
                                    .weights = op->d_scores,
                                    .n_bags = op->n_requests,
                                    .n_columns = op->n_vector,
                                    .out = users->d_vectors};
    const thr_gather_op turn = {
        .table = op->d_scores, .rows = l->shown_ads, .n_bags = l->n_ads, .n_columns = 1, .out = l->turned};
    const thr_gather_op to_items = {.table = users->vectors,
                                    .offsets = l->shown.offsets,
                                    .rows = l->shown.bags,
                                    .weights = l->turned,
                                    .n_bags = l->shown.n,
                                    .n_columns = op->n_vector,
                                    .out = items->d_vectors};
    op->users = users->vectors;
    op->items = items->vectors;
    THR_TRY(l->base.backend->requests(l->base.stream, op, err));
    THR_TRY(l->base.backend->gather(l->base.stream, &to_users, err));
    THR_TRY(l->base.backend->gather(l->base.stream, &turn, err));
    return l->base.backend->gather(l->base.stream, &to_items, err);
}

/* ------------------------------------------------------------------------------------------------ optimisers */

static thr_status step_rows(const thr_dual_learner *l, const thr_optimiser *optimiser, thr_adam_rows_op *rows,
                            thr_error *err) {
    const thr_optimiser_pass pass = thr_nn_optimiser_start(l->base.context->kernels, optimiser);
    if (optimiser->kind == THR_OPTIMISER_FTRL) {
        const thr_ftrl_rows_op op = {*rows,          pass.ftrl.scale, pass.ftrl.alpha,
                                     pass.ftrl.beta, pass.ftrl.l1,    pass.ftrl.l2};
        return l->base.backend->ftrl_rows(l->base.stream, &op, err);
    }
    rows->adam = thr_nn_adam_op(&pass.adam);
    return l->base.backend->adam_rows(l->base.stream, rows, err);
}

/* Step the rows of a table that the bags touch; d_out has n_columns floats a bag. */
static thr_adam_rows_op rows_of(const thr_device_weights *table, const thr_dual_device_bags *touched,
                                const float *d_out, uint32_t n_columns) {
    return (thr_adam_rows_op){.table = table->values,
                              .m = table->slots[0],
                              .v = table->slots[1],
                              .d_out = d_out,
                              .rows = touched->rows,
                              .offsets = touched->offsets,
                              .bags = touched->bags,
                              .bag_weights = touched->weights,
                              .n_rows = touched->n,
                              .n_columns = n_columns};
}

static thr_status learn(const thr_dual_learner *l, const thr_dual_trainer *t, thr_error *err) {
    const thr_optimiser dense = thr_dual_dense_optimiser(t), tables = thr_dual_table_optimiser(t),
                        hits = thr_dual_hits_optimiser(t);
    const thr_optimiser_pass pass = thr_nn_optimiser_start(l->base.context->kernels, &dense);
    const thr_adam_op op = {.weights = l->base.dense.values,
                            .m = l->base.dense.slots[0],
                            .v = l->base.dense.slots[1],
                            .gradient = l->base.dense.gradients,
                            .n = t->base.dense.n,
                            .adam = thr_nn_adam_op(&pass.adam)};
    THR_TRY(l->base.backend->adam(l->base.stream, &op, err));
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
        thr_adam_rows_op rows = rows_of(&l->base.tables[side], &l->sides[side].touched, l->sides[side].d_inputs,
                                        t->model.config.n_embedding);
        THR_TRY(step_rows(l, &tables, &rows, err));
    }
    if (l->requests.n_history == 0)
        return THR_OK;
    thr_adam_rows_op rows = rows_of(&l->base.hits, &l->touched_hits, l->requests.d_history, 1);
    return step_rows(l, &hits, &rows, err);
}

thr_status thr_dual_device_step(void *learner, void *user, const uint32_t *numbers, double *loss, thr_error *err) {
    thr_dual_learner *l = learner;
    thr_dual_trainer *trainer = user;
    const size_t n = trainer->options.run.batch;
    THR_TRY(thr_dual_device_batch_put(l, trainer, numbers, err));
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++)
        THR_TRY(side_forward(l, trainer, side, err));
    THR_TRY(run_requests(l, err));
    THR_TRY(
        l->base.backend->clear(l->base.stream, l->base.dense.gradients, trainer->base.dense.n * sizeof(float), err));
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++)
        THR_TRY(side_backward(l, trainer, side, err));
    THR_TRY(learn(l, trainer, err));
    double *const losses = l->on_host.memory;
    THR_TRY(l->base.backend->download(l->base.stream, losses, l->requests.losses, n * sizeof *losses, err));
    THR_TRY(l->base.backend->wait(l->base.stream, err));
    *loss = 0;
    for (size_t r = 0; r < n; r++)
        *loss += losses[r];
    *loss /= (double)n;
    return isfinite(*loss) ? THR_OK : thr_dual_diverged(trainer, err);
}
