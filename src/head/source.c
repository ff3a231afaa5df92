/* SPDX-License-Identifier: Apache-2.0 */
/* source.c - reading weights and bias from files: rows of numbers, or tensors by name. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "head/head.h"
#include "io/endings.h"
#include "tensors/safetensors.h"

enum { NAME_MOST = 256, LISTED = 8 };

/* The usual names of output layers, then those of the embeddings they may be tied to. */
static const char *const USUAL_NAMES[] = {
    "lm_head.weight",
    "output.weight",
    "embed_out.weight",
    "decoder.output_projection.weight",
    "proj.weight",
    "model.embed_tokens.weight",
    "transformer.wte.weight",
    "wte.weight",
    "decoder.embed_tokens.weight",
    "shared.weight",
    "embeddings.weight",
};

/* ------------------------------------------------------------------------------------------------ from tensors */

/* List a file's first tensor names, for a message. */
static void list_names(const thr_tensors *tensors, char *text, size_t size) {
    size_t n = 0;
    for (size_t i = 0; i < thr_tensors_count(tensors) && i < LISTED && n < size; i++) {
        const int written =
            snprintf(text + n, size - n, "%s%.40s", i > 0 ? ", " : "", thr_tensors_at(tensors, i)->name);
        n += written > 0 ? (size_t)written : 0;
    }
}

static thr_status find(const thr_tensors *tensors, const char *path, const char *name, const thr_tensor **tensor,
                       thr_error *err) {
    char names[LISTED * 48] = "none";
    for (size_t i = 0; name == NULL && i < sizeof USUAL_NAMES / sizeof *USUAL_NAMES; i++)
        if (thr_tensors_find(tensors, USUAL_NAMES[i]) != NULL)
            name = USUAL_NAMES[i];
    *tensor = name == NULL ? NULL : thr_tensors_find(tensors, name);
    if (*tensor != NULL)
        return THR_OK;
    list_names(tensors, names, sizeof names);
    return thr_fail(err, THR_ENOTFOUND, "%s: has no tensor %s: of %zu it has, the first are %s", path,
                    name == NULL ? "with the usual name of a head" : name, thr_tensors_count(tensors), names);
}

static bool has_numbers(const thr_tensor *tensor, uint32_t n_axes) {
    return (tensor->dtype == THR_DTYPE_F32 || tensor->dtype == THR_DTYPE_F16 || tensor->dtype == THR_DTYPE_BF16) &&
           tensor->n_axes == n_axes;
}

/* Find and widen the tensor "X.bias" beside "X.weight"; *bias is NULL without one. */
static thr_status read_bias(thr_context *context, const thr_tensors *tensors, const char *path, const char *weight,
                            float **bias, uint64_t *n, thr_error *err) {
    static const char ending[] = "weight", other[] = "bias";
    char name[NAME_MOST];
    const size_t length = strlen(weight);
    if (length < strlen(ending) || length >= sizeof name || strcmp(weight + length - strlen(ending), ending) != 0)
        return THR_OK;
    (void)snprintf(name, sizeof name, "%.*s%s", (int)(length - strlen(ending)), weight, other);
    const thr_tensor *tensor = thr_tensors_find(tensors, name);
    if (tensor == NULL)
        return THR_OK;
    if (!has_numbers(tensor, 1) || tensor->shape[0] == 0 || tensor->shape[0] > THR_HEAD_MAX_WORDS)
        return thr_fail(err, THR_EFORMAT, "%s: the tensor %s is not a vector of F32, F16 or BF16", path, name);
    *n = tensor->shape[0];
    THR_TRY(thr_alloc(context, (size_t)*n, sizeof **bias, bias, "the bias", err));
    const thr_matrix all = {tensor->data, 1, (uint32_t)*n, tensor->dtype, tensor->n_bytes};
    return thr_matrix_to_f32(&all, 0, 1, *bias);
}

static thr_status from_tensors(thr_context *context, const char *path, const char *name,
                               const thr_head_build_options *options, thr_head **head, thr_error *err) {
    thr_head_build_options with_bias = *options;
    const thr_tensor *tensor = NULL;
    thr_tensors *tensors = NULL;
    float *bias = NULL;
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_tensors_open(context, path, &tensors, err));
    THR_TRY_OUT(find(tensors, path, name, &tensor, err));
    if (!has_numbers(tensor, 2))
        THR_TRY_OUT(
            thr_fail(err, THR_EFORMAT,
                     "%s: the tensor %s is not a matrix of F32, F16 or BF16: a head is a matrix of words by dimensions",
                     path, tensor->name));
    if (tensor->shape[1] == 0 || tensor->shape[1] > THR_MAX_DIMS)
        THR_TRY_OUT(thr_fail(err, THR_EDIM, "%s: the tensor %s has %" PRIu64 " dimensions: a head has 1 to %d", path,
                             tensor->name, tensor->shape[1], THR_MAX_DIMS));
    if (options->bias == NULL)
        THR_TRY_OUT(read_bias(context, tensors, path, tensor->name, &bias, &with_bias.n_bias, err));
    if (bias != NULL)
        with_bias.bias = bias;
    const uint32_t n_dims = (uint32_t)tensor->shape[1];
    const thr_matrix weights = {tensor->data, tensor->shape[0], n_dims, tensor->dtype,
                                n_dims * thr_dtype_size(tensor->dtype)};
    THR_TRY_OUT(thr_head_create(context, &weights, &with_bias, head, err));
