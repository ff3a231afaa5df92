/* SPDX-License-Identifier: Apache-2.0 */
/* model.c - shapes of a dual tower's parameters, bags of words by field, and the forward pass. */
#include "dual_tower/model.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "nn/dense.h"

enum { EMBEDDING_MAX = 256, HIDDEN_MAX = 4096, DIMS_MAX = 1024 };

static thr_status check_number(const char *what, uint32_t value, uint32_t least, uint32_t most, thr_error *err) {
    if (value >= least && value <= most)
        return THR_OK;
    return thr_fail(err, THR_EINVAL, "%u %s: choose %u to %u", value, what, least, most);
}

thr_status thr_dual_check(const thr_dual_config *config, thr_error *err) {
    THR_TRY(check_number("numbers of an embedding", config->n_embedding, 1, EMBEDDING_MAX, err));
    THR_TRY(check_number("hidden numbers", config->n_hidden, 1, HIDDEN_MAX, err));
    THR_TRY(check_number("dimensions", config->n_dims, 1, DIMS_MAX, err));
    return check_number("dimensions of products", config->n_products, 0, DIMS_MAX, err);
}

thr_tensor_list thr_dual_tensors(const thr_dual_model *model, thr_side side) {
    const thr_dual_config *config = &model->config;
    const uint32_t n_inputs = (uint32_t)thr_dual_n_inputs(model, side);
    return (thr_tensor_list){.n = config->n_products != 0 ? THR_DUAL_N_TENSORS : THR_DUAL_PRODUCT_WEIGHT,
                             .shapes = {{"hidden.weight", n_inputs, config->n_hidden},
                                        {"hidden.bias", 1, config->n_hidden},
                                        {"output.weight", config->n_hidden, config->n_dims},
                                        {"output.bias", 1, config->n_dims},
                                        {"product.weight", n_inputs, config->n_products}}};
}

/* ------------------------------------------------------------------------------------------------ examples */

/* Divide the weights of a field's words by the field's sum of absolute weights. */
static void share(float *weights, size_t n) {
    float all = 0;
    for (size_t i = 0; i < n; i++)
        all += fabsf(weights[i]);
    for (size_t i = 0; all > 0 && i < n; i++)
        weights[i] /= all;
}

/* Counting sort by field. While filling, offsets[f + 1] is where field f's next word goes; at the end it is f's end. */
thr_status thr_dual_bags_add(thr_context *context, const thr_dual_vocabulary *vocabulary, const uint32_t *rows,
                             const float *x, size_t n, thr_dual_bags *bags, thr_error *err) {
    const size_t n_fields = thr_dual_n_fields(vocabulary), first = bags->n * n_fields;
    THR_TRY(thr_grow(context, &bags->offsets, &bags->offsets_capacity, first + n_fields + 2, sizeof *bags->offsets,
                     "a batch", err));
    bags->offsets[0] = 0;
    size_t *offsets = bags->offsets + first;
    const size_t used = offsets[0];
    /* One spare element, so that empty bags have a valid address. */
    THR_TRY(thr_grow(context, &bags->rows, &bags->rows_capacity, used + n + 1, sizeof *bags->rows, "a batch", err));
    THR_TRY(thr_grow(context, &bags->weights, &bags->weights_capacity, used + n + 1, sizeof *bags->weights, "a batch",
                     err));
    memset(offsets + 1, 0, (n_fields + 1) * sizeof *offsets);
    for (size_t i = 0; i < n; i++)
        if (rows[i] != THR_DUAL_NONE)
            offsets[vocabulary->fields[rows[i]] + 2]++;
    offsets[1] = used;
    for (size_t f = 1; f < n_fields; f++)
        offsets[f + 1] += offsets[f];
    for (size_t i = 0; i < n; i++) {
        if (rows[i] == THR_DUAL_NONE)
            continue;
        const size_t at = offsets[vocabulary->fields[rows[i]] + 1]++;
        bags->rows[at] = rows[i];
        bags->weights[at] = x != NULL ? x[i] : 1.0f;
    }
    for (size_t f = 0; f < n_fields; f++)
        share(bags->weights + offsets[f], offsets[f + 1] - offsets[f]);
    bags->n++;
    return THR_OK;
}

