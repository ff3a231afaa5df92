/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status.h - what a call answers: a code pinned for ever, and a sentence for people.
 *
 * Every function that can fail returns a thr_status: 0 is success, errors are negative and keep their number in all
 * versions. Most also take a thr_error, which the caller owns and may leave NULL; on failure it holds one line that
 * names the object, the numbers and the remedy. The library itself never prints, exits or aborts on input.
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

/* One list: number, name, meaning. Numbers are never changed or used again. */
#define THR_STATUS_LIST(X)                                                                                             \
    X(0, OK, "success")                                                                                                \
    X(-1, EINVAL, "an argument is wrong")                                                                              \
    X(-2, ENOMEM, "out of memory")                                                                                     \
    X(-3, EIO, "a file could not be read or written")                                                                  \
    X(-4, EFORMAT, "the file is not of the kind that was expected")                                                    \
    X(-5, ECORRUPT, "the file is damaged or cut short")                                                                \
    X(-6, EVERSION, "the file was written by a newer version")                                                         \
    X(-7, EDIM, "numbers of dimensions or rows do not match")                                                          \
    X(-8, ERANGE, "a value is not finite or out of range")                                                             \
    X(-9, ENOTFOUND, "there is no such thing")                                                                         \
    X(-10, EEXIST, "it is there already")                                                                              \
    X(-11, EUNSUPPORTED, "this build or this object cannot do that")                                                   \
    X(-12, ECANCELED, "stopped on request")                                                                            \
    X(-13, ECHANGED, "a file changed while it was in use")                                                             \
    X(-14, EDUPLICATE, "an id stands twice")                                                                           \
    X(-15, ENOSPACE, "the disk is full")                                                                               \
    X(-16, EDEVICE, "a GPU or what it needs is missing, or has failed")                                                \
    X(-17, EMISMATCH, "two things do not belong together")

typedef enum thr_status {
#define THR_STATUS_ENUM(number, name, text) THR_##name = (number),
    THR_STATUS_LIST(THR_STATUS_ENUM)
#undef THR_STATUS_ENUM
} thr_status;

enum { THR_ERROR_TEXT_SIZE = 768 };

/* The last failure of a call, in words. Owned by the caller; any bytes may be in it before the call. */
typedef struct thr_error {
    thr_status status;
    char text[THR_ERROR_TEXT_SIZE]; /* one line, no newline, NUL-terminated */
} thr_error;

/* "EINVAL" for THR_EINVAL; "E?" for a number that is no status. Never NULL. */
THR_API const char *thr_status_name(thr_status status);

/* The general meaning of a status, as in THR_STATUS_LIST. Never NULL. */
THR_API const char *thr_status_text(thr_status status);

/*
 * Make text fit for a terminal, in place: control characters (C0, DEL, C1), ends of lines, marks of direction (U+202E
 * and its like) and bytes that are no UTF-8 become '?' each. It never gets longer. Errors have gone through it; names
 * and words of files have not.
 */
THR_API void thr_make_printable(char *text);

/* "0.1.0" of the library in use, which may differ from the header's THR_VERSION_STRING. */
THR_API const char *thr_version(void);

#ifdef __cplusplus
}
#endif

#endif
