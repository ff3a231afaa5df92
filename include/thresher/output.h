/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.h - output files that appear complete or not at all.
 *
 * The data is written to a temporary file beside the target, ".NAME.0123456789abcdef.tmp", flushed to disk and renamed.
 * If two processes write the same target, both succeed and the file renamed last remains. The next writer of a target
 * removes temporary files of dead processes. A replaced file keeps its permission bits; a symbolic link is replaced
 * itself, not the file it points to.
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
 * directory, pipe or device; THR_ENOTFOUND for a missing directory; THR_ENOSPACE; THR_ENOMEM.
 */
THR_API thr_status thr_output_create(thr_context *context, const char *path, thr_output **output, thr_error *err);

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
