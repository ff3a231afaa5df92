/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fields.h - split a stream into rows of fields, for tables and for columns of tables.
 *
 * .csv follows RFC 4180. Input that it does not define is accepted as most programs do: a quote within an unquoted
 * field is a character, and text after a closing quote belongs to the field.
 */
#pragma once

#include "io/table.h"

typedef enum thr_row_kind {
    THR_ROW_GIVEN, /* fields and n_fields are valid until the next call */
    THR_ROW_NONE,  /* end of the input */
    THR_ROW_LONG,  /* more than THR_TABLE_ROW_MAX bytes: skipped */
    THR_ROW_NUL    /* contains a NUL byte: skipped */
} thr_row_kind;

/*
 * buffer[start, end) has been read and not yet returned. The buffer's last byte is reserved for the NUL after a last
 * row without a line end. The row at start does not end before scanned, and buffer[scanned, newline) has no newline.
 */
typedef struct thr_fields {
    thr_context *context;
    thr_stream *stream; /* borrowed */
    char separator;
    bool quotes; /* fields may be quoted */
    char *buffer;
    size_t capacity;
    size_t start, scanned, newline, end;
    bool ended;          /* the stream has ended */
    bool within;         /* scanned is inside quotes */
    bool quoted;         /* the row has quoted fields */
    bool too_long;       /* the row is skipped: only one byte before scanned is kept while its end is searched */
    uint64_t base;       /* offset of buffer[0] in the stream */
    uint64_t row;        /* the number of the last row, from 1 */
    uint64_t row_offset; /* offset of that row in the stream */
    thr_field *fields;
    size_t n_fields, fields_capacity;
} thr_fields;

/* Start. csv selects .csv or .tsv; buffer_bytes as in thr_reader. After a failure, thr_io_fields_stop is not needed. */
thr_status thr_io_fields_start(thr_context *context, thr_stream *stream, bool csv, size_t buffer_bytes,
                               thr_fields *fields, thr_error *err);

/*
 * Read the next row, or report why there is none. THR_OK; THR_EIO; THR_ECORRUPT for a damaged .gz or .xz, a file that
 * ends inside quotes, or an empty file; THR_ENOMEM.
 */
thr_status thr_io_fields_next(thr_fields *fields, thr_row_kind *kind, thr_error *err);

/* Free; a zeroed struct is allowed. The stream stays open. */
void thr_io_fields_stop(thr_fields *fields);
