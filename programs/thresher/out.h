/* SPDX-License-Identifier: Apache-2.0 */
/*
 * out.h - where a command writes: standard output, a pipe or a device as it is, or a file, which appears when it is
 * whole (thresher/output.h).
 */
#ifndef THRESHER_PROGRAM_OUT_H
#define THRESHER_PROGRAM_OUT_H

#include <stdbool.h>
#include <stdio.h>

#include <thresher/thresher.h>

typedef struct prog_out {
    FILE *file;         /* to be written to; NULL: closed */
    const char *name;   /* for messages */
    thr_output *output; /* the file that it becomes; NULL: it is written to as it is */
} prog_out;

/* Whether path names what is written to as it is: "-", a pipe, a device. */
bool prog_out_is_stream(const char *path);

/* Standard output where path is NULL or "-". PROG_DONE, or an exit code after saying why not. */
int prog_out_open(prog_out *out, thr_context *context, const char *path);

/* Say that a write failed, for errno or without a reason; answers the exit code. */
int prog_out_failed(const prog_out *out);

/* Whether all that was written so far is; says where it is not. */
int prog_out_flush(prog_out *out);

/*
 * Give the file its name where rc is PROG_DONE, else delete it. Answers rc, or why the file is not there. May be called
 * twice, and on a struct of zeros.
 */
int prog_out_close(prog_out *out, int rc);

struct program;

/* Whether two names, of files that may not be there yet, are of one file. */
bool prog_is_one_file(const char *a, const char *b);

/*
 * Before a command's work: none of its outputs may be one of its inputs, by whatever name, nor another of its outputs.
 * PROG_DONE, or an exit code after saying which is.
 */
int prog_check_outputs(const struct program *run);

#endif
