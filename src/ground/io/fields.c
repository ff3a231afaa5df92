/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fields.c - find the end of a row by searches for single bytes, which run at memory speed in the C library, then
 * split the row in place. Each byte is visited a bounded number of times, whatever the input.
 */
#include "io/fields.h"

#include <string.h>

#include "base/error.h"
#include "base/minmax.h"

enum {
    BUFFER_BYTES = 256 << 10,
    BUFFER_LEAST = 8, /* room for a byte order mark, the byte before scanned, and the NUL */
    FIELDS_AT_FIRST = 16
};

static const char byte_order_mark[] = "\xef\xbb\xbf";
enum { MARK_BYTES = sizeof byte_order_mark - 1 };

thr_status thr_io_fields_start(thr_context *context, thr_stream *stream, bool csv, size_t buffer_bytes,
                               thr_fields *fields, thr_error *err) {
    *fields = (thr_fields){.context = context, .stream = stream, .separator = csv ? ',' : '\t', .quotes = csv};
    fields->capacity = buffer_bytes < BUFFER_BYTES ? buffer_bytes + BUFFER_LEAST : BUFFER_BYTES;
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_alloc(context, fields->capacity, 1, &fields->buffer, "rows of a table", err));
    fields->fields_capacity = FIELDS_AT_FIRST;
    THR_TRY_OUT(thr_alloc(context, FIELDS_AT_FIRST, sizeof *fields->fields, &fields->fields, "fields of a row", err));
out:
    if (status != THR_OK)
        thr_io_fields_stop(fields);
    return status;
}

void thr_io_fields_stop(thr_fields *fields) {
    if (fields->context == NULL)
        return;
    THR_RELEASE(fields->context, fields->buffer, fields->fields);
    *fields = (thr_fields){0};
}

/* ------------------------------------------------------------------------------------------------ buffer */

/* Read more bytes after end. Makes room first: drops the bytes before start, or grows the buffer. */
static thr_status fill(thr_fields *f, thr_error *err) {
    if (f->end + 1 == f->capacity && f->start == 0)
        THR_TRY(thr_grow(f->context, &f->buffer, &f->capacity, 2 * f->capacity, 1, "a long row", err));
    if (f->end + 1 == f->capacity) {
        memmove(f->buffer, f->buffer + f->start, f->end - f->start);
        f->base += f->start;
        f->end -= f->start;
        f->scanned -= f->start;
        f->newline -= f->start;
        f->start = 0;
    }
    size_t got = 0;
    THR_TRY(thr_io_stream_read_some(f->stream, f->buffer + f->end, f->capacity - 1 - f->end, &got, err));
    f->end += got;
    f->ended = got == 0;
    return THR_OK;
}

