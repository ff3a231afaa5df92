/* SPDX-License-Identifier: Apache-2.0 */
/* row_numbers.h - a number for each row, or query, of a file of rows to rank, from another file. */
#ifndef THRESHER_PROGRAM_ROW_NUMBERS_H
#define THRESHER_PROGRAM_ROW_NUMBERS_H

#include "program.h"

/* What a file should have, and how messages call it. */
typedef struct prog_numbers {
    const char *path;
    const char *what; /* "score" */
    const char *of;   /* "row", in the order of file; "query", in the order in which they first appear there */
    const char *file; /* the file of rows */
    uint64_t n;
} prog_numbers;

/* A number a line of text, or an array of one column. *numbers is the caller's to free. PROG_DONE, or a code, said. */
int prog_read_numbers(program *run, const prog_numbers *wanted, double **numbers);

/* Numbers of rows in the order of the view: by query. */
int prog_order_numbers(const thr_ranking_view *view, double **numbers);

#endif
