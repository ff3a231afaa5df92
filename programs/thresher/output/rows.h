/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.h - write rows of numbers to a file, by its ending: .npy .fbin .fvecs floats, .npy .u8bin .bvecs bytes.
 *
 * The number of rows is written at the end, so only .fvecs and .bvecs can go to a pipe ("-.fvecs"). A file appears when
 * it is complete.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <thresher/thresher.h>

#include "cli/output.h"

typedef enum prog_rows_format { PROG_ROWS_NPY, PROG_ROWS_BIN, PROG_ROWS_VECS } prog_rows_format;

typedef struct prog_rows_out {
    prog_out out;
    prog_rows_format format;
    thr_dtype dtype; /* F32 or U8 */
    uint32_t n_dims;
    uint64_t n_rows;
} prog_rows_out;

/* Whether the ending of the name is that of rows to write. */
bool prog_names_rows(const char *path);

/* Returns PROG_DONE, or an exit code after printing an error. */
int prog_rows_out_open(prog_rows_out *out, thr_context *context, const char *path, thr_dtype dtype, uint32_t n_dims);
int prog_rows_out_write(prog_rows_out *out, const void *rows, uint64_t n_rows);

/* Publish the file if rc is PROG_DONE, else keep the old one, as prog_out_close. */
int prog_rows_out_close(prog_rows_out *out, int rc);
