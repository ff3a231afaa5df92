/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h - read-only maps of files, and directories. Output files are in out.h.
 */
#pragma once

#include "base/memory.h"

/*
 * A read-only map of a whole file. It keeps no descriptor, so an open index of many files is not limited by their
 * number. The map keeps the inode in use: no other file can be taken for it. All zeros: no file is open.
 */
typedef struct thr_map {
    const uint8_t *data; /* NULL when size is 0 */
    uint64_t size;
    int64_t mtime_ns, ctime_ns;
    uint64_t device, inode;
    uint32_t guard; /* base/files/guard.h; 0: not guarded */
} thr_map;

/* Map path. THR_ENOTFOUND; THR_EIO; THR_EFORMAT if it is a directory or another file that is not regular. */
thr_status thr_map_open(const char *path, thr_map *map, thr_error *err);

/*
 * Return THR_ECHANGED if the file's size or modification time differs from that at thr_map_open, or a read of a guarded
 * map failed. THR_OK if no file is open, and for a file that was deleted, replaced or renamed: the map still has its
 * bytes. Costs one stat, which a guarded map needs once a millisecond (thr_guard_is_fresh).
 */
thr_status thr_map_check(const thr_map *map, const char *path, thr_error *err);

/* Whether path is still the file that was mapped, as it was then. Costs one stat. */
bool thr_map_is_at(const thr_map *map, const char *path);

/* Open the mapped file again, to read it through a descriptor. *fd is -1 if it is not at path any more. THR_EIO. */
thr_status thr_map_reopen(const thr_map *map, const char *path, int *fd, thr_error *err);

/*
 * Read *size bytes of a mapped file from `at` on, or as many as it has, which *size becomes. fd: from thr_map_reopen.
 * Through the descriptor, an unreadable sector is an error instead of SIGBUS; if it is -1, the map is read. THR_EIO.
 */
thr_status thr_map_read(const thr_map *map, int fd, const char *path, uint64_t at, void *bytes, size_t *size,
                        thr_error *err);

/*
 * Guard the map if the program asked for it (thresher/guard.h). Whoever calls this checks the map before and, where
 * thr_guard_fired, after every use.
 */
void thr_map_guard(thr_map *map);

/* The status of a call that read a guarded map: that of thr_map_check instead if a read of any map has failed. */
thr_status thr_map_check_after(const thr_map *map, const char *path, thr_status status, thr_error *err);

/*
 * Announce that size bytes of a map are read soon: the pages that are not in memory are read from the disk at once, and
 * no others. Memory that is not a map may be announced, too. The call waits for none of them.
 */
void thr_map_read_ahead(const void *bytes, size_t size);

void thr_map_close(thr_map *map);

/* Read size bytes of a file from `at` on, or as many as it has: *got. path is for messages. THR_EIO. */
thr_status thr_read_at(int fd, const char *path, uint64_t at, void *bytes, size_t size, size_t *got, thr_error *err);

/* Allocate "dir/name" in the context's memory. */
thr_status thr_path_join(thr_context *context, const char *dir, const char *name, char **path, thr_error *err);

/* Allocate the path with an ending after it, or a copy if the ending is "". */
thr_status thr_path_append(thr_context *context, const char *path, const char *ending, char **appended, thr_error *err);

/*
 * The failure to create path: names the parent directory where that is missing (THR_ENOTFOUND) or may not be written to
 * (THR_EIO). verb: "create".
 */
thr_status thr_fail_create(thr_error *err, int error_number, const char *verb, const char *path);

/* Create a directory, or the target of a link, if it does not exist. *made is true if it was created. */
thr_status thr_dir_make(const char *dir, bool *made, thr_error *err);

/* fsync a directory, which makes renames and creations in it durable. */
thr_status thr_dir_sync(const char *dir, thr_error *err);
