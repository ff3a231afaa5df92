/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status.h - status codes with fixed numbers, and error messages.
 *
 * Every function that can fail returns a thr_status: 0 is success, errors are negative and keep their number in all
 * versions. Most also take a thr_error, which the caller owns and may leave NULL. On failure it holds one line that
 * names the object, the numbers and the remedy. The library never prints, exits or aborts on input.
 */
#ifndef THRESHER_STATUS_H
#define THRESHER_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define THR_API
#elif defined(__GNUC__)
#define THR_API __attribute__((visibility("default")))
#else
#define THR_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define THR_VERSION_MAJOR  0
#define THR_VERSION_MINOR  1
#define THR_VERSION_PATCH  0
#define THR_VERSION_STRING "0.1.0"

/* Number, name and meaning of each status. Numbers are never changed or reused. */
#define THR_STATUS_LIST(X)                                                                                             \
    X(0, OK, "success")                                                                                                \
    X(-1, EINVAL, "an argument is wrong")                                                                              \
    X(-2, ENOMEM, "out of memory")                                                                                     \
    X(-3, EIO, "a file could not be read or written")                                                                  \
    X(-4, EFORMAT, "the file has another format")                                                                      \
    X(-5, ECORRUPT, "the file is damaged or cut short")                                                                \
    X(-6, EVERSION, "the file is of another format version")                                                           \
    X(-7, EDIM, "dimensions or numbers of rows do not match")                                                          \
    X(-8, ERANGE, "a value is not finite or out of range")                                                             \
    X(-9, ENOTFOUND, "not found")                                                                                      \
    X(-10, EEXIST, "it exists already")                                                                                \
    X(-11, EUNSUPPORTED, "not supported by this build or this object")                                                 \
    X(-12, ECANCELED, "stopped on request")                                                                            \
    X(-13, ECHANGED, "a file changed while it was in use")                                                             \
    X(-14, EDUPLICATE, "an id occurs twice")                                                                           \
    X(-15, ENOSPACE, "the disk is full")                                                                               \
    X(-16, EDEVICE, "a GPU, its driver or its library is missing or failed")                                           \
    X(-17, EMISMATCH, "two objects do not belong together")                                                            \
    X(-18, EBUSY, "another writer is at work there")

typedef enum thr_status {
#define THR_STATUS_ENUM(number, name, text) THR_##name = (number),
    THR_STATUS_LIST(THR_STATUS_ENUM)
#undef THR_STATUS_ENUM
} thr_status;

enum { THR_ERROR_TEXT_SIZE = 768 };

/* The error of the last failed call. The caller owns it; its content before the call does not matter. */
typedef struct thr_error {
    thr_status status;
    char text[THR_ERROR_TEXT_SIZE]; /* one line, no newline, NUL-terminated */
} thr_error;

/* "EINVAL" for THR_EINVAL; "E?" for an unknown number. Never NULL. */
THR_API const char *thr_status_name(thr_status status);

/* The general meaning of a status, from THR_STATUS_LIST. Never NULL. */
THR_API const char *thr_status_text(thr_status status);

/*
 * Make text safe for a terminal, in place: replaces control characters (C0, DEL, C1), line ends, direction marks
 * (U+202E and similar) and bytes that are not UTF-8 by '?'. Never lengthens it. Error texts have been through it; names
 * and words of files have not.
 */
THR_API void thr_make_printable(char *text);

/* The version of the loaded library, "0.1.0"; its patch version may differ from the header's THR_VERSION_STRING. */
THR_API const char *thr_version(void);

#ifdef __cplusplus
}
#endif

#endif
