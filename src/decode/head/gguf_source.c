/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_source.c - reading weights and bias from GGUF models, row by row. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/minmax.h"
#include "head/layers.h"
#include "tensors/gguf.h"

enum { NAME_MOST = 256 };

/* The parts of a model. */
typedef struct gguf_part {
    char *path;
    thr_gguf *file; /* NULL: it cannot be opened */
} gguf_part;

typedef struct gguf_model {
    thr_context *context;
    gguf_part *parts;
    size_t n_parts, parts_capacity, n_tensors;
    const char *missing;
    thr_head_layer *layers; /* of all parts, in their order */
    char *names;
} gguf_model;

/* ------------------------------------------------------------------------------------------------ parts */

static thr_status add_part(gguf_model *m, const char *path, thr_gguf *file, thr_error *err) {
    thr_status status =
        thr_grow(m->context, &m->parts, &m->parts_capacity, m->n_parts + 1, sizeof *m->parts, "parts of a model", err);
    gguf_part part = {.file = file};
    if (status == THR_OK)
        status = thr_path_append(m->context, path, "", &part.path, err);
    if (status != THR_OK) {
        thr_tensors_gguf_free(file);
        return status;
    }
    if (file == NULL)
        m->missing = part.path;
    else
        m->n_tensors += thr_tensors_gguf_count(file);
    m->parts[m->n_parts++] = part;
    return THR_OK;
}

/* Where the part's number is in "NAME-00002-of-00005.gguf"; NULL in another name. */
static char *find_number(char *path) {
    static const char pattern[] = "-00000-of-00000.gguf";
    const size_t length = strlen(path), n = sizeof pattern - 1;
    char *at = length > n ? path + length - n : NULL;
    for (size_t i = 0; at != NULL && i < n; i++)
        if (pattern[i] == '0' ? at[i] < '0' || at[i] > '9' : at[i] != pattern[i])
            return NULL;
    return at != NULL ? at + 1 : NULL;
}

/* Open a file and the other parts of its model, which have its name but for the number. */
static thr_status open_parts(gguf_model *m, const char *path, thr_error *err) {
    thr_gguf *file = NULL;
    char *other = NULL;
    THR_TRY(thr_tensors_gguf_open(m->context, path, &file, err));
    const uint32_t n = thr_tensors_gguf_parts(file);
    THR_TRY(add_part(m, path, file, err));
    THR_TRY(thr_path_append(m->context, path, "", &other, err));
    char *number = n > 1 ? find_number(other) : NULL;
    const unsigned long own = number != NULL ? strtoul(number, NULL, 10) : 0;
    thr_status status = THR_OK;
    if (n > 1 && number == NULL)
        m->missing = "other part (name them NAME-00001-of-00002.gguf, ...)";
    for (uint32_t i = 1; number != NULL && i <= n && i < 100000 && status == THR_OK; i++) {
        thr_error why;
        if (i == own)
            continue;
        for (uint32_t digit = 5, rest = i; digit-- > 0; rest /= 10)
            number[digit] = (char)('0' + rest % 10);
        file = NULL;
        status = thr_tensors_gguf_open(m->context, other, &file, &why);
        status = status == THR_ENOMEM ? thr_pass_on(status, &why, err) : add_part(m, other, file, err);
    }
    thr_release(m->context, other);
    return status;
}

static void close_parts(gguf_model *m) {
    for (size_t i = 0; i < m->n_parts; i++) {
        thr_tensors_gguf_free(m->parts[i].file);
        thr_release(m->context, m->parts[i].path);
    }
    THR_RELEASE(m->context, m->parts, m->layers, m->names);
}

/* ------------------------------------------------------------------------------------------------ tensors */

/* Tensor i of all parts, and its file's path. */
static const thr_gguf_tensor *tensor_at(const gguf_model *m, size_t i, const char **path) {
    size_t part = 0;
    for (; m->parts[part].file == NULL || i >= thr_tensors_gguf_count(m->parts[part].file); part++)
        i -= m->parts[part].file == NULL ? 0 : thr_tensors_gguf_count(m->parts[part].file);
    *path = m->parts[part].path;
    return thr_tensors_gguf_at(m->parts[part].file, i);
}

