/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_source.c - reading weights and bias from GGUF models, row by row. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "head/head.h"
#include "tensors/gguf.h"

enum { NAME_MOST = 256, LISTED = 8, LISTED_NAME = 40 };

/* The output layer's names, then those of the embeddings it may be tied to. */
static const char *const USUAL_NAMES[] = {"output.weight", "token_embd.weight"};

/* List a file's first tensor names, for a message. */
static void list_names(const thr_gguf *file, char *text, size_t size) {
    size_t n = 0;
    for (size_t i = 0; i < thr_tensors_gguf_count(file) && i < LISTED && n < size; i++) {
        const thr_gguf_tensor *t = thr_tensors_gguf_at(file, i);
        const int length = t->n_name < LISTED_NAME ? (int)t->n_name : LISTED_NAME;
        const int written = snprintf(text + n, size - n, "%s%.*s", i > 0 ? ", " : "", length, t->name);
        n += written > 0 ? (size_t)written : 0;
    }
}

static thr_status find(const thr_gguf *file, const char *path, const char *name, const thr_gguf_tensor **tensor,
                       thr_error *err) {
    char names[LISTED * (LISTED_NAME + 2) + 1] = "none", parts[80] = "";
    *tensor = name != NULL ? thr_tensors_gguf_find(file, name) : NULL;
    for (size_t i = 0; name == NULL && *tensor == NULL && i < sizeof USUAL_NAMES / sizeof *USUAL_NAMES; i++)
        *tensor = thr_tensors_gguf_find(file, USUAL_NAMES[i]);
    if (*tensor != NULL)
        return THR_OK;
    list_names(file, names, sizeof names);
    if (thr_tensors_gguf_parts(file) > 1)
        (void)snprintf(parts, sizeof parts, "; the model has %" PRIu32 " parts, and another may have it",
                       thr_tensors_gguf_parts(file));
    return thr_fail(err, THR_ENOTFOUND, "%s: has no tensor %.200s: of %zu it has, the first are %s%s", path,
                    name == NULL ? "output.weight or token_embd.weight" : name, thr_tensors_gguf_count(file), names,
                    parts);
}

static thr_status check(const thr_gguf_tensor *tensor, const char *path, const char *what, thr_error *err) {
    const int length = tensor->n_name < NAME_MOST ? (int)tensor->n_name : NAME_MOST;
    if (thr_tensors_gguf_dtype(tensor->type) != THR_DTYPE_NONE)
        return THR_OK;
    return thr_fail(err, THR_EUNSUPPORTED,
                    "%s: the tensor %.*s is of type %s (%" PRIu32 "): %s must be F32, F16, BF16, Q8_0 or Q6_K: "
                    "convert the model with an output layer of one of these, or use the original model",
                    path, length, tensor->name, thr_tensors_gguf_type_name(tensor->type), tensor->type, what);
}

/* Find and widen the tensor "X.bias" beside "X.weight"; *bias is NULL without one. */
static thr_status read_bias(thr_context *context, const thr_gguf *file, const char *path,
                            const thr_gguf_tensor *weights, float **bias, uint64_t *n, thr_error *err) {
    static const char ending[] = "weight";
    const size_t end = strlen(ending);
    char name[NAME_MOST];
    if (weights->n_name < end || weights->n_name >= sizeof name ||
        memcmp(weights->name + weights->n_name - end, ending, end) != 0)
        return THR_OK;
    (void)snprintf(name, sizeof name, "%.*sbias", (int)(weights->n_name - end), weights->name);
    const thr_gguf_tensor *tensor = thr_tensors_gguf_find(file, name);
    if (tensor == NULL)
        return THR_OK;
    THR_TRY(check(tensor, path, "biases", err));
    if (tensor->n_axes != 1 || tensor->n_dims == 0 || tensor->n_dims > THR_HEAD_MAX_WORDS)
        return thr_fail(err, THR_EFORMAT, "%s: the tensor %s is not a vector of biases", path, name);
    *n = tensor->n_dims;
    THR_TRY(thr_alloc(context, (size_t)*n, sizeof **bias, bias, "the bias", err));
    thr_tensors_gguf_row(tensor, 0, *bias);
    return THR_OK;
}

static void tensor_row(const void *user, uint32_t w, float *out) {
    thr_tensors_gguf_row(user, w, out);
}

thr_status thr_head_create_gguf(thr_context *context, const char *path, const char *name,
                                const thr_head_build_options *options, thr_head **head, thr_error *err) {
    thr_head_build_options with_bias = *options;
    const thr_gguf_tensor *tensor = NULL;
    thr_gguf *file = NULL;
    float *bias = NULL;
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_tensors_gguf_open(context, path, &file, err));
    THR_TRY_OUT(find(file, path, name, &tensor, err));
    THR_TRY_OUT(check(tensor, path, "weights", err));
    const int length = tensor->n_name < NAME_MOST ? (int)tensor->n_name : NAME_MOST;
    if (tensor->n_axes != 2)
        THR_TRY_OUT(thr_fail(err, THR_EFORMAT,
                             "%s: the tensor %.*s has %" PRIu32 " axes: a head is a matrix of words by dimensions",
                             path, length, tensor->name, tensor->n_axes));
    if (tensor->n_dims == 0 || tensor->n_dims > THR_MAX_DIMS)
        THR_TRY_OUT(thr_fail(err, THR_EDIM, "%s: the tensor %.*s has %" PRIu64 " dimensions: a head has 1 to %d", path,
                             length, tensor->name, tensor->n_dims, THR_MAX_DIMS));
    if (options->bias == NULL)
        THR_TRY_OUT(read_bias(context, file, path, tensor, &bias, &with_bias.n_bias, err));
    if (bias != NULL)
        with_bias.bias = bias;
    const thr_head_source source = {tensor->n_rows, (uint32_t)tensor->n_dims, thr_tensors_gguf_dtype(tensor->type),
                                    tensor_row, tensor};
    THR_TRY_OUT(thr_head_make(context, &source, &with_bias, head, err));
out:
    thr_release(context, bias);
    thr_tensors_gguf_free(file);
    return status;
}
