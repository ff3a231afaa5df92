/* SPDX-License-Identifier: Apache-2.0 */
/* row_numbers.h - read a number for each row, or query, of a file of rows to rank, from another file. */
#pragma once

#include "cli/program.h"

/* The expected content of a file, and its names in messages. */
typedef struct prog_numbers {
    const char *path;
    const char *what; /* "score" */
    const char *of;   /* "row", in the order of file; "query", in the order in which they first appear there */
    const char *file; /* the file of rows */
    uint64_t n;
} prog_numbers;

/*
 * Read one number per line of text, or an array of one column; the caller frees *numbers. Returns PROG_DONE, or an exit
 * code after printing an error.
 */
int prog_read_numbers(program *run, const prog_numbers *wanted, double **numbers);

/* Sort numbers of rows to the order of the view: by query. */
int prog_order_numbers(const thr_ranking_view *view, double **numbers);