static thr_status list(gguf_model *m, thr_error *err) {
    const char *path;
    size_t n_bytes = 0;
    THR_TRY(thr_alloc(m->context, m->n_tensors, sizeof *m->layers, &m->layers, "a list of tensors", err));
    for (size_t i = 0; i < m->n_tensors; i++)
        n_bytes += tensor_at(m, i, &path)->n_name + 1;
    THR_TRY(thr_alloc(m->context, n_bytes, 1, &m->names, "names of tensors", err));
    char *to = m->names;
    for (size_t i = 0; i < m->n_tensors; i++) {
        const thr_gguf_tensor *t = tensor_at(m, i, &path);
        m->layers[i] = (thr_head_layer){to, t->n_axes, t->n_rows, t->n_dims};
        if (t->n_axes == 1)
            m->layers[i].n_rows = t->n_dims, m->layers[i].n_dims = 1;
        memcpy(to, t->name, t->n_name);
        to[t->n_name] = '\0';
        to += t->n_name + 1;
    }
    return THR_OK;
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

static thr_status check_weights(const thr_gguf_tensor *tensor, const char *path, thr_error *err) {
    const int length = tensor->n_name < NAME_MOST ? (int)tensor->n_name : NAME_MOST;
    THR_TRY(check(tensor, path, "weights", err));
    if (tensor->n_axes != 2)
        return thr_fail(err, THR_EFORMAT,
                        "%s: the tensor %.*s has %" PRIu32 " axes: a head is a matrix of words by dimensions", path,
                        length, tensor->name, tensor->n_axes);
    if (tensor->n_dims == 0 || tensor->n_dims > THR_MAX_DIMS)
        return thr_fail(err, THR_EDIM, "%s: the tensor %.*s has %" PRIu64 " dimensions: a head has 1 to %d", path,
                        length, tensor->name, tensor->n_dims, THR_MAX_DIMS);
    return THR_OK;
}

/* Widen a bias. */
static thr_status read_bias(thr_context *context, const char *path, const thr_gguf_tensor *tensor, float **bias,
                            uint64_t *n, thr_error *err) {
    THR_TRY(check(tensor, path, "biases", err));
    if (tensor->n_axes != 1 || tensor->n_dims == 0 || tensor->n_dims > THR_HEAD_MAX_WORDS)
        return thr_fail(err, THR_EFORMAT, "%s: the tensor %.*s is not a vector of biases", path,
                        (int)THR_MIN(tensor->n_name, NAME_MOST), tensor->name);
    *n = tensor->n_dims;
    THR_TRY(thr_alloc(context, (size_t)*n, sizeof **bias, bias, "the bias", err));
    thr_tensors_gguf_row(tensor, 0, *bias);
    return THR_OK;
}

static void tensor_row(const void *user, uint32_t w, float *out) {
    thr_tensors_gguf_row(user, w, out);
}

/* A whole GGUF model without an output layer has it tied to its embeddings: the format has no other way to state it. */
thr_status thr_head_create_gguf(thr_context *context, const char *path, const char *name,
                                const thr_head_build_options *options, thr_head **head, thr_error *err) {
    thr_head_build_options with_bias = *options;
    gguf_model model = {.context = context};
    const char *file = NULL, *bias_file = NULL;
    float *bias = NULL;
    ptrdiff_t bias_at = THR_HEAD_NO_LAYER;
    size_t chosen = 0;
    bool tied = false;
    thr_status status = THR_OK;
    THR_TRY_OUT(open_parts(&model, path, err));
    THR_TRY_OUT(list(&model, err));
    const thr_head_layers layers = {path, model.layers, model.n_tensors, model.missing};
    THR_TRY_OUT(thr_head_layers_choose(&layers, name, &chosen, &tied, err));
    if (tied && name == NULL)
        THR_TRY_OUT(thr_head_layers_check_tied(&layers, chosen, THR_TYING_WHOLE, err));
    const thr_gguf_tensor *tensor = tensor_at(&model, chosen, &file);
    THR_TRY_OUT(check_weights(tensor, file, err));
    if (options->bias == NULL)
        THR_TRY_OUT(thr_head_layers_bias(&layers, chosen, tied, &bias_at, err));
    if (bias_at != THR_HEAD_NO_LAYER) {
        const thr_gguf_tensor *bias_tensor = tensor_at(&model, (size_t)bias_at, &bias_file);
        THR_TRY_OUT(read_bias(context, bias_file, bias_tensor, &bias, &with_bias.n_bias, err));
        with_bias.bias = bias;
    }
    const thr_head_source source = {tensor->n_rows, (uint32_t)tensor->n_dims, thr_tensors_gguf_dtype(tensor->type),
                                    tensor_row, tensor};
    THR_TRY_OUT(thr_head_make(context, &source, &with_bias, head, err));
    thr_head_note_taken(options, file, model.layers[chosen].name,
                        bias_at != THR_HEAD_NO_LAYER ? model.layers[bias_at].name : NULL, tied);
out:
    thr_release(context, bias);
    close_parts(&model);
    return status;
}