out:
    thr_release(context, bias);
    thr_tensors_free(tensors);
    return status;
}

/* ------------------------------------------------------------------------------------------------ from rows */

/* Read all rows of a reader into one dense matrix. */
static thr_status read_rows(thr_context *context, thr_reader *reader, void **rows, thr_matrix *all, thr_error *err) {
    const thr_reader_shape shape = thr_reader_get_shape(reader);
    const size_t size = shape.n_dims * thr_dtype_size(shape.dtype);
    size_t capacity = 0;
    *all = (thr_matrix){.n_dims = shape.n_dims, .dtype = shape.dtype, .stride = size};
    for (;;) {
        thr_matrix piece;
        THR_TRY(thr_reader_next(reader, THR_HEAD_MAX_WORDS, &piece, err));
        if (piece.n_rows == 0)
            return THR_OK;
        if (piece.n_rows > THR_HEAD_MAX_WORDS - all->n_rows)
            return thr_fail(err, THR_EDIM, "%s: more than %" PRIu32 " rows, which is as many words as a head may have",
                            thr_reader_name(reader), THR_HEAD_MAX_WORDS);
        const size_t n = (size_t)(all->n_rows + piece.n_rows);
        THR_TRY(thr_grow(context, rows, &capacity, n, size, "the weights", err));
        for (uint64_t i = 0; i < piece.n_rows; i++)
            memcpy((char *)*rows + (all->n_rows + i) * size, (const char *)piece.data + i * piece.stride, size);
        all->n_rows = n;
        all->data = *rows;
    }
}

static thr_status from_rows(thr_context *context, const char *path, const thr_head_build_options *options,
                            thr_head **head, thr_error *err) {
    thr_reader *reader = NULL;
    thr_matrix all;
    void *rows = NULL;
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_reader_open(context, path, &reader, err));
    if (thr_reader_get_shape(reader).dtype == THR_DTYPE_NONE)
        THR_TRY_OUT(thr_fail(err, THR_EFORMAT, "%s: is a text; a head is made of rows of numbers", path));
    THR_TRY_OUT(read_rows(context, reader, &rows, &all, err));
    if (all.n_rows == 0)
        THR_TRY_OUT(thr_fail(err, THR_EDIM, "%s: has no rows: a head has a word at least", path));
    THR_TRY_OUT(thr_head_create(context, &all, options, head, err));
out:
    thr_reader_free(reader);
    thr_release(context, rows);
    return status;
}

/* -------------------------------------------------------------------------------------- choose by the file's ending */

static bool ends_with(const char *path, const char *ending) {
    const size_t length = strlen(path), n = strlen(ending);
    return length >= n && strcmp(path + length - n, ending) == 0;
}

thr_status thr_head_create_file(thr_context *context, const char *path, const char *tensor,
                                const thr_head_build_options *options, thr_head **out, thr_error *err) {
    thr_head_build_options complete;
    if (out != NULL)
        *out = NULL;
    if (context == NULL || path == NULL || out == NULL)
        return thr_fail(err, THR_EINVAL, "the context, the path or the pointer to the head is NULL");
    thr_head_build_options_init(&complete);
    if (options != NULL)
        complete = *options;
    if (ends_with(path, ".safetensors"))
        return from_tensors(context, path, tensor, &complete, out, err);
    if (ends_with(path, ".gguf"))
        return thr_head_create_gguf(context, path, tensor, &complete, out, err);
    if (tensor != NULL)
        return thr_fail(err, THR_EINVAL,
                        "%s: cannot find tensor %s: only .safetensors and .gguf files have named tensors", path,
                        tensor);
    THR_TRY(thr_io_ending_check_file(path, err));
    if (!thr_io_ending_is_known(path))
        return thr_io_ending_refuse(path, THR_ENDINGS_NUMBERS, " .safetensors .gguf", err);
    return from_rows(context, path, &complete, out, err);
}
