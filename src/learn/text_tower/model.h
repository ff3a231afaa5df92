/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.h - the parameters of two text towers, and the function that a side computes (RBE (8) to (11), with biases).
 *
 *     f = tanh(pool over windows)                       n_pooled
 *       = x / |x| + b                                   for vectors, n_pooled = n_inputs
 *     p_0 = sign(f W + b),  e_0 = p_0                   n_dims
 *     r_t = tanh(e_(t-1) B_t + b'_t)                    n_pooled: f as reconstructed from e_(t-1)
 *     p_t = sign((f - r_t) R_t + b''_t),  e_t = e_(t-1) + 2^-t p_t
 *
 * A float side has e = tanh(f W + b). For vectors it has e = f W + b: with tanh the recall falls. In the
 * code B is "rebuild", R "residual".
 */
#pragma once

#include <thresher/tower.h>

#include "nn/dense.h"
#include "nn/windows.h"
#include "training/weights.h"
#include "words/trigrams.h"

enum { THR_STEPS_MAX = 7, THR_TEXT_TENSORS_MAX = 3 + 4 * THR_STEPS_MAX };
_Static_assert((int)THR_TEXT_TENSORS_MAX <= (int)THR_SIDE_TENSORS_MAX, "a list has room for a side's tensors");

/*
 * The dense parameters of a side, by number. POOL_BIAS is the input's bias. Those of step t >= 1 are
 * thr_text_step_tensor(config, t, THR_TEXT_...).
 */
typedef enum thr_text_tensor {
    THR_TEXT_POOL_BIAS = 0,
    THR_TEXT_BASE_WEIGHT = 1,
    THR_TEXT_BASE_BIAS = 2,
    THR_TEXT_REBUILD_WEIGHT = 3,
    THR_TEXT_REBUILD_BIAS = 4,
    THR_TEXT_RESIDUAL_WEIGHT = 5,
    THR_TEXT_RESIDUAL_BIAS = 6
} thr_text_tensor;

typedef struct thr_text_model {
    thr_tower_config config;
    thr_grams grams;
    const float *tables[THR_N_SIDES]; /* of trigrams: grams.n x 3 n_pooled; equal pointers if shared */
    const float *tensors[THR_N_SIDES][THR_TEXT_TENSORS_MAX];
} thr_text_model;

/* The context of an open model. */
thr_context *thr_text_tower_context(const thr_tower *tower);

/* As thr_tower_open, but do not read the weights: an index opens as fast with a large model as with a small one. */
thr_status thr_text_tower_map(thr_context *context, const char *path, thr_tower **tower, thr_error *err);

/* Validate a configuration. THR_OK; THR_EINVAL for the first number out of range. */
thr_status thr_text_model_check(const thr_tower_config *config, thr_error *err);

static inline uint32_t thr_side_bits(const thr_tower_config *config, thr_side side) {
    return side == THR_SIDE_QUERY ? config->query_bits : config->item_bits;
}
static inline uint32_t thr_side_steps(const thr_tower_config *config, thr_side side) {
    return thr_side_bits(config, side) == THR_FLOAT_BITS ? 0 : thr_side_bits(config, side) - 1;
}
static inline uint32_t thr_model_n_tables(const thr_tower_config *config) {
    return config->n_inputs != 0 ? 0 : config->shared_words ? 1 : 2;
}
static inline size_t thr_model_n_columns(const thr_tower_config *config) {
    return (size_t)THR_WINDOW_WORDS * config->n_pooled;
}

/* The dense tensors of a side. */
thr_tensor_list thr_text_model_tensors(const thr_tower_config *config, thr_side side);

/* The number of a tensor of step t >= 1. */
static inline size_t thr_text_step_tensor(const thr_tower_config *config, uint32_t t, thr_text_tensor tensor) {
    return (size_t)tensor + 4 * (size_t)(config->shared_steps ? 0 : t - 1);
}

/* Whether a tensor is a matrix B of some step. */
static inline bool thr_text_is_rebuild(size_t tensor) {
    return tensor >= THR_TEXT_REBUILD_WEIGHT && (tensor - THR_TEXT_REBUILD_WEIGHT) % 4 == 0;
}

/* The layer whose weights are tensor `weight` of a side; its bias is the next tensor. */
static inline thr_dense thr_side_layer(const thr_text_model *model, thr_side side, size_t weight) {
    const uint32_t n_dims = model->config.n_dims, n_pooled = model->config.n_pooled;
    const float *const *tensors = model->tensors[side];
    return thr_text_is_rebuild(weight) ? (thr_dense){tensors[weight], tensors[weight + 1], n_dims, n_pooled}
                                       : (thr_dense){tensors[weight], tensors[weight + 1], n_pooled, n_dims};
}

/* The weight of the plane of step t. */
static inline float thr_step_weight(const thr_tower_config *config, uint32_t t) {
    return config->plain_weights ? 1.0f : 1.0f / (float)(1u << t);
}

/* Whether the model encodes given vectors instead of texts. Then n_pooled is n_inputs. */
static inline bool thr_model_reads_vectors(const thr_tower_config *config) {
    return config->n_inputs != 0;
}

/* The rows of a side that are to be embedded: texts, or vectors. */
typedef struct thr_side_input {
    size_t n;
    const thr_texts *texts; /* NULL: vectors */
    const float *vectors;   /* of texts their words' vectors (windows.h); else n x n_inputs, of any lengths */
} thr_side_input;

/* The activations of a side for some texts, kept for the backward pass. Grows as needed; starts zeroed. */
typedef struct thr_pass {
    size_t capacity; /* texts */
    float *memory;
    uint16_t *where;                  /* the windows that won the pooling: n x n_pooled */
    float *pooled;                    /* f: n x n_pooled */
    float *before[1 + THR_STEPS_MAX]; /* arguments of every plane's signs, or of a float side's tanh: n x n_dims */
    float *sums[1 + THR_STEPS_MAX];   /* e_t */
    float *rebuilt[THR_STEPS_MAX];    /* r_t, by t - 1: n x n_pooled */
    float *residual[THR_STEPS_MAX];   /* f - r_t */
} thr_pass;

/* Reserve memory for n_texts. THR_OK or THR_ENOMEM; the caller frees *pass, also after an error. */
thr_status thr_text_pass_reserve(thr_context *context, const thr_tower_config *config, thr_side side, size_t n_texts,
                                 thr_pass *pass, thr_error *err);
void thr_text_pass_free(thr_context *context, thr_pass *pass);

/* Compute the embeddings of an input; thr_pass_embedding returns them. */
void thr_text_side_forward(thr_context *context, const thr_text_model *model, thr_side side,
                           const thr_side_input *input, thr_pass *pass);
/* Whether the sign arguments of all n_texts are finite: the signs themselves would hide a NaN. */
bool thr_text_pass_is_finite(const thr_tower_config *config, thr_side side, const thr_pass *pass, size_t n_texts);
static inline float *thr_pass_embedding(const thr_tower_config *config, thr_side side, const thr_pass *pass) {
    return pass->sums[thr_side_steps(config, side)];
}