void thr_dual_bags_free(thr_context *context, thr_dual_bags *bags) {
    THR_RELEASE(context, bags->offsets, bags->rows, bags->weights);
    *bags = (thr_dual_bags){0};
}

/* ------------------------------------------------------------------------------------------------ forward */

static thr_status make_room(thr_context *context, const thr_dual_model *model, thr_side side, size_t n,
                            thr_dual_pass *pass, thr_error *err) {
    const thr_dual_config *config = &model->config;
    THR_TRY(thr_grow(context, &pass->inputs, &pass->inputs_capacity, n * thr_dual_n_inputs(model, side), sizeof(float),
                     "a batch", err));
    THR_TRY(
        thr_grow(context, &pass->hidden, &pass->hidden_capacity, n * config->n_hidden, sizeof(float), "a batch", err));
    THR_TRY(
        thr_grow(context, &pass->outputs, &pass->outputs_capacity, n * config->n_dims, sizeof(float), "a batch", err));
    THR_TRY(thr_grow(context, &pass->products, &pass->products_capacity, n * config->n_products, sizeof(float),
                     "a batch", err));
    return thr_grow(context, &pass->vectors, &pass->vectors_capacity, n * thr_dual_n_vector(config), sizeof(float),
                    "a batch", err);
}

thr_dual_layers thr_dual_layers_of(const thr_dual_model *model, thr_side side) {
    const thr_dual_config *config = &model->config;
    const float *const *tensors = model->tensors[side];
    const size_t n_inputs = thr_dual_n_inputs(model, side);
    return (thr_dual_layers){
        .hidden = {tensors[THR_DUAL_HIDDEN_WEIGHT], tensors[THR_DUAL_HIDDEN_BIAS], n_inputs, config->n_hidden},
        .output = {tensors[THR_DUAL_OUTPUT_WEIGHT], tensors[THR_DUAL_OUTPUT_BIAS], config->n_hidden, config->n_dims},
        .product = {tensors[THR_DUAL_PRODUCT_WEIGHT], NULL, n_inputs, config->n_products}};
}

thr_status thr_dual_forward(thr_context *context, const thr_dual_model *model, thr_side side, const thr_dual_bags *bags,
                            thr_dual_pass *pass, thr_error *err) {
    const thr_dual_config *config = &model->config;
    const size_t n = bags->n, n_vector = thr_dual_n_vector(config);
    const thr_dual_layers layers = thr_dual_layers_of(model, side);
    const thr_bags view = thr_dual_bags_view(bags, thr_dual_n_fields(&model->words[side]));
    THR_TRY(make_room(context, model, side, n, pass, err));
    thr_nn_bags_forward(context, model->embeddings[side], config->n_embedding, &view, pass->inputs);
    thr_nn_dense_forward(context, &layers.hidden, pass->inputs, n, pass->hidden);
    thr_nn_tanh_forward(context, pass->hidden, n * config->n_hidden, pass->hidden);
    thr_nn_dense_forward(context, &layers.output, pass->hidden, n, pass->outputs);
    if (config->n_products != 0)
        thr_nn_dense_forward(context, &layers.product, pass->inputs, n, pass->products);
    for (size_t i = 0; i < n; i++) {
        memcpy(pass->vectors + i * n_vector, pass->outputs + i * config->n_dims, config->n_dims * sizeof(float));
        if (config->n_products != 0)
            memcpy(pass->vectors + i * n_vector + config->n_dims, pass->products + i * config->n_products,
                   config->n_products * sizeof(float));
    }
    return THR_OK;
}

void thr_dual_pass_free(thr_context *context, thr_dual_pass *pass) {
    THR_RELEASE(context, pass->inputs, pass->hidden, pass->outputs, pass->products, pass->vectors);
    *pass = (thr_dual_pass){0};
}
