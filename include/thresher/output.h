/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.h - output files that appear complete or not at all.
 *
 * The data is written to a temporary file beside the target, ".NAME.0123456789abcdef.tmp", flushed to disk and renamed.
 * If two processes write the same target, both succeed and the file renamed last remains. The next writer of a target
 * removes temporary files of dead processes. A replaced file keeps its permission bits. A symbolic link stays, and the
 * file it points to is replaced or created.
 */
#ifndef THRESHER_OUTPUT_H
#define THRESHER_OUTPUT_H

#include <thresher/context.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct thr_output thr_output;

/*
 * Begin to write path; the caller frees *output. Returns THR_OK; THR_EINVAL for an empty name; THR_EIO, also for a
 * directory, a stream (below) or a loop of links; THR_ENOTFOUND for a missing directory; THR_ENOSPACE; THR_ENOMEM.
 */
THR_API thr_status thr_output_create(thr_context *context, const char *path, thr_output **output, thr_error *err);

/*
 * Whether path is written directly instead: a pipe, a device, or an open file of a process, such as /proc/self/fd/1 or
 * a link to it. thr_output_create refuses those.
 */
THR_API bool thr_output_is_stream(const char *path);

/*
 * Open such a path for writing; the caller closes *descriptor. An open file of this process keeps its position. Returns
 * THR_OK; THR_ENOTFOUND; THR_EIO.
 */
THR_API thr_status thr_output_open_stream(const char *path, int *descriptor, thr_error *err);

/* The file descriptor to write to, at offset 0. output owns it: do not close it. */
THR_API int thr_output_descriptor(const thr_output *output);

/*
 * Flush the file and rename it to path. Afterwards, also after an error, output can only be freed. Returns THR_OK;
 * THR_EIO; THR_ENOSPACE; THR_EINVAL if output was published already.
 */
THR_API thr_status thr_output_publish(thr_output *output, thr_error *err);

/* Free; NULL is allowed. Deletes the temporary file unless it was published. */
THR_API void thr_output_free(thr_output *output);

/*
 * Check, before any work, that an output does not overwrite an input. Returns THR_OK; THR_EINVAL if path and input name
 * the same regular file. input may be standard input ("-", or a name that begins with "-."), may have a ":COLUMN" or
 * ":DATASET" suffix, or may be NULL.
 */
THR_API thr_status thr_output_check_input(const char *path, const char *input, thr_error *err);

#ifdef __cplusplus
}
#endif

#endif
