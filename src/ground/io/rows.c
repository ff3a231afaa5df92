/* SPDX-License-Identifier: Apache-2.0 */
#include "io/rows.h"

#include <string.h>

#include "base/error.h"
#include "base/minmax.h"

/*
 * After a seek, the first fill reads only the requested rows, and each further fill FILL_GROWTH times more, so that
 * scattered reads do not cost whole buffers.
 */
enum { FILL_GROWTH = 8 };

typedef struct rows_state {
    thr_rows_layout layout;
    size_t record; /* prefix and values */
    uint8_t *buffer;
    uint64_t capacity; /* capacity of the buffer */
    uint64_t fill;     /* rows to read in the next fill, at least as many as requested */
    uint64_t first;    /* number of the first row in the buffer */
    uint64_t count;    /* rows in the buffer */
    uint64_t cursor;   /* rows of the buffer already returned */
} rows_state;

static unsigned long long offset_of(const rows_state *s, uint64_t row) {
    return s->layout.offset + row * s->record;
}

static thr_status fail_cut(const thr_reader *reader, uint64_t row, thr_error *err) {
    const rows_state *s = reader->state;
    return thr_fail(err, THR_ECORRUPT, "%s: cut short in row %llu at byte %llu: write or fetch it again", reader->name,
                    (unsigned long long)row, offset_of(s, row));
}

static thr_status check_prefixes(const thr_reader *reader, const rows_state *s, thr_error *err) {
    uint32_t n_dims = reader->shape.n_dims;
    for (uint64_t r = 0; r < s->count; r++) {
        uint32_t found = thr_load_u32(s->buffer + r * s->record);
        if (found != n_dims)
            return thr_fail(err, THR_ECORRUPT,
                            "%s: row %llu at byte %llu has %ld dimensions, row 0 has %u: every row must have as many",
                            reader->name, (unsigned long long)(s->first + r), offset_of(s, s->first + r),
                            (long)(int32_t)found, n_dims);
    }
    return THR_OK;
}

/* Check that nothing follows the last row but what the layout allows. For a plain file, opening checked its size. */
static thr_status check_end(thr_reader *reader, thr_error *err) {
    const rows_state *s = reader->state;
    if (reader->stream.size != THR_SIZE_UNKNOWN)
        return THR_OK;
    uint64_t more = 0;
    THR_TRY(thr_io_stream_skip(&reader->stream, s->layout.after + 1, &more, err));
    if (more == 0 || more == s->layout.after)
        return THR_OK;
    unsigned long long end = offset_of(s, reader->shape.n_rows);
    if (more <= s->layout.after)
        return thr_fail(err, THR_ECORRUPT, "%s: cut short at byte %llu, after the last row: write or fetch it again",
                        reader->name, (unsigned long long)reader->stream.position);
    return thr_fail(err, THR_ECORRUPT, "%s: longer than its header's %llu rows, %llu bytes: write or fetch it again",
                    reader->name, (unsigned long long)reader->shape.n_rows, end + s->layout.after);
}

/*
 * Read at most `want` rows, as many as a pipe has by now, but `least` at least. Waiting for more would keep a program
 * from the rows that it asked for.
 */
static thr_status read_ready(thr_reader *reader, uint64_t want, uint64_t least, size_t *got, thr_error *err) {
    const rows_state *s = reader->state;
    const size_t most = (size_t)want * s->record, enough = least < want ? (size_t)least * s->record : most;
    size_t n = 1;
    for (*got = 0; n != 0 && (*got < enough || *got % s->record != 0); *got += n)
        THR_TRY(thr_io_stream_read_some(&reader->stream, s->buffer + *got, most - *got, &n, err));
    return THR_OK;
}

static thr_status fill(thr_reader *reader, uint64_t max_rows, thr_error *err) {
    rows_state *s = reader->state;
    s->first += s->count;
    s->count = 0;
    s->cursor = 0;
    bool counted = reader->shape.n_rows != THR_ROWS_UNKNOWN;
    uint64_t want = THR_MAX(max_rows, s->fill);
    want = THR_MIN(want, s->capacity);
    if (counted && want > reader->shape.n_rows - s->first)
        want = reader->shape.n_rows - s->first;
    if (want == 0)
        return check_end(reader, err);
    s->fill = THR_MIN(s->fill * FILL_GROWTH, s->capacity);

    size_t got = 0;
    if (counted)
        THR_TRY(thr_io_stream_read(&reader->stream, s->buffer, (size_t)want * s->record, &got, err));
    else
        THR_TRY(read_ready(reader, want, max_rows, &got, err));
    uint64_t whole = got / s->record;
    if (got % s->record != 0 || (counted && whole < want))
        return fail_cut(reader, s->first + whole, err);
    s->count = whole;
    if (s->layout.prefix != 0)
        THR_TRY(check_prefixes(reader, s, err));
    if (counted && s->first + s->count == reader->shape.n_rows)
        THR_TRY(check_end(reader, err));
    return THR_OK;
}

