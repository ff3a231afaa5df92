/* SPDX-License-Identifier: Apache-2.0 */
/* model.c - shapes of a text tower's parameters, and memory of a pass. */
#include "text_tower/model.h"

#include <stdio.h>

#include "base/error.h"

enum { DIMS_MAX = 1024, POOLED_MAX = 4096, GRAMS_MAX = 1 << 24, BITS_MAX = 8, DIMS_A_INPUT_MAX = 8 };

static thr_status check_number(const char *what, uint32_t value, uint32_t most, thr_error *err) {
    if (value >= 1 && value <= most)
        return THR_OK;
    return thr_fail(err, THR_EINVAL, "%u %s: choose 1 to %u", value, what, most);
}

thr_status thr_text_model_check(const thr_tower_config *config, thr_error *err) {
    THR_TRY(check_number("dimensions", config->n_dims, DIMS_MAX, err));
    if (thr_model_reads_vectors(config)) {
        THR_TRY(check_number("dimensions of the given vectors", config->n_inputs, POOLED_MAX, err));
        if (config->n_dims > DIMS_A_INPUT_MAX * config->n_inputs)
            return thr_fail(err, THR_EDIM, "%u dimensions for codes of vectors of %u: choose 1 to %u", config->n_dims,
                            config->n_inputs, DIMS_A_INPUT_MAX * config->n_inputs);
    } else {
        THR_TRY(check_number("pooled dimensions", config->n_pooled, POOLED_MAX, err));
        THR_TRY(check_number("letter trigrams", config->max_grams, GRAMS_MAX, err));
        THR_TRY(check_number("words of a text", config->max_words, THR_TEXT_WORDS_MAX, err));
    }
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
        const uint32_t bits = thr_side_bits(config, side);
        if ((bits < 1 || bits > BITS_MAX) && bits != THR_FLOAT_BITS)
            return thr_fail(err, THR_EINVAL, "%u %s bits: choose 1 to %d, or %d for floats", bits,
                            side == THR_SIDE_QUERY ? "query" : "item", BITS_MAX, THR_FLOAT_BITS);
    }
    return THR_OK;
}

static thr_tensor_shape shape_of(const thr_tower_config *config, size_t tensor) {
    static const char *const names[] = {"pool.bias",      "base.weight",       "base.bias",      "rebuild%u.weight",
                                        "rebuild%u.bias", "residual%u.weight", "residual%u.bias"};
    const size_t kind = tensor < 3 ? tensor : 3 + (tensor - 3) % 4;
    const unsigned step = tensor < 3 ? 0 : (unsigned)((tensor - 3) / 4 + 1);
    thr_tensor_shape shape = {.n_rows = 1, .n_columns = config->n_dims};
    if (step == 0)
        (void)snprintf(shape.name, sizeof shape.name, "%s", names[kind]);
    else
        (void)snprintf(shape.name, sizeof shape.name, names[kind], step);
    switch ((thr_text_tensor)kind) {
    case THR_TEXT_POOL_BIAS:
    case THR_TEXT_REBUILD_BIAS:
        shape.n_columns = config->n_pooled;
        break;
    case THR_TEXT_BASE_WEIGHT:
    case THR_TEXT_RESIDUAL_WEIGHT:
        shape.n_rows = config->n_pooled;
        break;
    case THR_TEXT_REBUILD_WEIGHT:
        shape.n_rows = config->n_dims;
        shape.n_columns = config->n_pooled;
        break;
    default:
        break;
    }
    return shape;
}

thr_tensor_list thr_text_model_tensors(const thr_tower_config *config, thr_side side) {
    const size_t n_steps = thr_side_steps(config, side);
    thr_tensor_list list = {.n = 3 + 4 * (config->shared_steps && n_steps > 1 ? 1 : n_steps)};
    for (size_t p = 0; p < list.n; p++)
        list.shapes[p] = shape_of(config, p);
    return list;
}

thr_status thr_text_pass_reserve(thr_context *context, const thr_tower_config *config, thr_side side, size_t n_texts,
                                 thr_pass *pass, thr_error *err) {
    if (n_texts <= pass->capacity)
        return THR_OK;
    thr_text_pass_free(context, pass);
    const size_t n_steps = thr_side_steps(config, side);
    const size_t pooled = n_texts * config->n_pooled, dims = n_texts * config->n_dims;
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_alloc(context, n_texts, config->n_pooled * sizeof *pass->where, &pass->where, "a batch", err));
    THR_TRY_OUT(
        thr_alloc(context, n_texts,
                  ((1 + 2 * n_steps) * config->n_pooled + 2 * (1 + n_steps) * config->n_dims) * sizeof *pass->memory,
                  &pass->memory, "a batch", err));
    float *next = pass->memory;
    pass->pooled = next;
    next += pooled;
    for (size_t t = 0; t <= n_steps; t++, next += 2 * dims) {
        pass->before[t] = next;
        pass->sums[t] = next + dims;
    }
    for (size_t t = 0; t < n_steps; t++, next += 2 * pooled) {
        pass->rebuilt[t] = next;
        pass->residual[t] = next + pooled;
    }
    pass->capacity = n_texts;
out:
    if (status != THR_OK)
        thr_text_pass_free(context, pass);
    return status;
}

void thr_text_pass_free(thr_context *context, thr_pass *pass) {
    THR_RELEASE(context, pass->where, pass->memory);
    *pass = (thr_pass){0};
}
