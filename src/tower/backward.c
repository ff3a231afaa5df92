/* SPDX-License-Identifier: Apache-2.0 */
#include "tower/backward.h"

#include <string.h>

#include "base/error.h"
#include "nn/dense.h"

/* What a text takes: gradients of f, of r_t, and of a sign's argument; and beside them thr_dense_backward's scratch. */
static size_t floats_a_text(const thr_tower_config *config) {
    return 2 * (size_t)config->n_pooled + config->n_dims;
}

static size_t dense_scratch(const thr_tower_config *config, size_t n_texts) {
    const size_t down = thr_dense_scratch(n_texts, config->n_pooled, config->n_dims);
    const size_t up = thr_dense_scratch(n_texts, config->n_dims, config->n_pooled);
    return down > up ? down : up;
}

thr_status thr_backward_make_room(thr_context *context, const thr_tower_config *config, size_t n_texts,
                                  thr_backward_room *room, thr_error *err) {
    if (n_texts <= room->capacity)
        return THR_OK;
    thr_backward_free(context, room);
    THR_TRY(thr_alloc(context, n_texts * floats_a_text(config) + dense_scratch(config, n_texts), sizeof *room->memory,
                      &room->memory, "a batch", err));
    room->capacity = n_texts;
    return THR_OK;
}

void thr_backward_free(thr_context *context, thr_backward_room *room) {
    thr_release(context, room->memory);
    *room = (thr_backward_room){0};
}

/* One way back: what does not change from step to step. */
typedef struct way_back {
    thr_context *context;
    const thr_tower_config *config;
    const float *const *parts;
    float *const *d_parts;
    const thr_pass *pass;
    thr_slope slope;
    size_t n;
    float *d_pooled, *d_rebuilt, *d_before, *scratch;
} way_back;

/* Through layer y = x W + b of parts weight and weight + 1. */
static void through_layer(const way_back *way, size_t weight, const float *x, const float *d_y, size_t n_in,
                          size_t n_out, bool add, float *d_x) {
    thr_dense_backward(way->context, x, way->parts[weight], d_y, way->n, n_in, n_out, add, d_x, way->d_parts[weight],
                       way->d_parts[weight + 1], way->scratch);
}

/* Step t: p_t's gradient is the embedding's, weighted; f gets its share, and so does e_(t-1), which is d_sum too. */
static void through_step(const way_back *way, uint32_t t, float *d_sum) {
    const thr_tower_config *config = way->config;
    const size_t n_pooled = config->n_pooled, n_dims = config->n_dims;
    const float weight = thr_step_weight(config, t);
    for (size_t i = 0; i < way->n * n_dims; i++)
        way->d_before[i] = weight * d_sum[i];
    thr_sign_backward(way->context, way->slope.estimator, way->slope.slope, way->pass->before[t], way->d_before,
                      way->n * n_dims, way->d_before);
    through_layer(way, thr_step_part(config, t, THR_PART_RESIDUAL_WEIGHT), way->pass->residual[t - 1], way->d_before,
                  n_pooled, n_dims, false, way->d_rebuilt);
    for (size_t i = 0; i < way->n * n_pooled; i++) {
        way->d_pooled[i] += way->d_rebuilt[i];
        way->d_rebuilt[i] = -way->d_rebuilt[i];
    }
    thr_tanh_backward(way->context, way->pass->rebuilt[t - 1], way->d_rebuilt, way->n * n_pooled, way->d_rebuilt);
    through_layer(way, thr_step_part(config, t, THR_PART_REBUILD_WEIGHT), way->pass->sums[t - 1], way->d_rebuilt,
                  n_dims, n_pooled, true, d_sum);
}

void thr_side_backward(thr_context *context, const thr_model *model, thr_side side, const thr_texts *texts,
                       const thr_pass *pass, thr_slope slope, float *d_embedding, float *const *d_parts,
                       float *d_vectors, thr_backward_room *room) {
    const thr_tower_config *config = &model->config;
    const size_t n = texts->n_texts, n_pooled = config->n_pooled, n_dims = config->n_dims;
    const way_back way = {.context = context,
                          .config = config,
                          .parts = model->parts[side],
                          .d_parts = d_parts,
                          .pass = pass,
                          .slope = slope,
                          .n = n,
                          .d_pooled = room->memory,
                          .d_rebuilt = room->memory + n * n_pooled,
                          .d_before = room->memory + 2 * n * n_pooled,
                          .scratch = room->memory + n * floats_a_text(config)};
    memset(way.d_pooled, 0, n * n_pooled * sizeof *way.d_pooled);
    for (uint32_t t = thr_side_steps(config, side); t >= 1; t--)
        through_step(&way, t, d_embedding);
    if (thr_side_bits(config, side) == THR_FLOAT_BITS)
        thr_tanh_backward(context, pass->sums[0], d_embedding, n * n_dims, way.d_before);
    else
        thr_sign_backward(context, slope.estimator, slope.slope, pass->before[0], d_embedding, n * n_dims,
                          way.d_before);
    through_layer(&way, THR_PART_BASE_WEIGHT, pass->pooled, way.d_before, n_pooled, n_dims, true, way.d_pooled);
    thr_tanh_backward(context, pass->pooled, way.d_pooled, n * n_pooled, way.d_pooled);
    thr_windows_backward(context, texts, pass->where, way.d_pooled, n_pooled, d_vectors, d_parts[THR_PART_POOL_BIAS]);
}
