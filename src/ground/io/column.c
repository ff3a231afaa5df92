/* SPDX-License-Identifier: Apache-2.0 */
/*
 * column.c - one or several columns of a table as lines of a text; several are joined by tabs.
 *
 * A line corresponds to an item. A row without the column is an error: skipping it would shift the numbers of all
 * later items.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/minmax.h"
#include "io/fields.h"

typedef struct column_state {
    thr_fields fields;
    size_t *columns; /* column numbers from 0, without duplicates */
    size_t n_columns, columns_capacity;
    char *joined; /* buffer for the line if several columns are joined */
    size_t joined_capacity;
} column_state;

static thr_status next_row(thr_reader *reader, thr_row_kind *kind, thr_error *err) {
    column_state *s = reader->state;
    THR_TRY(thr_io_fields_next(&s->fields, kind, err));
    const unsigned long long row = s->fields.row, offset = s->fields.row_offset;
    if (*kind == THR_ROW_LONG)
        return thr_fail(err, THR_EFORMAT,
                        "%s: row %llu, at byte %llu, is longer than %d bytes: shorten it, or look for a quote that is "
                        "not closed",
                        reader->name, row, offset, THR_TABLE_ROW_MAX);
    if (*kind == THR_ROW_NUL)
        return thr_fail(err, THR_EFORMAT,
                        "%s: row %llu, at byte %llu, holds a NUL byte: convert the text to UTF-8 (UTF-16 has such "
                        "bytes)",
                        reader->name, row, offset);
    return THR_OK;
}

static thr_status fail_short(const thr_reader *reader, size_t column, thr_error *err) {
    const column_state *s = reader->state;
    return thr_fail(err, THR_EFORMAT,
                    "%s: row %llu, at byte %llu, has %zu columns, where column %zu is wanted: correct the row, or name "
                    "another column",
                    reader->name, (unsigned long long)s->fields.row, (unsigned long long)s->fields.row_offset,
                    s->fields.n_fields, column + 1);
}

/* Join the columns. The line is no longer than the row, because no column occurs twice. */
static thr_status join(thr_reader *reader, size_t *length, thr_error *err) {
    column_state *s = reader->state;
    size_t n = s->n_columns;
    for (size_t i = 0; i < s->n_columns; i++)
        n += s->fields.fields[s->columns[i]].length;
    THR_TRY(thr_grow(reader->context, &s->joined, &s->joined_capacity, n, 1, "columns of a row", err));
    char *to = s->joined;
    for (size_t i = 0; i < s->n_columns; i++) {
        const thr_field *field = &s->fields.fields[s->columns[i]];
        memcpy(to, field->text, field->length);
        to += field->length;
        *to++ = '\t';
    }
    *--to = '\0';
    *length = n - 1;
    return THR_OK;
}

static thr_status column_next_line(thr_reader *reader, const char **line, size_t *length, thr_error *err) {
    column_state *s = reader->state;
    thr_row_kind kind = THR_ROW_NONE;
    THR_TRY(next_row(reader, &kind, err));
    if (kind == THR_ROW_NONE)
        return THR_OK;
    for (size_t i = 0; i < s->n_columns; i++)
        if (s->columns[i] >= s->fields.n_fields)
            return fail_short(reader, s->columns[i], err);
    if (s->n_columns > 1) {
        THR_TRY(join(reader, length, err));
        *line = s->joined;
        return THR_OK;
    }
    *line = s->fields.fields[s->columns[0]].text;
    *length = s->fields.fields[s->columns[0]].length;
    return THR_OK;
}

static void column_close(thr_reader *reader) {
    column_state *s = reader->state;
    if (s == NULL)
        return;
    thr_io_fields_stop(&s->fields);
    THR_RELEASE(reader->context, s->columns, s->joined, s);
}

/* ------------------------------------------------------------------------------------------------ column names */

