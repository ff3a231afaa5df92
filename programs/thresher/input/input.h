/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input.h - reading a file piece by piece. Every function returns PROG_DONE, or an exit code after printing an error,
 * also when a signal stops the program.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <thresher/thresher.h>

/* Open rows of numbers or lines, by the ending of the name. */
int prog_input_open(thr_context *context, const char *path, thr_reader **reader);

/* Read the next line; *line is NULL at the end. It ends with NUL and is valid until the next call. */
int prog_input_line(thr_reader *reader, const char **line, size_t *length);

/*
 * For loops over lines: read the next one if *rc is PROG_DONE. Returns false at the end, and if *rc is an exit code, or
 * becomes one after an error was printed.
 */
bool prog_input_next_line(thr_reader *reader, const char **line, size_t *length, int *rc);

/* The same as a copy, which the caller may change, and frees. */
int prog_input_line_copy(thr_reader *reader, char **copy);

/* Read the next rows, at most this many; rows->n_rows is 0 at the end. They are valid until the next call. */
int prog_input_rows(thr_reader *reader, uint64_t most, thr_matrix *rows);

/* Read the next rows if *rc is PROG_DONE, as prog_input_next_line does a line. */
bool prog_input_next_rows(thr_reader *reader, uint64_t most, thr_matrix *rows, int *rc);
