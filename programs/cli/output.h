/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.h - the output of a command: standard output, a pipe or a device, written directly, or a file, which appears
 * when it is complete (thresher/output.h).
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include <thresher/thresher.h>

typedef struct prog_out {
    FILE *file;         /* the stream to write to; NULL: closed */
    const char *name;   /* for messages */
    thr_output *output; /* the file to rename to path; NULL: written directly */
} prog_out;

/* Whether path is written directly: "-", a pipe, a device, an open file of a process. */
bool prog_out_is_stream(const char *path);

/* Open path, or standard output if it is NULL or "-". Returns PROG_DONE, or an exit code after printing an error. */
int prog_out_open(prog_out *out, thr_context *context, const char *path);

/* Print that a write failed, with errno's reason if there is one; returns the exit code. */
int prog_out_failed(const prog_out *out);

/* Whether all writes so far succeeded; prints an error if not. */
int prog_out_flush(prog_out *out);

/*
 * Publish the file if rc is PROG_DONE, else delete it. Returns rc, or an exit code if publishing failed. May be called
 * twice, and on a zeroed struct.
 */
int prog_out_close(prog_out *out, int rc);

/* Before a training, print a note if its output exists: it is replaced without --force. what: "model" or "table". */
void prog_note_replaced(const char *path, const char *what);

struct program;

/* Whether two names are of one file, which need not exist. */
bool prog_is_one_file(const char *a, const char *b);

/*
 * Check before the work that no output of a command is an input, under any name, or another output. Returns PROG_DONE,
 * or an exit code after printing an error.
 */
int prog_check_outputs(const struct program *run);
