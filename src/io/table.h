/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - rows of text fields: .tsv and .csv, streaming.
 *
 * .tsv: fields parted by tabs, one row a line, no quotes. .csv: RFC 4180, fields parted by commas and quoted where they
 * hold commas, quotes (doubled) or line ends; \n, \r\n. A byte order mark is skipped.
 *
 * Rows longer than THR_TABLE_ROW_MAX bytes, or with a NUL byte, are not given: they are counted and left out, since one
 * bad row in millions should not end a day's work. What to do about many is the caller's to say.
 *
 * One column of a table is also read as a text: thr_reader_open of "FILE.tsv:4".
 */
#ifndef THR_IO_TABLE_H
#define THR_IO_TABLE_H

#include "base/progress.h"
#include "io/reader.h"

enum { THR_TABLE_ROW_MAX = 1 << 20 };

typedef struct thr_field {
    const char *text; /* NUL-terminated; not checked to be UTF-8 */
    size_t length;
} thr_field;

typedef struct thr_table thr_table;

/*
 * By the ending of path, after which .gz or .xz may stand; "-.tsv" is standard input. THR_OK; THR_EINVAL for another
 * ending, or a column behind it; and what thr_reader_open returns.
 */
thr_status thr_io_table_open(thr_context *context, const char *path, thr_table **table, thr_error *err);

/* The same over memory (reader.h), which must live as long as the table. */
thr_status thr_io_table_open_memory(thr_context *context, const char *name, const thr_image *image, thr_table **table,
                                    thr_error *err);

/*
 * The next row, good until the next call; *n_fields 0 at the end (an empty line is a row of one empty field).
 * THR_OK; THR_EIO; THR_ECORRUPT (a damaged .gz or .xz; a file that ends within quotes; an empty one);
 * THR_ENOMEM. After an error nothing more is given.
 */
thr_status thr_io_table_next(thr_table *table, const thr_field **fields, size_t *n_fields, thr_error *err);

/*
 * The same of a table that must be whole: a row that is not given is THR_EFORMAT, and progress is told, its end, too:
 * THR_ECANCELED.
 */
thr_status thr_io_table_next_whole(thr_table *table, thr_progress *progress, const thr_field **fields, size_t *n_fields,
                                   thr_error *err);

uint64_t thr_io_table_n_refused(const thr_table *table); /* rows not given so far */
uint64_t thr_io_table_row(const thr_table *table); /* the number of the row given last, from 1, refused ones too */
const char *thr_io_table_name(const thr_table *table);
void thr_io_table_free(thr_table *table);

#endif
