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

/*
 * Take name apart. path gets the file's name without a part and needs strlen(name) + 1 bytes; source points into it and
 * into name. Standard input is a dash and an ending, nothing more: "./-.npy" is a file.
 *
 * Returns THR_OK; THR_EINVAL with the known endings, and the nearest one, in err.
 */
thr_status thr_ending_find(const char *name, char *path, thr_source *source, const thr_ending **ending, thr_error *err);

/* What .gz or .xz at the end of path says; *length, of path, becomes that without it. */
thr_packing thr_packing_cut(const char *path, size_t *length);

#endif
