/* SPDX-License-Identifier: Apache-2.0 */
/*
 * side.c - forward and backward pass of a side on a device; the same layers as forward.c and backward.c (equations in
 * model.h).
 */
#include "text_tower/device/learner.h"

#include "base/error.h"

_Static_assert((int)THR_DEVICE_VARIANT == (int)THR_ESTIMATOR_VARIANT &&
                   (int)THR_DEVICE_STRAIGHT == (int)THR_ESTIMATOR_STRAIGHT &&
                   (int)THR_DEVICE_ANNEALED == (int)THR_ESTIMATOR_TANH,
               "estimators have one number each");

/* The arguments of a pass that all layers share. */
typedef struct way {
    const thr_device_learner *learner;
    const thr_backend *backend;
    thr_stream *stream;
    const thr_device_side *side;
    const thr_tower_config *config;
    uint32_t n, n_pooled, n_dims;
    bool as_float;
    thr_slope slope; /* of the backward pass */
} way;

static way begin(const thr_device_learner *learner, const thr_text_model *model, thr_side side) {
    return (way){.learner = learner,
                 .backend = learner->base.backend,
                 .stream = learner->base.stream,
                 .side = &learner->sides[side],
                 .config = &model->config,
                 .n = learner->n,
                 .n_pooled = model->config.n_pooled,
                 .n_dims = model->config.n_dims,
                 .as_float = thr_side_bits(&model->config, side) == THR_FLOAT_BITS};
}

/* --------------------------------------------------------------------------------------------- forward */

/* y = x W + b; the layer's tensors are `weight` and weight + 1. */
static thr_status layer(const way *w, size_t weight, const float *x, uint32_t n_in, uint32_t n_out, float *y,
                        thr_error *err) {
    const float *const *tensors = w->side->tensors;
    THR_TRY(w->backend->fill_rows(
        w->stream, &(thr_fill_rows_op){.x = y, .row = tensors[weight + 1], .n_rows = w->n, .n_columns = n_out}, err));
    return w->backend->product(
        w->stream,
        &(thr_product_op){
            .c = y, .a = x, .b = tensors[weight], .n_rows = w->n, .n_columns = n_out, .n_inner = n_in, .add = true},
        err);
}

/* e_t from e_(t-1) and the arguments of plane t's signs; of a float side, tanh of the arguments. */
static thr_status add_plane(const way *w, uint32_t t, thr_error *err) {
    const thr_device_side *side = w->side;
    return w->backend->plane(w->stream,
                             &(thr_plane_op){.in = side->before[t],
                                             .last = t == 0 ? NULL : side->sums[t - 1],
                                             .out = side->sums[t],
                                             .weight = t == 0 ? 1.0f : thr_step_weight(w->config, t),
                                             .as_float = w->as_float,
                                             .n = (uint64_t)w->n * w->n_dims,
                                             .broken = w->learner->broken},
                             err);
}

static thr_status add_step(const way *w, uint32_t t, thr_error *err) {
    const thr_device_side *side = w->side;
    THR_TRY(layer(w, thr_text_step_tensor(w->config, t, THR_TEXT_REBUILD_WEIGHT), side->sums[t - 1], w->n_dims,
                  w->n_pooled, side->rebuilt[t - 1], err));
    THR_TRY(w->backend->residual(w->stream,
                                 &(thr_residual_op){.pooled = side->pooled,
                                                    .rebuilt = side->rebuilt[t - 1],
                                                    .residual = side->residual[t - 1],
                                                    .n = (uint64_t)w->n * w->n_pooled},
                                 err));
    THR_TRY(layer(w, thr_text_step_tensor(w->config, t, THR_TEXT_RESIDUAL_WEIGHT), side->residual[t - 1], w->n_pooled,
                  w->n_dims, side->before[t], err));
    return add_plane(w, t, err);
}

thr_status thr_text_device_side_forward(const thr_device_learner *learner, const thr_text_model *model, thr_side number,
                                        thr_error *err) {
    const way w = begin(learner, model, number);
    const thr_device_side *side = w.side;
    THR_TRY(w.backend->windows(w.stream,
                               &(thr_windows_op){.texts = side->texts,
                                                 .vectors = thr_device_side_table(learner, w.config, number)->vectors,
                                                 .bias = side->tensors[THR_TEXT_POOL_BIAS],
                                                 .n_columns = w.n_pooled,
                                                 .pooled = side->pooled,
                                                 .where = side->where},
                               err));
    THR_TRY(layer(&w, THR_TEXT_BASE_WEIGHT, side->pooled, w.n_pooled, w.n_dims, side->before[0], err));
    THR_TRY(add_plane(&w, 0, err));
    for (uint32_t t = 1; t <= thr_side_steps(w.config, number); t++)
        THR_TRY(add_step(&w, t, err));
    return THR_OK;
}

/* --------------------------------------------------------------------------------------------- backward */

/*
 * Backward through the layer y = x W + b, whose tensors are `weight` and weight + 1. With add, d_x is added to the
 * memory.
 */
