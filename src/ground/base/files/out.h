/* SPDX-License-Identifier: Apache-2.0 */
/*
 * out.h - output files that appear whole or not at all.
 *
 * A file under construction has a temporary name beside its target: ".NAME.0123456789abcdef.tmp", where NAME is the
 * target's name, cut to the file system's limit. It is created with O_EXCL and O_NOFOLLOW, so two writers never share
 * a file, and a planted symbolic link is never followed. Its writer holds a lock (flock) on it. Opening an output
 * deletes unlocked temporary files of the same target: their writers are dead.
 *
 * An existing target keeps its permission bits; a new one gets 0666 less the umask. A symbolic link at the target
 * stays, and the file it points to is replaced, or created (target.h).
 */
#pragma once

#include "base/memory.h"

typedef struct thr_out {
    thr_context *context;
    char *path;       /* the target, for messages */
    const char *name; /* the last component of path */
    char *temporary;  /* the temporary name, in the same directory */
    int dir;          /* the directory; -1 when closed */
    int fd;           /* -1 when closed */
    uint64_t position;
    bool directory_later; /* publish leaves the flush of the directory to the caller (thr_dir_sync) */
    bool never_flush;     /* the file need not survive a crash of the system: nothing flushes its contents */
} thr_out;

/*
 * Create the temporary file of target path. Returns also THR_EIO for a target that is a directory, a pipe or a device,
 * and THR_EINVAL for an empty name. Writes are not buffered in user space: write large pieces.
 */
thr_status thr_out_open(thr_context *context, const char *path, thr_out *out, thr_error *err);
thr_status thr_out_write(thr_out *out, const void *data, size_t size, thr_error *err);

/* Write zeros up to the next multiple of 64. */
thr_status thr_out_align(thr_out *out, thr_error *err);

/* Overwrite previously written bytes at an absolute offset. */
thr_status thr_out_write_at(thr_out *out, uint64_t offset, const void *data, size_t size, thr_error *err);

/* Start writing dirty pages to disk without waiting, which shortens the flush in thr_out_publish. */
void thr_out_flush_hint(thr_out *out);

/* fsync, rename, fsync the directory, with the exceptions that out names; then clean up as thr_out_drop does. */
thr_status thr_out_publish(thr_out *out, thr_error *err);

/* Close, and delete the temporary file unless it was published. May be called twice, and on a zeroed struct. */
void thr_out_drop(thr_out *out);

/* Return whether name is that of a temporary file. If so, the target's name is the *length bytes at name + 1. */
bool thr_out_is_temporary(const char *name, size_t *length);

/* ------------------------------------------------------------------------------------------------ early checks */

/* Return what thr_out_open would, without leaving a file. Call it before long work. */
thr_status thr_out_check_place(thr_context *context, const char *path, thr_error *err);

/*
 * Return THR_EINVAL if path and input are the same regular file, even through different names. input may be NULL, "-"
 * or begin with "-." (standard input), and may end in ":COLUMN" or ":DATASET".
 */
thr_status thr_out_check_input(const char *path, const char *input, thr_error *err);

/*
 * Return THR_EEXIST if path is a non-empty file that does not begin with magic. `what` is the expected kind, for the
 * message: "a head".
 */
thr_status thr_out_check_kind(const char *path, const void *magic, size_t size, const char *what, thr_error *err);

/* Return whether writing to path loses no data: no regular file exists there, or an empty one. */
bool thr_out_is_vacant(const char *path);

/* Return THR_EEXIST with a message that path exists and is not `what`. */
thr_status thr_out_fail_other_kind(const char *path, const char *what, thr_error *err);