static thr_status skip_mark(thr_fields *f, thr_error *err) {
    while (f->end < MARK_BYTES && !f->ended)
        THR_TRY(fill(f, err));
    if (f->end >= MARK_BYTES && memcmp(f->buffer, byte_order_mark, MARK_BYTES) == 0)
        f->start = f->scanned = f->newline = MARK_BYTES;
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ rows */

/* Find a quote that opens a field in buffer[scanned, stop), which begins outside quotes; NULL if none. */
static const char *find_opening(const thr_fields *f, size_t stop) {
    const char *at = f->buffer + f->scanned, *end = f->buffer + stop;
    while ((at = memchr(at, '"', (size_t)(end - at))) != NULL) {
        if (at == f->buffer + f->start || at[-1] == f->separator)
            return at;
        at++;
    }
    return NULL;
}

/* From inside quotes, advance past the closing quote. Returns false if more input is needed. */
static bool leave_quotes(thr_fields *f) {
    const char *quote = memchr(f->buffer + f->scanned, '"', f->end - f->scanned);
    if (quote == NULL) {
        f->scanned = f->end;
        return false;
    }
    f->scanned = (size_t)(quote - f->buffer);
    if (f->scanned + 1 == f->end && !f->ended)
        return false; /* the next byte decides whether the quote is doubled */
    f->within = f->scanned + 1 < f->end && quote[1] == '"';
    f->scanned += f->within ? 2 : 1;
    return true;
}

/* Return whether the row's end is in the buffer; scanned is then its newline. */
static bool find_end(thr_fields *f) {
    for (;;) {
        if (f->within) {
            if (!leave_quotes(f))
                return false;
            continue;
        }
        if (f->newline < f->scanned)
            f->newline = f->scanned;
        const char *newline = memchr(f->buffer + f->newline, '\n', f->end - f->newline);
        f->newline = newline != NULL ? (size_t)(newline - f->buffer) : f->end;
        const char *quote = f->quotes ? find_opening(f, f->newline) : NULL;
        if (quote == NULL) {
            f->scanned = f->newline;
            return newline != NULL;
        }
        f->scanned = (size_t)(quote - f->buffer) + 1;
        f->within = f->quoted = true;
    }
}

/* Read until the row's end is found. *ends: it ends with a newline, not with the stream. */
static thr_status read_row(thr_fields *f, bool *ends, thr_error *err) {
    while (!(*ends = find_end(f)) && !f->ended) {
        /* The longest row may be followed by one more byte, \r. */
        if (f->end - f->start > THR_TABLE_ROW_MAX + 1)
            f->too_long = true;
        if (f->too_long) { /* the byte before scanned decides whether a quote opens a field */
            f->start = f->scanned - 1;
            f->newline = THR_MAX(f->scanned, f->newline);
        }
        THR_TRY(fill(f, err));
    }
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ fields */

static thr_status add(thr_fields *f, const char *text, size_t length, thr_error *err) {
    if (f->n_fields == f->fields_capacity)
        THR_TRY(thr_grow(f->context, &f->fields, &f->fields_capacity, f->n_fields + 1, sizeof *f->fields,
                         "fields of a row", err));
    f->fields[f->n_fields++] = (thr_field){.text = text, .length = length};
    return THR_OK;
}

/*
 * Unquote a field in place, from its opening quote at `at`. *out is the field's end; returns the text after the
 * quotes.
 */
static char *unquote(char *at, const char *end, char **out) {
    char *to = at++;
    for (;;) {
        /* A closing quote exists, otherwise the row would not end here. */
        const char *quote = memchr(at, '"', (size_t)(end - at));
        size_t n = (size_t)(quote - at);
        memmove(to, at, n);
        to += n;
        at += n + 1;
        if (at == end || *at != '"')
            break;
        *to++ = '"';
        at++;
    }
    *out = to;
    return at;
}

/* Split the row in [at, end). *end may be overwritten. */
static thr_status split(thr_fields *f, char *at, char *end, thr_error *err) {
    f->n_fields = 0;
    for (;;) {
        char *text = at, *to = at;
        if (f->quoted && at < end && *at == '"')
            at = unquote(at, end, &to);
        char *separator = memchr(at, f->separator, (size_t)(end - at));
        char *stop = separator != NULL ? separator : end;
        size_t rest = (size_t)(stop - at);
        if (to != at)
            memmove(to, at, rest);
        to[rest] = '\0';
        THR_TRY(add(f, text, (size_t)(to - text) + rest, err));
        if (separator == NULL)
            return THR_OK;
        at = separator + 1;
    }
}

thr_status thr_io_fields_next(thr_fields *f, thr_row_kind *kind, thr_error *err) {
    bool ends = false;
    *kind = THR_ROW_NONE;
    f->n_fields = 0;
    if (f->row == 0)
        THR_TRY(skip_mark(f, err));
    uint64_t offset = f->base + f->start;
    f->too_long = f->within = f->quoted = false;
    THR_TRY(read_row(f, &ends, err));
    if (f->within)
        return thr_fail(
            err, THR_ECORRUPT,
            "%s: ends within quotes that open in row %llu, at byte %llu: fetch the file again, or close the "
            "quotes there",
            f->stream->name, (unsigned long long)(f->row + 1), (unsigned long long)offset);
    if (!ends && f->start == f->end)
        return THR_OK;
    f->row++;
    f->row_offset = offset;
    char *row = f->buffer + f->start;
    size_t length = f->scanned - f->start;
    f->scanned += ends;
    f->start = f->scanned;
    if (ends && length > 0 && row[length - 1] == '\r')
        length--;
    if (f->too_long || length > THR_TABLE_ROW_MAX) {
        *kind = THR_ROW_LONG;
        return THR_OK;
    }
    if (length > 0 && memchr(row, '\0', length) != NULL) {
        *kind = THR_ROW_NUL;
        return THR_OK;
    }
    *kind = THR_ROW_GIVEN;
    return split(f, row, row + length, err);
}
