/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_lines.h - texts, a line each: read from a file of any name or standard input, written to a file that appears
 * whole.
 */
#ifndef THRESHER_PROGRAM_TEXT_LINES_H
#define THRESHER_PROGRAM_TEXT_LINES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <thresher/thresher.h>

/*
 * What thr_reader_open takes as a text (.txt, a column of .tsv or .csv, .gz and .xz behind them) it reads; any other
 * name is that of a plain file, and "-" or NULL standard input.
 */
typedef struct prog_lines_in {
    const char *name; /* for messages */
    thr_reader *reader;
    FILE *file;
    char *room;
    size_t room_size;
} prog_lines_in;

/* PROG_DONE, or an exit code after saying why not; prog_lines_close either way. */
int prog_lines_open(prog_lines_in *in, thr_context *context, const char *path);
/* The next line without its end, good until the next call; *line is NULL at the end. */
int prog_lines_next(prog_lines_in *in, const char **line, size_t *length);
void prog_lines_close(prog_lines_in *in);

/* Standard output where path is NULL or "-", else path.tmp, which gets its name in the end. */
typedef struct prog_lines_out {
    FILE *file;
    const char *path;
    char *written;
} prog_lines_out;

int prog_lines_create(prog_lines_out *out, const char *path);
/* Whether all that was written so far is; says where it is not. */
int prog_lines_flush(prog_lines_out *out);
/* Flush and rename where rc is PROG_DONE, else delete; answers rc, or why the file is not there. */
int prog_lines_finish(prog_lines_out *out, int rc);

#endif
