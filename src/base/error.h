/* SPDX-License-Identifier: Apache-2.0 */
/* error.h - filling a thr_error, and returning early. */
#ifndef THR_BASE_ERROR_H
#define THR_BASE_ERROR_H

#include <thresher/status.h>

/*
 * Write a sentence into err (NULL is allowed) and return status. It goes through thr_make_printable, so an error is one
 * line, whatever bytes a file's name has.
 */
__attribute__((format(printf, 3, 4))) thr_status thr_fail(thr_error *err, thr_status status, const char *format, ...);

/*
 * Like thr_fail, for a failed system call on path: adds strerror(errno) and picks ENOTFOUND, ENOSPACE, ENOMEM or EIO.
 */
thr_status thr_fail_errno(thr_error *err, int error_number, const char *verb, const char *path);

/* THR_EVERSION: a file of a version beyond the newest that is read. */
thr_status thr_fail_newer(const char *path, uint64_t version, uint64_t newest, thr_error *err);

/* The status, and where it is a failure the sentence of another error, to err. */
thr_status thr_pass_on(thr_status status, const thr_error *why, thr_error *err);

#define THR_TRY(expr)                                                                                                  \
    do {                                                                                                               \
        thr_status try_status_ = (expr);                                                                               \
        if (try_status_ != THR_OK)                                                                                     \
            return try_status_;                                                                                        \
    } while (0)

/* The same in functions with an out: label and a variable status. */
#define THR_TRY_OUT(expr)                                                                                              \
    do {                                                                                                               \
        status = (expr);                                                                                               \
        if (status != THR_OK)                                                                                          \
            goto out;                                                                                                  \
    } while (0)

/*
 * Options a caller gives, whose struct may have been a shorter one when the caller was compiled: the fields it has over
 * the defaults in *complete, of which at least the first `first` bytes must be given. type names the struct.
 */
thr_status thr_take_options(void *complete, size_t complete_size, const void *given, size_t first, const char *type,
                            thr_error *err);

#endif