static thr_status rows_next(thr_reader *reader, uint64_t max_rows, thr_matrix *rows, thr_error *err) {
    rows_state *s = reader->state;
    if (s->cursor == s->count)
        THR_TRY(fill(reader, max_rows, err));
    uint64_t n = THR_MIN(s->count - s->cursor, max_rows);
    rows->data = s->buffer + s->cursor * s->record + s->layout.prefix;
    rows->n_rows = n;
    rows->stride = s->record;
    s->cursor += n;
    return THR_OK;
}

static void rows_seek(thr_reader *reader, uint64_t row) {
    rows_state *s = reader->state;
    if (reader->broken == THR_OK && row >= s->first && row < s->first + s->count) {
        s->cursor = row - s->first;
        return;
    }
    thr_io_stream_seek(&reader->stream, s->layout.offset + row * s->record);
    s->first = row;
    s->count = 0;
    s->cursor = 0;
    s->fill = 1;
}

static void rows_close(thr_reader *reader) {
    rows_state *s = reader->state;
    if (s == NULL)
        return;
    THR_RELEASE(reader->context, s->buffer, s);
}

static const thr_reader_ops rows_ops = {.next = rows_next, .seek = rows_seek, .close = rows_close};

/* Compare the size of a plain file with its header, or compute the number of rows from it if there is no header. */
static thr_status check_size(thr_reader *reader, const rows_state *s, thr_error *err) {
    uint64_t size = reader->stream.size, n_rows = reader->shape.n_rows, expected = 0;
    const char *mistake = s->layout.mistake != NULL ? s->layout.mistake : "";
    if (n_rows == THR_ROWS_UNKNOWN) {
        if (size == THR_SIZE_UNKNOWN)
            return THR_OK;
        n_rows = (size - s->layout.offset) / s->record;
        uint64_t rest = (size - s->layout.offset) % s->record;
        if (rest != 0)
            return thr_fail(
                err, THR_ECORRUPT,
                "%s: %llu bytes are not whole rows of %zu bytes (%u dimensions): row %llu at byte %llu is cut "
                "short%s: write or fetch it again",
                reader->name, (unsigned long long)size, s->record, reader->shape.n_dims, (unsigned long long)n_rows,
                offset_of(s, n_rows), mistake);
        reader->shape.n_rows = n_rows;
        return THR_OK;
    }
    if (__builtin_mul_overflow(n_rows, s->record, &expected) ||
        __builtin_add_overflow(expected, s->layout.offset, &expected) || expected > INT64_MAX)
        return thr_fail(err, THR_EFORMAT, "%s: the header has %llu rows of %u dimensions, more than any file holds",
                        reader->name, (unsigned long long)n_rows, reader->shape.n_dims);
    if (size == THR_SIZE_UNKNOWN || size == expected || (size > expected && size - expected == s->layout.after))
        return THR_OK;
    return thr_fail(
        err, THR_ECORRUPT,
        "%s: is %llu bytes; its header has %llu rows of %u %s, which is %llu bytes%s: write or fetch it again",
        reader->name, (unsigned long long)size, (unsigned long long)n_rows, reader->shape.n_dims,
        thr_dtype_name(reader->shape.dtype), (unsigned long long)expected, mistake);
}

thr_status thr_io_rows_start(thr_reader *reader, const thr_rows_layout *layout, thr_error *err) {
    const thr_reader_shape *shape = &reader->shape;
    if ((shape->n_dims == 0 && shape->n_rows != 0) || shape->n_dims > THR_MAX_DIMS)
        return thr_fail(err, THR_EFORMAT, "%s: rows of %u dimensions: 1 to %d are possible", reader->name,
                        shape->n_dims, THR_MAX_DIMS);
    rows_state *s = NULL;
    THR_TRY(thr_alloc_zero(reader->context, 1, sizeof *s, &s, "a reader", err));
    reader->state = s;
    reader->ops = &rows_ops;
    s->layout = *layout;
    s->record = layout->prefix + (shape->n_dims > 0 ? shape->n_dims : 1) * thr_dtype_size(shape->dtype);
    THR_TRY(check_size(reader, s, err));
    reader->shape.seekable = reader->stream.seekable;

    s->capacity = reader->buffer_bytes > s->record ? reader->buffer_bytes / s->record : 1;
    if (reader->shape.n_rows < s->capacity)
        s->capacity = reader->shape.n_rows != 0 ? reader->shape.n_rows : 1;
    s->fill = s->capacity;
    return thr_alloc(reader->context, (size_t)s->capacity, s->record, &s->buffer, "rows of a file", err);
}
