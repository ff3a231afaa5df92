/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h - the rows of an index's items: a file of vectors, or what a model's item side makes of a file. */
#pragma once

#include "cli/program.h"

typedef struct prog_rows {
    thr_reader *file;  /* of rows or lines */
    thr_reader *texts; /* the encoded lines or rows; NULL: the file's rows are indexed */
} prog_rows;

/* Open a file of either kind. Returns PROG_DONE, or an exit code after printing an error. */
int prog_rows_open(prog_rows *rows, thr_context *context, const char *path);

/* Whether the file is a text, which must be encoded. */
bool prog_rows_are_text(const prog_rows *rows);

/* Encode the lines or rows by one of both models, which stays the caller's; the other is NULL. */
int prog_rows_encode(prog_rows *rows, const thr_tower *tower, const thr_dual *dual);

/* Whether a model (may be NULL) is of given vectors and makes codes: an index encodes its items and queries itself. */
bool prog_takes_vectors(const thr_tower *tower);

/* Whether it is one of given vectors that makes floats, which are indexed. */
bool prog_encodes_vectors(const thr_tower *tower);

/* The reader of vectors, which lives until prog_rows_close. */
thr_reader *prog_rows_reader(const prog_rows *rows);
void prog_rows_close(prog_rows *rows);
