/* SPDX-License-Identifier: Apache-2.0 */
/* endings.h - choose a format by the ending of a file name, and suggest one if it is unknown. */
#pragma once

#include "io/reader.h"

typedef struct thr_ending {
    const char *text; /* ".npy" */
    thr_format_open open;
    thr_dtype dtype;
    bool has_parts; /* "name.ending:part" */
    bool by_name;   /* the format opens the file itself: no pipes, no compression */
} thr_ending;

/* The kinds of files that a caller reads, for messages. A bit set. */
typedef enum thr_ending_uses {
    THR_ENDINGS_NUMBERS = 1,
    THR_ENDINGS_LINES = 2,
    THR_ENDINGS_TABLES = 4,
    THR_ENDINGS_ALL = 7
} thr_ending_uses;

/*
 * Parse name. path receives the file name without its part and has room for strlen(name) + 1 bytes; source points
 * into path and name. Standard input is a dash plus an ending, nothing more: "./-.npy" is a file.
 *
 * Returns THR_OK; THR_EINVAL with the known endings, and the nearest one, in err.
 */
thr_status thr_io_ending_find(const char *name, char *path, thr_source *source, const thr_ending **ending,
                              thr_error *err);

/* Return whether thr_io_ending_find succeeds. */
bool thr_io_ending_is_known(const char *name);

/*
 * Call before thr_io_ending_find when a file is opened. For a name without a known ending, return THR_ENOTFOUND if
 * nothing has that name and THR_EFORMAT if it is a directory, because no ending would help; otherwise THR_OK.
 */
thr_status thr_io_ending_check_file(const char *name, thr_error *err);

/* Return THR_EINVAL for an unknown ending. err lists the endings of uses and those in more (" .gguf"). */
thr_status thr_io_ending_refuse(const char *name, thr_ending_uses uses, const char *more, thr_error *err);

/* Return the compression that .gz or .xz at the end of path indicates; reduce *length of path to exclude it. */
thr_packing thr_io_packing_cut(const char *path, size_t *length);
