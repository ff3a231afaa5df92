/* SPDX-License-Identifier: Apache-2.0 */
/*
 * out.h - output files, which appear whole or not at all.
 *
 * A file under construction has a name of its own beside its target: ".NAME.0123456789abcdef.tmp", where NAME is the
 * target's name, cut where the file system's longest name asks for it. It is created with O_EXCL and O_NOFOLLOW, so
 * two writers never share a file, and a link that somebody planted is never followed. Its writer holds a lock (flock)
 * on it. A writer of the same target deletes the temporary files of that target that nobody holds: of dead writers.
 *
 * A target that is there keeps its permission bits; a new one gets 0666 less the umask. A target that is a symbolic
 * link is replaced itself; what it names stays.
 */
#ifndef THR_BASE_OUT_H
#define THR_BASE_OUT_H

#include "base/memory.h"

typedef struct thr_out {
    thr_context *context;
    char *path;       /* the target, for messages */
    const char *name; /* its last part */
    char *temporary;  /* the name until then, in the same directory */
    int dir;          /* that directory; -1 when closed */
    int fd;           /* -1 when closed */
    uint64_t position;
} thr_out;

/*
 * THR_EIO also for a target that is a directory, a pipe or a device; THR_EINVAL for an empty name. Writes
 * are buffered by the kernel only: write large pieces.
 */
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

/* Close, and delete the temporary file unless it was published. May be called twice, and on a struct of zeros. */
void thr_out_drop(thr_out *out);

/* Whether name is that of a temporary file; *length is then that of the target's name, which begins at name + 1. */
bool thr_out_is_temporary(const char *name, size_t *length);

/* ------------------------------------------------------------------------------------------------ before the work */

/* Return what thr_out_open would, without leaving a file. Call it before long work. */
thr_status thr_out_check_place(thr_context *context, const char *path, thr_error *err);

/*
 * THR_EINVAL when path and input name the same plain file, by whatever names. An input may be "-" or begin with "-.",
 * for standard input, have ":COLUMN" or ":DATASET" behind the file's name, or be NULL.
 */
thr_status thr_out_check_input(const char *path, const char *input, thr_error *err);

/*
 * THR_EEXIST when path names a file that is not empty and does not begin with magic. what is the expected kind, for the
 * message: "a head".
 */
thr_status thr_out_check_kind(const char *path, const void *magic, size_t size, const char *what, thr_error *err);

/* Whether an output may take path without losing data: there is no regular file, or an empty one. */
bool thr_out_is_vacant(const char *path);

/* Return THR_EEXIST, with the message that path is not what. */
thr_status thr_out_fail_other_kind(const char *path, const char *what, thr_error *err);

#endif
