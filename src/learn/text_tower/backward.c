/* SPDX-License-Identifier: Apache-2.0 */
/* backward.c - backpropagation through a side: dense layers, planes and its input, on the CPU. */
#include "text_tower/backward.h"

#include <string.h>

#include "base/error.h"
#include "nn/dense.h"

/*
 * Floats for each text: the gradients of f, of r_t and of a sign's argument, and the scratch memory of
 * thr_nn_dense_backward.
 */
static size_t floats_a_text(const thr_tower_config *config) {
    return 2 * (size_t)config->n_pooled + config->n_dims;
}

thr_status thr_text_backward_reserve(thr_context *context, const thr_tower_config *config, size_t n_texts,
                                     thr_text_backward_workspace *workspace, thr_error *err) {
    if (n_texts <= workspace->capacity)
        return THR_OK;
    thr_text_backward_free(context, workspace);
    THR_TRY(thr_alloc(context, n_texts * floats_a_text(config) + thr_nn_dense_scratch(config->n_pooled, config->n_dims),
                      sizeof *workspace->memory, &workspace->memory, "a batch", err));
    workspace->capacity = n_texts;
    return THR_OK;
}

void thr_text_backward_free(thr_context *context, thr_text_backward_workspace *workspace) {
    thr_release(context, workspace->memory);
    *workspace = (thr_text_backward_workspace){0};
}

/* The arguments of a backward pass that all steps share. */
typedef struct backward_pass {
    thr_context *context;
    const thr_text_model *model;
    thr_side side;
    const thr_pass *pass;
    const thr_side_gradients *to;
    size_t n;
    float *d_pooled, *d_rebuilt, *d_before, *scratch;
} backward_pass;

/* Backward through the layer y = x W + b, whose tensors are `weight` and weight + 1. */
static void through_layer(const backward_pass *way, size_t weight, const float *x, const float *d_y, bool add,
                          float *d_x) {
    const thr_dense layer = thr_side_layer(way->model, way->side, weight);
    const thr_dense_gradients to = {.d_x = d_x,
                                    .add_to_d_x = add,
                                    .d_weights = way->to->d_tensors[weight],
                                    .d_bias = way->to->d_tensors[weight + 1],
                                    .scratch = way->scratch};
    thr_nn_dense_backward(way->context, &layer, x, d_y, way->n, &to);
}

/*
 * Backward through step t: the gradient of p_t is that of the embedding times the plane's weight. It adds to the
 * gradients of f and of e_(t-1); the latter shares d_sum.
 */
static void through_step(const backward_pass *way, uint32_t t, float *d_sum) {
    const thr_tower_config *config = &way->model->config;
    const thr_slope slope = way->to->slope;
    const size_t n_pooled = config->n_pooled, n_dims = config->n_dims;
    const float weight = thr_step_weight(config, t);
    for (size_t i = 0; i < way->n * n_dims; i++)
        way->d_before[i] = weight * d_sum[i];
    thr_nn_sign_backward(way->context, slope.estimator, slope.slope, way->pass->before[t], way->d_before,
                         way->n * n_dims, way->d_before);
    through_layer(way, thr_text_step_tensor(config, t, THR_TEXT_RESIDUAL_WEIGHT), way->pass->residual[t - 1],
                  way->d_before, false, way->d_rebuilt);
    for (size_t i = 0; i < way->n * n_pooled; i++) {
        way->d_pooled[i] += way->d_rebuilt[i];
        way->d_rebuilt[i] = -way->d_rebuilt[i];
    }
    thr_nn_tanh_backward(way->context, way->pass->rebuilt[t - 1], way->d_rebuilt, way->n * n_pooled, way->d_rebuilt);
    through_layer(way, thr_text_step_tensor(config, t, THR_TEXT_REBUILD_WEIGHT), way->pass->sums[t - 1], way->d_rebuilt,
                  true, d_sum);
}

/* From the gradient of f to that of the input's bias, and of the words' vectors. */
static void through_input(const backward_pass *way, const thr_side_input *input) {
    const size_t n_pooled = way->model->config.n_pooled;
    float *d_bias = way->to->d_tensors[THR_TEXT_POOL_BIAS];
    if (input->texts == NULL) {
        for (size_t i = 0; i < way->n; i++)
            for (size_t d = 0; d < n_pooled; d++)
                d_bias[d] += way->d_pooled[i * n_pooled + d];
        return;
    }
    thr_nn_tanh_backward(way->context, way->pass->pooled, way->d_pooled, way->n * n_pooled, way->d_pooled);
    thr_nn_windows_backward(way->context, input->texts, way->pass->where, way->d_pooled, n_pooled, way->to->d_vectors,
                            d_bias);
}

void thr_text_side_backward(thr_context *context, const thr_text_model *model, thr_side side,
                            const thr_side_input *input, const thr_pass *pass, const thr_side_gradients *to) {
    const thr_tower_config *config = &model->config;
    const thr_slope slope = to->slope;
    float *memory = to->workspace->memory;
    const size_t n = input->n, n_pooled = config->n_pooled, n_dims = config->n_dims;
    const backward_pass way = {.context = context,
                               .model = model,
                               .side = side,
                               .pass = pass,
                               .to = to,
                               .n = n,
                               .d_pooled = memory,
                               .d_rebuilt = memory + n * n_pooled,
                               .d_before = memory + 2 * n * n_pooled,
                               .scratch = memory + n * floats_a_text(config)};
    memset(way.d_pooled, 0, n * n_pooled * sizeof *way.d_pooled);
    for (uint32_t t = thr_side_steps(config, side); t >= 1; t--)
        through_step(&way, t, to->d_embedding);
    if (thr_side_bits(config, side) == THR_FLOAT_BITS && thr_model_reads_vectors(config))
        memcpy(way.d_before, to->d_embedding, n * n_dims * sizeof(float));
    else if (thr_side_bits(config, side) == THR_FLOAT_BITS)
        thr_nn_tanh_backward(context, pass->sums[0], to->d_embedding, n * n_dims, way.d_before);
    else
        thr_nn_sign_backward(context, slope.estimator, slope.slope, pass->before[0], to->d_embedding, n * n_dims,
                             way.d_before);
    through_layer(&way, THR_TEXT_BASE_WEIGHT, pass->pooled, way.d_before, true, way.d_pooled);
    through_input(&way, input);
}
