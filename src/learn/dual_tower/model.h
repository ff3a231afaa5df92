/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.h - the parameters of a dual tower with IPNN and HitMatch, and the function that a side computes (HitMatch (1),
 * (7), (8), errata 7).
 *
 *     c_f = sum of x_t e_t / sum of |x_t|          over field f's words t: n_embedding numbers, 0 without words
 *     c = (c_1, c_2, ...)                          all of a side's fields
 *     h = tanh(c W + b) W' + b'                    n_dims
 *     p = sum over fields of c_f P_f = c P         n_products; P stacks the fields' matrices
 *     v = (h, p)
 *
 * The score is s(u, a) = <v_u, v_a> + hits.
 */
#pragma once

#include "nn/bags.h"
#include "nn/dense.h"
#include "dual_tower/vocabulary.h"

/* The dense parameters of a side, by number. */
typedef enum thr_dual_tensor {
    THR_DUAL_HIDDEN_WEIGHT, /* W: fields * n_embedding x n_hidden */
    THR_DUAL_HIDDEN_BIAS,
    THR_DUAL_OUTPUT_WEIGHT, /* W': n_hidden x n_dims */
    THR_DUAL_OUTPUT_BIAS,
    THR_DUAL_PRODUCT_WEIGHT, /* P: fields * n_embedding x n_products; last, because models without IPNN lack it */
    THR_DUAL_N_TENSORS
} thr_dual_tensor;

typedef struct thr_dual_model {
    thr_dual_config config;
    thr_dual_vocabulary words[THR_N_SIDES]; /* owned by the trainer or by the open model */
    const float *embeddings[THR_N_SIDES];   /* words x n_embedding */
    const float *tensors[THR_N_SIDES][THR_DUAL_N_TENSORS];
    const float *hit_words, *hit_fields; /* weights of users' words and of their fields; NULL without hits */
} thr_dual_model;

/* Validate a configuration. THR_OK; THR_EINVAL for the first number out of range. */
thr_status thr_dual_check(const thr_dual_config *config, thr_error *err);

static inline uint32_t thr_dual_n_vector(const thr_dual_config *config) {
    return config->n_dims + config->n_products;
}
/* The length of c: all of a side's fields. */
static inline size_t thr_dual_n_inputs(const thr_dual_model *model, thr_side side) {
    return (size_t)thr_dual_n_fields(&model->words[side]) * model->config.n_embedding;
}
/* A side's layers: c W + b, h W' + b', c P. */
typedef struct thr_dual_layers {
    thr_dense hidden, output, product;
} thr_dual_layers;
thr_dual_layers thr_dual_layers_of(const thr_dual_model *model, thr_side side);

thr_tensor_list thr_dual_tensors(const thr_dual_model *model, thr_side side);

/* ------------------------------------------------------------------------------------------------ examples */

/* The words of users or items as bags of embedding rows, one bag for each field of each example. Starts zeroed. */
typedef struct thr_dual_bags {
    size_t n; /* examples */
    size_t *offsets;
    uint32_t *rows;
    float *weights;
    size_t offsets_capacity, rows_capacity, weights_capacity;
} thr_dual_bags;

/*
 * Add an example of n words: their rows (THR_DUAL_NONE is skipped) and numbers x; x NULL: 1 each. THR_OK or THR_ENOMEM.
 */
thr_status thr_dual_bags_add(thr_context *context, const thr_dual_vocabulary *vocabulary, const uint32_t *rows,
                             const float *x, size_t n, thr_dual_bags *bags, thr_error *err);
void thr_dual_bags_free(thr_context *context, thr_dual_bags *bags);
static inline thr_bags thr_dual_bags_view(const thr_dual_bags *bags, size_t n_fields) {
    return (thr_bags){
        .n_bags = bags->n * n_fields, .offsets = bags->offsets, .rows = bags->rows, .weights = bags->weights};
}

/* The activations of a side for some examples, kept for the backward pass. Grows as needed; starts zeroed. */
typedef struct thr_dual_pass {
    float *inputs;             /* c */
    float *hidden;             /* tanh(c W + b) */
    float *outputs, *products; /* h, p */
    float *vectors;            /* v */
    size_t inputs_capacity, hidden_capacity, outputs_capacity, products_capacity, vectors_capacity;
} thr_dual_pass;

/* Compute the vectors of the examples. THR_OK or THR_ENOMEM. */
thr_status thr_dual_forward(thr_context *context, const thr_dual_model *model, thr_side side, const thr_dual_bags *bags,
                            thr_dual_pass *pass, thr_error *err);
void thr_dual_pass_free(thr_context *context, thr_dual_pass *pass);
