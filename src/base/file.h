/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h - files as bytes, mapped for reading, and directories. What is written is in out.h.
 */
#ifndef THR_BASE_FILE_H
#define THR_BASE_FILE_H

#include "base/memory.h"

/* A read-only map of a whole file. Keeps the descriptor, to notice changes. */
typedef struct thr_map {
    const uint8_t *data; /* NULL when size is 0 */
    uint64_t size;
    int fd;
    int64_t mtime_ns, ctime_ns;
} thr_map;

/* Map path. THR_ENOTFOUND, THR_EIO, THR_EFORMAT for a directory or another thing that is no plain file. */
thr_status thr_map_open(const char *path, thr_map *map, thr_error *err);

/* THR_ECHANGED when the file's size or time of change is not what it was at thr_map_open. Costs one fstat. */
thr_status thr_map_check(const thr_map *map, const char *path, thr_error *err);

void thr_map_close(thr_map *map);

/* "dir/name" in the context's memory. */
thr_status thr_path_join(thr_context *context, const char *dir, const char *name, char **path, thr_error *err);

/* Make a directory unless it is there. *made says which. */
thr_status thr_dir_make(const char *dir, bool *made, thr_error *err);

/* fsync a directory, so that names in it last. */
thr_status thr_dir_sync(const char *dir, thr_error *err);

#endif
