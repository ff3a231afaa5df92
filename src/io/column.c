/* SPDX-License-Identifier: Apache-2.0 */
/*
 * column.c - one column of a table as lines of a text.
 *
 * Lines stand for items, one each, so a row that cannot be given ends the work: left out, it would shift all that
 * follow.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "io/fields.h"

typedef struct column_state {
    thr_fields fields;
    size_t column; /* from 0 */
} column_state;

static thr_status next_row(thr_reader *reader, thr_row_kind *kind, thr_error *err) {
    column_state *s = reader->state;
    THR_TRY(thr_fields_next(&s->fields, kind, err));
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

static thr_status column_next_line(thr_reader *reader, const char **line, size_t *length, thr_error *err) {
    column_state *s = reader->state;
    thr_row_kind kind = THR_ROW_NONE;
    THR_TRY(next_row(reader, &kind, err));
    if (kind == THR_ROW_NONE)
        return THR_OK;
    if (s->column >= s->fields.n_fields)
        return thr_fail(
            err, THR_EFORMAT,
            "%s: row %llu, at byte %llu, has %zu columns, where column %zu is wanted: mend the row, or name "
            "another column",
            reader->name, (unsigned long long)s->fields.row, (unsigned long long)s->fields.row_offset,
            s->fields.n_fields, s->column + 1);
    *line = s->fields.fields[s->column].text;
    *length = s->fields.fields[s->column].length;
    return THR_OK;
}

static void column_close(thr_reader *reader) {
    column_state *s = reader->state;
    if (s == NULL)
        return;
    thr_fields_stop(&s->fields);
    thr_release(reader->context, s);
}

/* A part of digits alone is a number. */
static bool is_number(const char *part) {
    return part[0] != '\0' && part[strspn(part, "0123456789")] == '\0';
}

static thr_status take_number(const thr_reader *reader, const char *part, size_t *column, thr_error *err) {
    uint64_t number = 0;
    for (const char *at = part; *at != '\0' && number <= THR_TABLE_ROW_MAX; at++)
        number = number * 10 + (uint64_t)(*at - '0');
    if (number == 0 || number > THR_TABLE_ROW_MAX)
        return thr_fail(err, THR_EINVAL, "%s: there is no column %s: columns are 1 to %d", reader->name, part,
                        THR_TABLE_ROW_MAX);
    *column = (size_t)number - 1;
    return THR_OK;
}

/* The first row names the columns. */
static thr_status find_name(thr_reader *reader, const char *part, size_t *column, thr_error *err) {
    const column_state *s = reader->state;
    thr_row_kind kind = THR_ROW_NONE;
    THR_TRY(next_row(reader, &kind, err));
    const thr_field *fields = s->fields.fields;
    for (size_t i = 0; i < s->fields.n_fields; i++) {
        if (strcmp(fields[i].text, part) == 0) {
            *column = i;
            return THR_OK;
        }
    }
    char known[256] = "";
    size_t n = 0, shown = 0;
    for (; shown < s->fields.n_fields && n + fields[shown].length + 2 < sizeof known; shown++)
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", shown != 0 ? " " : "", fields[shown].text);
    return thr_fail(err, THR_ENOTFOUND,
                    "%s: the first row names no column '%.200s', but %s%s: name one of these, or give its number",
                    reader->name, part, known, shown < s->fields.n_fields ? " ..." : "");
}

static const thr_reader_ops column_ops = {.next_line = column_next_line, .close = column_close};

thr_status thr_column_open(thr_reader *reader, const thr_source *source, thr_error *err) {
    column_state *s = NULL;
    const char *part = source->part;
    THR_TRY(thr_alloc_zero(reader->context, 1, sizeof *s, &s, "a reader", err));
    reader->state = s;
    reader->ops = &column_ops;
    reader->shape = (thr_reader_shape){.n_rows = THR_ROWS_UNKNOWN};
    THR_TRY(thr_fields_start(reader->context, &reader->stream, strcmp(source->ending, ".csv") == 0,
                             reader->buffer_bytes, &s->fields, err));
    if (part == NULL)
        return THR_OK;
    if (part[0] == '\0')
        return thr_fail(err, THR_EINVAL, "%s: no column is named behind the colon: give its number or its name",
                        reader->name);
    return is_number(part) ? take_number(reader, part, &s->column, err) : find_name(reader, part, &s->column, err);
}
