/* SPDX-License-Identifier: Apache-2.0 */
/* read_pairs.h - reading a file of pairs row by row; bad rows are counted, and too many of them are an error. */
#pragma once

#include <thresher/tower.h>

#include "base/progress.h"
#include "io/table.h"

typedef struct thr_pair_rows {
    thr_context *context;
    thr_table *table;
    thr_pairs_format format;
    thr_progress progress;
    bool at_header;
    uint64_t n_rows, n_refused;
} thr_pair_rows;

typedef struct thr_pair_row {
    thr_field query, item;
    bool good;
} thr_pair_row;

/* Open a file. THR_OK; THR_EINVAL for a column of 0; what thr_io_table_open returns. */
thr_status thr_text_pair_rows_open(thr_context *context, const char *path, const thr_pairs_format *format,
                                   thr_pair_rows *rows, thr_error *err);

/*
 * Read the next row that has all columns and a valid label; *got is false at the end. THR_OK; at the end THR_EFORMAT
 * when more than one row in 20 was rejected; THR_ECANCELED; what thr_io_table_next returns.
 */
thr_status thr_text_pair_rows_next(thr_pair_rows *rows, thr_pair_row *row, bool *got, thr_error *err);

/* Reject the row read last, for example because a text has no words. */
static inline void thr_pair_rows_refuse(thr_pair_rows *rows) {
    rows->n_refused++;
}
void thr_text_pair_rows_close(thr_pair_rows *rows);
