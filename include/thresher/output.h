/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.h - files that appear whole or not at all, as this library writes its own.
 *
 * A file is written beside its target under a unique temporary name, ".NAME.0123456789abcdef.tmp", flushed to the disk
 * and renamed. If two processes write the same target, both succeed and the file renamed last stays. The next writer of
 * a target removes temporary files that dead processes left. A replaced file keeps its permission bits; a symbolic link
 * is replaced itself, not the file it points to.
 */
#ifndef THRESHER_OUTPUT_H
#define THRESHER_OUTPUT_H

#include <thresher/context.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct thr_output thr_output;

/*
 * Begin to write path. THR_OK; THR_EINVAL for an empty name; THR_EIO, also for a directory, a pipe or a device;
 * THR_ENOTFOUND for a directory that is not there; THR_ENOSPACE; THR_ENOMEM.
 */
THR_API thr_status thr_output_create(thr_context *context, const char *path, thr_output **output, thr_error *err);

/* The descriptor to write to, from its beginning. It belongs to output: do not close it. */
THR_API int thr_output_descriptor(const thr_output *output);

/*
 * Flush what was written and give it its name. Afterwards, also when that failed, output is only to be freed.
 * THR_OK; THR_EIO; THR_ENOSPACE; THR_EINVAL for an output that was published.
 */
THR_API thr_status thr_output_publish(thr_output *output, thr_error *err);

/* Free; NULL is allowed. What was not published is deleted. */
THR_API void thr_output_free(thr_output *output);

/*
 * Refuse an output that is an input: THR_EINVAL when path and input name the same plain file, by whatever names. An
 * input may be "-" or begin with "-.", for standard input, have ":COLUMN" or ":DATASET" behind the file's name, or be
 * NULL. To be called before any work.
 */
THR_API thr_status thr_output_check_input(const char *path, const char *input, thr_error *err);

#ifdef __cplusplus
}
#endif

#endif
