/* SPDX-License-Identifier: Apache-2.0 */
/* forward.c - the forward pass of a side, from its input to embeddings (equations in model.h). */
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernel/elementwise.h"
#include "nn/dense.h"
#include "text_tower/model.h"

/* e_t = e_(t-1) + w p_t with p_t = sign(before). */
static void add_plane(float *sum, const float *last, const float *before, float weight, size_t n) {
    for (size_t i = 0; i < n; i++)
        sum[i] = last[i] + (before[i] > 0 ? weight : -weight);
}

/* f = x / |x| + b. A vector shorter than FLT_MIN counts as 0, because dividing by its length could overflow. */
static void take_vectors(thr_context *context, const float *x, size_t n, size_t n_inputs, const float *bias, float *f) {
    for (size_t i = 0; i < n; i++, x += n_inputs, f += n_inputs) {
        const double length = sqrt(context->kernels->sum_squares(x, n_inputs));
        const float scale = length < (double)FLT_MIN ? 0.0f : (float)(1.0 / length);
        for (size_t d = 0; d < n_inputs; d++)
            f[d] = x[d] * scale + bias[d];
    }
}

static void take_input(thr_context *context, const thr_text_model *model, thr_side side, const thr_side_input *input,
                       thr_pass *pass) {
    const size_t n_pooled = model->config.n_pooled;
    const float *bias = model->tensors[side][THR_TEXT_POOL_BIAS];
    if (input->texts == NULL) {
        take_vectors(context, input->vectors, input->n, n_pooled, bias, pass->pooled);
        return;
    }
    thr_nn_windows_forward(context, input->texts, input->vectors, bias, n_pooled, pass->pooled, pass->where);
    thr_nn_tanh_forward(context, pass->pooled, input->n * n_pooled, pass->pooled);
}

void thr_text_side_forward(thr_context *context, const thr_text_model *model, thr_side side,
                           const thr_side_input *input, thr_pass *pass) {
    const thr_tower_config *config = &model->config;
    const thr_dense base = thr_side_layer(model, side, THR_TEXT_BASE_WEIGHT);
    const size_t n = input->n, n_pooled = config->n_pooled, n_dims = config->n_dims;
    take_input(context, model, side, input, pass);
    thr_nn_dense_forward(context, &base, pass->pooled, n, pass->before[0]);
    if (thr_side_bits(config, side) == THR_FLOAT_BITS) {
        if (thr_model_reads_vectors(config))
            memcpy(pass->sums[0], pass->before[0], n * n_dims * sizeof(float));
        else
            thr_nn_tanh_forward(context, pass->before[0], n * n_dims, pass->sums[0]);
        return;
    }
    thr_nn_sign_forward(context, pass->before[0], n * n_dims, pass->sums[0]);
    for (uint32_t t = 1; t <= thr_side_steps(config, side); t++) {
        float *rebuilt = pass->rebuilt[t - 1], *residual = pass->residual[t - 1];
        const thr_dense rebuild = thr_side_layer(model, side, thr_text_step_tensor(config, t, THR_TEXT_REBUILD_WEIGHT));
        const thr_dense reduce = thr_side_layer(model, side, thr_text_step_tensor(config, t, THR_TEXT_RESIDUAL_WEIGHT));
        thr_nn_dense_forward(context, &rebuild, pass->sums[t - 1], n, rebuilt);
        thr_nn_tanh_forward(context, rebuilt, n * n_pooled, rebuilt);
        for (size_t i = 0; i < n * n_pooled; i++)
            residual[i] = pass->pooled[i] - rebuilt[i];
        thr_nn_dense_forward(context, &reduce, residual, n, pass->before[t]);
        add_plane(pass->sums[t], pass->sums[t - 1], pass->before[t], thr_step_weight(config, t), n * n_dims);
    }
}

bool thr_text_pass_is_finite(const thr_tower_config *config, thr_side side, const thr_pass *pass, size_t n_texts) {
    for (uint32_t t = 0; t <= thr_side_steps(config, side); t++)
        if (!thr_training_all_finite(pass->before[t], n_texts * config->n_dims))
            return false;
    return true;
}
