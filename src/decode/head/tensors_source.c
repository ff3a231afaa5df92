/* SPDX-License-Identifier: Apache-2.0 */
/* tensors_source.c - reading weights and bias from safetensors files. */
#include <inttypes.h>

#include "base/error.h"
#include "head/layers.h"

static bool has_numbers(const thr_tensor *tensor) {
    return tensor->dtype == THR_DTYPE_F32 || tensor->dtype == THR_DTYPE_F16 || tensor->dtype == THR_DTYPE_BF16;
}

/* List the tensors; the caller frees *items. */
static thr_status list(thr_context *context, const thr_checkpoint *model, thr_head_layers *layers,
                       thr_head_layer **items, thr_error *err) {
    layers->n = thr_tensors_checkpoint_count(model);
    THR_TRY(thr_alloc(context, layers->n, sizeof **items, items, "a list of tensors", err));
    layers->items = *items;
    for (size_t i = 0; i < layers->n; i++) {
        const thr_checkpoint_entry *entry = thr_tensors_checkpoint_at(model, i);
        thr_head_layer *layer = &(*items)[i];
        *layer = (thr_head_layer){.name = entry->name, .n_rows = 1, .n_dims = 1};
        if (entry->tensor == NULL) {
            layers->missing = entry->path;
            continue;
        }
        layer->n_axes = entry->tensor->n_axes;
        if (layer->n_axes == 1 || layer->n_axes == 2)
            layer->n_rows = entry->tensor->shape[0];
        if (layer->n_axes == 2)
            layer->n_dims = entry->tensor->shape[1];
    }
    return THR_OK;
}

/* The tensor of an entry that was chosen. */
static thr_status open_entry(const thr_checkpoint *model, size_t i, const thr_tensor **tensor, thr_error *err) {
    *tensor = thr_tensors_checkpoint_at(model, i)->tensor;
    return *tensor != NULL ? THR_OK : thr_tensors_checkpoint_fail(model, i, err);
}

static thr_status check_tied(const thr_checkpoint *model, const thr_head_layers *layers, size_t chosen,
                             thr_error *err) {
    thr_tying tying;
    THR_TRY(thr_tensors_checkpoint_tying(model, &tying, err));
    return thr_head_layers_check_tied(layers, chosen, tying, err);
}

static thr_status check_weights(const char *path, const thr_tensor *tensor, thr_error *err) {
    if (!has_numbers(tensor) || tensor->n_axes != 2)
        return thr_fail(
            err, THR_EFORMAT,
            "%s: the tensor %s is not a matrix of F32, F16 or BF16: a head is a matrix of words by dimensions", path,
            tensor->name);
    if (tensor->shape[1] == 0 || tensor->shape[1] > THR_MAX_DIMS)
        return thr_fail(err, THR_EDIM, "%s: the tensor %s has %" PRIu64 " dimensions: a head has 1 to %d", path,
                        tensor->name, tensor->shape[1], THR_MAX_DIMS);
    return THR_OK;
}

/* Widen a bias: a vector, or a matrix of one row. */
static thr_status read_bias(thr_context *context, const char *path, const thr_tensor *tensor, float **bias, uint64_t *n,
                            thr_error *err) {
    const bool is_row = tensor->n_axes == 2 && tensor->shape[0] == 1;
    *n = is_row ? tensor->shape[1] : tensor->shape[0];
    if (!has_numbers(tensor) || (tensor->n_axes != 1 && !is_row) || *n == 0 || *n > THR_HEAD_MAX_WORDS)
        return thr_fail(err, THR_EFORMAT, "%s: the tensor %s is not a vector of F32, F16 or BF16", path, tensor->name);
    THR_TRY(thr_alloc(context, (size_t)*n, sizeof **bias, bias, "the bias", err));
    const thr_matrix all = {tensor->data, 1, (uint32_t)*n, tensor->dtype, tensor->n_bytes};
    return thr_matrix_to_f32(&all, 0, 1, *bias);
}

thr_status thr_head_create_tensors(thr_context *context, const char *path, const char *name,
                                   const thr_head_build_options *options, thr_head **head, thr_error *err) {
    thr_head_build_options with_bias = *options;
    thr_head_layers layers = {.path = path};
    thr_head_layer *items = NULL;
    const thr_tensor *tensor = NULL, *bias_tensor = NULL;
    thr_checkpoint *model = NULL;
    float *bias = NULL;
    ptrdiff_t bias_at = THR_HEAD_NO_LAYER;
    size_t chosen = 0;
    bool tied = false;
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_tensors_checkpoint_open(context, path, &model, err));
    THR_TRY_OUT(list(context, model, &layers, &items, err));
    THR_TRY_OUT(thr_head_layers_choose(&layers, name, &chosen, &tied, err));
    if (tied && name == NULL)
        THR_TRY_OUT(check_tied(model, &layers, chosen, err));
    THR_TRY_OUT(open_entry(model, chosen, &tensor, err));
    THR_TRY_OUT(check_weights(thr_tensors_checkpoint_at(model, chosen)->path, tensor, err));
    if (options->bias == NULL)
        THR_TRY_OUT(thr_head_layers_bias(&layers, chosen, tied, &bias_at, err));
    if (bias_at != THR_HEAD_NO_LAYER) {
        THR_TRY_OUT(open_entry(model, (size_t)bias_at, &bias_tensor, err));
        THR_TRY_OUT(read_bias(context, thr_tensors_checkpoint_at(model, (size_t)bias_at)->path, bias_tensor, &bias,
                              &with_bias.n_bias, err));
        with_bias.bias = bias;
    }
    const uint32_t n_dims = (uint32_t)tensor->shape[1];
    const thr_matrix weights = {tensor->data, tensor->shape[0], n_dims, tensor->dtype,
                                n_dims * thr_dtype_size(tensor->dtype)};
    THR_TRY_OUT(thr_head_create(context, &weights, &with_bias, head, err));
    thr_head_note_taken(options, thr_tensors_checkpoint_at(model, chosen)->path, tensor->name,
                        bias_tensor != NULL ? bias_tensor->name : NULL, tied);
out:
    THR_RELEASE(context, items, bias);
    thr_tensors_checkpoint_free(model);
    return status;
}
