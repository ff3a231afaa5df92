/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h - files as bytes: mapped for reading, and written so that they appear whole or not at all.
 */
#ifndef THR_BASE_FILE_H
#define THR_BASE_FILE_H

#include "base/memory.h"

#include <sys/types.h>

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

/*
 * A file under construction: path.tmp until thr_out_publish has flushed it to the disk and renamed it to path.
 * Writes are buffered by the kernel only: write large pieces.
 */
typedef struct thr_out {
    char *path; /* the final name */
    char *temporary;
    int fd; /* -1 when closed */
    uint64_t position;
    thr_context *context;
} thr_out;

/* THR_EIO also for what is there and is no plain file, a device say, which would be replaced. */
thr_status thr_out_open(thr_context *context, const char *path, thr_out *out, thr_error *err);
thr_status thr_out_write(thr_out *out, const void *data, size_t size, thr_error *err);

/* Write zeros up to the next multiple of 64. */
thr_status thr_out_align(thr_out *out, thr_error *err);

/* Overwrite bytes written before, at an absolute offset. */
thr_status thr_out_write_at(thr_out *out, uint64_t offset, const void *data, size_t size, thr_error *err);

/* Start writing what has been written so far to the disk, without waiting, so that publishing waits less. */
void thr_out_flush_hint(thr_out *out);

/* fsync, rename, fsync of the directory; then as thr_out_drop. */
thr_status thr_out_publish(thr_out *out, thr_error *err);

/* Close, and delete the temporary file unless it was published. May be called twice. */
void thr_out_drop(thr_out *out);

/* "dir/name" in the context's memory. */
thr_status thr_path_join(thr_context *context, const char *dir, const char *name, char **path, thr_error *err);

/* Make a directory unless it is there. *made says which. */
thr_status thr_dir_make(const char *dir, bool *made, thr_error *err);

/* fsync a directory, so that names in it last. */
thr_status thr_dir_sync(const char *dir, thr_error *err);

#endif
