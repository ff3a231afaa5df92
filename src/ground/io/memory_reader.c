/* SPDX-License-Identifier: Apache-2.0 */
/* memory_reader.c - readers over rows in memory, or over rows that a callback produces. */
#include "base/error.h"
#include "base/minmax.h"
#include "io/reader.h"

typedef struct function_state {
    thr_rows_fn fn;
    void *user;
    float *buffer;
    uint64_t capacity; /* rows */
} function_state;

enum { BUFFER_BYTES = 1 << 20 };

/* Create a reader with a zeroed state of size bytes. */
static thr_status make(thr_context *context, const char *name, const thr_reader_ops *ops, thr_reader_shape shape,
                       size_t size, thr_reader **reader, thr_error *err) {
    THR_TRY(thr_io_reader_make(context, name, reader, err));
    (*reader)->shape = shape;
    thr_status status = thr_alloc_zero(context, 1, size, &(*reader)->state, "a reader", err);
    if (status == THR_OK) {
        (*reader)->ops = ops;
    } else {
        thr_reader_free(*reader);
        *reader = NULL;
    }
    return status;
}

static thr_status check_dims(const char *name, uint32_t n_dims, thr_error *err) {
    if (n_dims != 0 && n_dims <= THR_MAX_DIMS)
        return THR_OK;
    return thr_fail(err, THR_EINVAL, "%s: rows of %u dimensions: 1 to %d are possible", name, n_dims, THR_MAX_DIMS);
}

static thr_status matrix_next(thr_reader *reader, uint64_t max_rows, thr_matrix *rows, thr_error *err) {
    (void)err;
    const thr_matrix *all = reader->state;
    const uint64_t left = all->n_rows - reader->next_row;
    *rows = *all;
    rows->n_rows = THR_MIN(left, max_rows);
    if (rows->n_rows != 0)
        rows->data = (const char *)all->data + reader->next_row * all->stride;
    reader->next_row += rows->n_rows;
    return THR_OK;
}

static void matrix_close(thr_reader *reader) {
    thr_release(reader->context, reader->state);
}

thr_status thr_reader_from_matrix(thr_context *context, const thr_matrix *rows, thr_reader **reader, thr_error *err) {
    static const thr_reader_ops ops = {.next = matrix_next, .close = matrix_close};
    *reader = NULL;
    THR_TRY(check_dims("vectors", rows->n_dims, err));
    size_t value = thr_dtype_size(rows->dtype), bytes = 0;
    if (value == 0)
        return thr_fail(err, THR_EINVAL, "vectors: %d is no thr_dtype", (int)rows->dtype);
    if (rows->stride < rows->n_dims * value)
        return thr_fail(err, THR_EINVAL, "vectors: a stride of %zu bytes, but a row of %u %s is %zu", rows->stride,
                        rows->n_dims, thr_dtype_name(rows->dtype), rows->n_dims * value);
    if ((rows->n_rows != 0 && rows->data == NULL) || rows->n_rows > SIZE_MAX ||
        !thr_mul_size((size_t)rows->n_rows, rows->stride, &bytes))
        return thr_fail(err, THR_EINVAL, "vectors: data is NULL, or %llu rows are too many",
                        (unsigned long long)rows->n_rows);
    thr_reader_shape shape = {.n_rows = rows->n_rows, .n_dims = rows->n_dims, .dtype = rows->dtype, .seekable = true};
    THR_TRY(make(context, "vectors", &ops, shape, sizeof *rows, reader, err));
    *(thr_matrix *)(*reader)->state = *rows;
    return THR_OK;
}

static thr_status function_next(thr_reader *reader, uint64_t max_rows, thr_matrix *rows, thr_error *err) {
    function_state *s = reader->state;
    uint64_t left = reader->shape.n_rows - reader->next_row; /* THR_ROWS_UNKNOWN exceeds the length of every stream */
    uint64_t want = THR_MIN(max_rows, s->capacity);
    want = THR_MIN(want, left);
    uint64_t n = want != 0 ? s->fn(s->user, reader->next_row, want, s->buffer) : 0;
    if (n > want)
        return thr_fail(err, THR_EINVAL, "function: gave %llu rows from row %llu on, where %llu were asked for",
                        (unsigned long long)n, (unsigned long long)reader->next_row, (unsigned long long)want);
    *rows = thr_matrix_f32(s->buffer, n, reader->shape.n_dims);
    reader->next_row += n;
    return THR_OK;
}

static void function_close(thr_reader *reader) {
    function_state *s = reader->state;
    THR_RELEASE(reader->context, s->buffer, s);
}

thr_status thr_reader_from_function(thr_context *context, uint64_t n_rows, uint32_t n_dims, thr_rows_fn fn, void *user,
                                    thr_reader **reader, thr_error *err) {
    static const thr_reader_ops ops = {.next = function_next, .close = function_close};
    *reader = NULL;
    THR_TRY(check_dims("vectors", n_dims, err));
    if (fn == NULL)
        return thr_fail(err, THR_EINVAL, "function: there is none: give a function that writes rows");
    thr_reader_shape shape = {
        .n_rows = n_rows, .n_dims = n_dims, .dtype = THR_DTYPE_F32, .seekable = n_rows != THR_ROWS_UNKNOWN};
    THR_TRY(make(context, "vectors", &ops, shape, sizeof(function_state), reader, err));
    function_state *s = (*reader)->state;
    s->fn = fn;
    s->user = user;
    s->capacity = BUFFER_BYTES / (n_dims * sizeof(float));
    thr_status status = thr_alloc(context, (size_t)s->capacity, n_dims * sizeof(float), &s->buffer, "rows", err);
    if (status != THR_OK) {
        thr_reader_free(*reader);
        *reader = NULL;
    }
    return status;
}
