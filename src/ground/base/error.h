/* SPDX-License-Identifier: Apache-2.0 */
/* error.h - filling a thr_error, and returning early. */
#pragma once

#include <thresher/status.h>

/*
 * Write a message into err (NULL is allowed) and return status. thr_make_printable makes it one line, whatever bytes
 * a file's name contains.
 */
__attribute__((format(printf, 3, 4))) thr_status thr_fail(thr_error *err, thr_status status, const char *format, ...);

/*
 * Like thr_fail, for a failed system call on path: append strerror(error_number) and choose THR_ENOTFOUND,
 * THR_ENOSPACE, THR_ENOMEM or THR_EIO.
 */
thr_status thr_fail_errno(thr_error *err, int error_number, const char *verb, const char *path);

/* The version of every file format (docs/format.md). */
enum { THR_FORMAT_VERSION = 1 };

/* THR_EVERSION unless the file's version is THR_FORMAT_VERSION. */
thr_status thr_check_format_version(const char *path, uint64_t version, thr_error *err);

/* Return status. On failure, copy the message of `why` to err. */
thr_status thr_pass_on(thr_status status, const thr_error *why, thr_error *err);

#define THR_TRY(expr)                                                                                                  \
    do {                                                                                                               \
        thr_status try_status_ = (expr);                                                                               \
        if (try_status_ != THR_OK)                                                                                     \
            return try_status_;                                                                                        \
    } while (0)

/* The same for functions with an out: label and a variable named status. */
#define THR_TRY_OUT(expr)                                                                                              \
    do {                                                                                                               \
        status = (expr);                                                                                               \
        if (status != THR_OK)                                                                                          \
            goto out;                                                                                                  \
    } while (0)

/* THR_EINVAL if path is NULL or empty; what: "the directory of the index". */
static inline thr_status thr_check_path(const char *path, const char *what, thr_error *err) {
    return path != NULL && *path != '\0'
               ? THR_OK
               : thr_fail(err, THR_EINVAL, "the path of %s is %s", what, path == NULL ? "NULL" : "empty");
}

/* THR_EINVAL unless value is 0 to last; type: "thr_estimator". */
static inline thr_status thr_check_enum(int value, int last, const char *type, thr_error *err) {
    return value >= 0 && value <= last ? THR_OK : thr_fail(err, THR_EINVAL, "%d is no %s", value, type);
}

/* End a function that makes an object: return status; *out = made if that is THR_OK, otherwise free what was made. */
#define THR_RETURN_MADE(status, made, out, free_made)                                                                  \
    do {                                                                                                               \
        if ((status) == THR_OK)                                                                                        \
            *(out) = (made);                                                                                           \
        else                                                                                                           \
            free_made(made);                                                                                           \
        return (status);                                                                                               \
    } while (0)