static thr_status add(thr_reader *reader, size_t column, thr_error *err) {
    column_state *s = reader->state;
    for (size_t i = 0; i < s->n_columns; i++)
        if (s->columns[i] == column)
            return thr_fail(err, THR_EINVAL, "%s: column %zu is named twice: name it once", reader->name, column + 1);
    THR_TRY(thr_grow(reader->context, &s->columns, &s->columns_capacity, s->n_columns + 1, sizeof *s->columns,
                     "columns", err));
    s->columns[s->n_columns++] = column;
    return THR_OK;
}

static thr_status add_number(thr_reader *reader, const char *part, size_t length, thr_error *err) {
    uint64_t number = 0;
    for (size_t i = 0; i < length && number <= THR_TABLE_ROW_MAX; i++)
        number = number * 10 + (uint64_t)(part[i] - '0');
    if (number == 0 || number > THR_TABLE_ROW_MAX)
        return thr_fail(err, THR_EINVAL, "%s: there is no column %.*s: columns are 1 to %d", reader->name,
                        (int)THR_MIN(length, 200), part, THR_TABLE_ROW_MAX);
    return add(reader, (size_t)number - 1, err);
}

static bool find_name(const thr_fields *fields, const char *name, size_t length, size_t *column) {
    for (*column = 0; *column < fields->n_fields; ++*column)
        if (fields->fields[*column].length == length && memcmp(fields->fields[*column].text, name, length) == 0)
            return true;
    return false;
}

static thr_status add_name(thr_reader *reader, const char *name, size_t length, thr_error *err) {
    const column_state *s = reader->state;
    const thr_field *fields = s->fields.fields;
    size_t column = 0;
    if (find_name(&s->fields, name, length, &column))
        return add(reader, column, err);
    char known[256] = "";
    size_t n = 0, shown = 0;
    for (; shown < s->fields.n_fields && n + fields[shown].length + 2 < sizeof known; shown++)
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", shown != 0 ? " " : "", fields[shown].text);
    return thr_fail(err, THR_ENOTFOUND,
                    "%s: the first row names no column '%.*s', but %s%s: name one of these, or give its number",
                    reader->name, (int)THR_MIN(length, 200), name, known, shown < s->fields.n_fields ? " ..." : "");
}

/* Add the columns in a comma-separated list. A name that contains commas is allowed as the only column. */
static thr_status add_part(thr_reader *reader, const char *part, thr_error *err) {
    const column_state *s = reader->state;
    const bool numbers = part[strspn(part, "0123456789,")] == '\0';
    thr_row_kind kind = THR_ROW_NONE;
    size_t column = 0;
    if (part[0] == '\0')
        return thr_fail(err, THR_EINVAL, "%s: there is no column after the colon: give its number or its name",
                        reader->name);
    if (!numbers) { /* the first row is a header */
        THR_TRY(next_row(reader, &kind, err));
        if (kind == THR_ROW_NONE) /* an empty file: it has no rows of any column */
            return add(reader, 0, err);
    }
    if (!numbers && find_name(&s->fields, part, strlen(part), &column))
        return add(reader, column, err);
    for (;;) {
        const size_t length = strcspn(part, ",");
        if (numbers)
            THR_TRY(add_number(reader, part, length, err));
        else
            THR_TRY(add_name(reader, part, length, err));
        if (part[length] == '\0')
            return THR_OK;
        part += length + 1;
    }
}

static const thr_reader_ops column_ops = {.next_line = column_next_line, .close = column_close};

thr_status thr_io_column_open(thr_reader *reader, const thr_source *source, thr_error *err) {
    column_state *s = NULL;
    const char *part = source->part;
    THR_TRY(thr_alloc_zero(reader->context, 1, sizeof *s, &s, "a reader", err));
    reader->state = s;
    reader->ops = &column_ops;
    reader->shape = (thr_reader_shape){.n_rows = THR_ROWS_UNKNOWN};
    THR_TRY(thr_io_fields_start(reader->context, &reader->stream, strcmp(source->ending, ".csv") == 0,
                                reader->buffer_bytes, &s->fields, err));
    return part == NULL ? add(reader, 0, err) : add_part(reader, part, err);
}
