/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fields.h - a stream taken apart into rows of fields: what tables and columns of tables share.
 *
 * .csv is read as RFC 4180 writes it. What it does not know is taken as it stands, as most programs do: a quote within
 * an unquoted field is a character, and what follows a closing quote belongs to the field.
 */
#ifndef THR_IO_FIELDS_H
#define THR_IO_FIELDS_H

#include "io/table.h"

typedef enum thr_row_kind {
    THR_ROW_GIVEN, /* fields and n_fields hold it, until the next call */
    THR_ROW_NONE,  /* the end */
    THR_ROW_LONG,  /* more than THR_TABLE_ROW_MAX bytes: left out */
    THR_ROW_NUL    /* holds a NUL byte: left out */
} thr_row_kind;

/*
 * buffer[start, end) has been read and not been given out; its last byte is kept for the NUL behind a last row without
 * an end. The row that starts at start does not end before scanned, and buffer[scanned, newline) has no newline.
 */
typedef struct thr_fields {
    thr_context *context;
    thr_stream *stream; /* of whoever started it */
    char separator;
    bool quotes; /* fields may be quoted */
    char *buffer;
    size_t capacity;
    size_t start, scanned, newline, end;
    bool ended;          /* the stream */
    bool within;         /* scanned stands within quotes */
    bool quoted;         /* the row has fields in quotes */
    bool too_long;       /* the row's bytes are dropped, but for one before scanned, while its end is looked for */
    uint64_t base;       /* offset of buffer[0] in the stream */
    uint64_t row;        /* the number of the row seen last, from 1 */
    uint64_t row_offset; /* of that row in the stream */
    thr_field *fields;
    size_t n_fields, fields_capacity;
} thr_fields;

/* csv says which of the two formats. buffer_bytes as in thr_reader. On failure there is nothing to stop. */
thr_status thr_io_fields_start(thr_context *context, thr_stream *stream, bool csv, size_t buffer_bytes,
                               thr_fields *fields, thr_error *err);

/*
 * The next row, or why there is none. THR_OK; THR_EIO; THR_ECORRUPT for a damaged .gz or .xz, a file that ends within
 * quotes, or one that is empty; THR_ENOMEM.
 */
thr_status thr_io_fields_next(thr_fields *fields, thr_row_kind *kind, thr_error *err);

/* Free; a zeroed one is allowed. The stream stays open. */
void thr_io_fields_stop(thr_fields *fields);

#endif
