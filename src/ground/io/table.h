/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - stream rows of text fields from .tsv and .csv.
 *
 * .tsv: fields separated by tabs, one row per line, no quotes. .csv: RFC 4180, fields separated by commas and quoted if
 * they contain commas, quotes (doubled) or line ends; rows end in \n or \r\n. A byte order mark is skipped.
 *
 * Rows longer than THR_TABLE_ROW_MAX bytes or with a NUL byte are skipped and counted, because one bad row in
 * millions should not stop a long run. The caller decides how many are too many.
 *
 * thr_reader_open of "FILE.tsv:4" reads one column of a table as a text.
 */
#pragma once

#include "base/progress.h"
#include "io/reader.h"

enum { THR_TABLE_ROW_MAX = 1 << 20 };

typedef struct thr_field {
    const char *text; /* NUL-terminated; not validated as UTF-8 */
    size_t length;
} thr_field;

typedef struct thr_table thr_table;

/*
 * Open by the ending of path, which may have .gz or .xz after it; "-.tsv" is standard input. THR_OK; THR_EINVAL for
 * another ending or a column; statuses of thr_reader_open.
 */
thr_status thr_io_table_open(thr_context *context, const char *path, thr_table **table, thr_error *err);

/* The same for memory (reader.h), which must outlive the table. */
thr_status thr_io_table_open_memory(thr_context *context, const char *name, const thr_image *image, thr_table **table,
                                    thr_error *err);

/*
 * Return the next row, valid until the next call; *n_fields is 0 at the end (an empty line is a row of one empty
 * field). THR_OK; THR_EIO; THR_ECORRUPT (a damaged .gz or .xz; a file that ends inside quotes; an empty file);
 * THR_ENOMEM. After an error no more rows are returned.
 */
thr_status thr_io_table_next(thr_table *table, const thr_field **fields, size_t *n_fields, thr_error *err);

/*
 * The same for a table in which every row counts: a row that would be skipped is THR_EFORMAT. Reports progress,
 * including its end: THR_ECANCELED.
 */
thr_status thr_io_table_next_whole(thr_table *table, thr_progress *progress, const thr_field **fields, size_t *n_fields,
                                   thr_error *err);

uint64_t thr_io_table_n_refused(const thr_table *table); /* rows skipped so far */
uint64_t thr_io_table_row(const thr_table *table); /* number of the last returned row, from 1, counting skipped rows */
const char *thr_io_table_name(const thr_table *table);
void thr_io_table_free(thr_table *table);