static thr_status through_layer(const way *w, size_t weight, const float *x, const float *d_y, bool add, float *d_x,
                                thr_error *err) {
    const thr_device_side *side = w->side;
    const bool rebuild = thr_text_is_rebuild(weight);
    const uint32_t n_in = rebuild ? w->n_dims : w->n_pooled, n_out = rebuild ? w->n_pooled : w->n_dims;
    THR_TRY(w->backend->product(w->stream,
                                &(thr_product_op){.c = d_x,
                                                  .a = d_y,
                                                  .b = side->tensors[weight],
                                                  .n_rows = w->n,
                                                  .n_columns = n_in,
                                                  .n_inner = n_out,
                                                  .b_transposed = true,
                                                  .add = add},
                                err));
    THR_TRY(w->backend->product(w->stream,
                                &(thr_product_op){.c = side->d_tensors[weight],
                                                  .a = x,
                                                  .b = d_y,
                                                  .n_rows = n_in,
                                                  .n_columns = n_out,
                                                  .n_inner = w->n,
                                                  .a_transposed = true,
                                                  .add = true},
                                err));
    return w->backend->sum_rows(
        w->stream, &(thr_sum_rows_op){.sum = side->d_tensors[weight + 1], .x = d_y, .n_rows = w->n, .n_columns = n_out},
        err);
}

/* The gradient of the sign's arguments from the gradient of e_t. */
static thr_status through_plane(const way *w, uint32_t t, thr_error *err) {
    const thr_device_side *side = w->side;
    return w->backend->plane_back(
        w->stream,
        &(thr_plane_back_op){.in = side->before[t],
                             .out = side->sums[t],
                             .d_out = side->d_embedding,
                             .d_in = w->learner->d_before,
                             .weight = t == 0 ? 1.0f : thr_step_weight(w->config, t),
                             .slope = w->slope.slope,
                             .estimator = w->as_float ? THR_DEVICE_TANH : (thr_device_estimator)w->slope.estimator,
                             .n = (uint64_t)w->n * w->n_dims},
        err);
}

/* Backward through step t: adds to the gradients of f and of e_(t-1); the latter shares the array of e_t's. */
static thr_status through_step(const way *w, uint32_t t, thr_error *err) {
    const thr_device_side *side = w->side;
    const thr_device_learner *learner = w->learner;
    THR_TRY(through_plane(w, t, err));
    THR_TRY(through_layer(w, thr_text_step_tensor(w->config, t, THR_TEXT_RESIDUAL_WEIGHT), side->residual[t - 1],
                          learner->d_before, false, learner->d_rebuilt, err));
    THR_TRY(w->backend->residual_back(w->stream,
                                      &(thr_residual_back_op){.rebuilt = side->rebuilt[t - 1],
                                                              .d_residual = learner->d_rebuilt,
                                                              .d_pooled = learner->d_pooled,
                                                              .n = (uint64_t)w->n * w->n_pooled},
                                      err));
    return through_layer(w, thr_text_step_tensor(w->config, t, THR_TEXT_REBUILD_WEIGHT), side->sums[t - 1],
                         learner->d_rebuilt, true, side->d_embedding, err);
}

static thr_status through_windows(const way *w, const thr_device_table *table, thr_error *err) {
    const thr_device_side *side = w->side;
    THR_TRY(w->backend->windows_back(w->stream,
                                     &(thr_windows_back_op){.texts = side->texts,
                                                            .first = side->first,
                                                            .positions = side->positions,
                                                            .text_of = side->text_of,
                                                            .n_words = table->n_words,
                                                            .n_columns = w->n_pooled,
                                                            .pooled = side->pooled,
                                                            .where = side->where,
                                                            .d_pooled = w->learner->d_pooled,
                                                            .d_vectors = table->d_vectors},
                                     err));
    return w->backend->sum_rows(w->stream,
                                &(thr_sum_rows_op){.sum = side->d_tensors[THR_TEXT_POOL_BIAS],
                                                   .x = w->learner->d_pooled,
                                                   .n_rows = w->n,
                                                   .n_columns = w->n_pooled},
                                err);
}

thr_status thr_text_device_side_backward(const thr_device_learner *learner, const thr_text_model *model,
                                         thr_side number, thr_slope slope, thr_error *err) {
    way w = begin(learner, model, number);
    w.slope = slope;
    THR_TRY(w.backend->clear(w.stream, learner->d_pooled, (size_t)w.n * w.n_pooled * sizeof(float), err));
    for (uint32_t t = thr_side_steps(w.config, number); t >= 1; t--)
        THR_TRY(through_step(&w, t, err));
    THR_TRY(through_plane(&w, 0, err));
    THR_TRY(through_layer(&w, THR_TEXT_BASE_WEIGHT, w.side->pooled, learner->d_before, true, learner->d_pooled, err));
    return through_windows(&w, thr_device_side_table(learner, w.config, number), err);
}
