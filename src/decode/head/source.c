/* SPDX-License-Identifier: Apache-2.0 */
/* source.c - reading weights from files of rows, and choosing the reader of a file. */
#include <inttypes.h>
#include <string.h>

#include "base/text/ends_with.h"
#include "base/error.h"
#include "head/layers.h"
#include "io/endings.h"
#include "io/reader.h"

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
                            thr_io_reader_name(reader), THR_HEAD_MAX_WORDS);
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
    thr_head_note_taken(&complete, path, "", NULL, false);
    if (thr_tensors_checkpoint_is(path))
        return thr_head_create_tensors(context, path, tensor, &complete, out, err);
    if (thr_ends_with(path, ".gguf"))
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
