/* SPDX-License-Identifier: Apache-2.0 */
/* endings.h - from a file's name to its format, and help when no format fits. */
#ifndef THR_IO_ENDINGS_H
#define THR_IO_ENDINGS_H

#include "io/reader.h"

typedef struct thr_ending {
    const char *text; /* ".npy" */
    thr_format_open open;
    thr_dtype dtype;
    bool has_parts; /* "name.ending:part" */
    bool by_name;   /* the format opens the file by itself: no pipes, no packing */
} thr_ending;

/* What a caller reads, for messages: a set. */
typedef enum thr_ending_uses {
    THR_ENDINGS_NUMBERS = 1,
    THR_ENDINGS_LINES = 2,
    THR_ENDINGS_TABLES = 4,
    THR_ENDINGS_ALL = 7
} thr_ending_uses;

/*
 * Take name apart. path gets the file's name without a part and needs strlen(name) + 1 bytes; source points into it and
 * into name. Standard input is a dash and an ending, nothing more: "./-.npy" is a file.
 *
 * Returns THR_OK; THR_EINVAL with the known endings, and the nearest one, in err.
 */
thr_status thr_io_ending_find(const char *name, char *path, thr_source *source, const thr_ending **ending,
                              thr_error *err);

/* Whether thr_io_ending_find finds one. */
bool thr_io_ending_is_known(const char *name);

/*
 * Before thr_io_ending_find where a file is to be opened: of a name without a known ending, THR_ENOTFOUND where nothing
 * has it and THR_EFORMAT where a directory has, since no other ending helps then; else THR_OK.
 */
thr_status thr_io_ending_check_file(const char *name, thr_error *err);

/* THR_EINVAL of a name without a known ending; err lists more (" .gguf"), which the caller reads, and those of uses. */
thr_status thr_io_ending_refuse(const char *name, thr_ending_uses uses, const char *more, thr_error *err);

/* What .gz or .xz at the end of path says; *length, of path, becomes that without it. */
thr_packing thr_io_packing_cut(const char *path, size_t *length);

#endif
