/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

thr_status thr_fail(thr_error *err, thr_status status, const char *format, ...) {
    if (err == NULL)
        return status;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    err->status = status;
    thr_make_printable(err->text);
    return status;
}

/* EMFILE: the limit of the process; ENFILE: that of the system. */
static void describe_file_limit(int error_number, char *text, size_t size) {
    struct rlimit limit = {0};
    if (error_number == ENFILE)
        (void)snprintf(text, size, "the system has too many open files: raise its limit with 'sysctl fs.file-max'");
    else if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        (void)snprintf(text, size, "too many open files, this process may have %llu: raise the limit with 'ulimit -n'",
                       (unsigned long long)limit.rlim_cur);
    else
        (void)snprintf(text, size, "too many open files: raise the limit with 'ulimit -n'");
}

thr_status thr_fail_errno(thr_error *err, int error_number, const char *verb, const char *path) {
    thr_status status = THR_EIO;
    if (error_number == ENOENT || error_number == ENOTDIR)
        status = THR_ENOTFOUND;
    else if (error_number == ENOSPC || error_number == EDQUOT)
        status = THR_ENOSPACE;
    else if (error_number == ENOMEM)
        status = THR_ENOMEM;
    char text[160], target[128];
    const ssize_t n = access(path, F_OK) != 0 ? readlink(path, target, sizeof target) : -1;
    if (n >= 0 && (status == THR_ENOTFOUND || error_number == EEXIST))
        return thr_fail(err, status, "%s: cannot %s: it is a symbolic link to %.*s, which does not exist", path, verb,
                        (int)n, target);
    if (error_number == EMFILE || error_number == ENFILE)
        describe_file_limit(error_number, text, sizeof text);
    else if (strerror_r(error_number, text, sizeof text) != 0)
        (void)snprintf(text, sizeof text, "error %d", error_number);
    return thr_fail(err, status, "%s: cannot %s: %s", path, verb, text);
}

thr_status thr_check_format_version(const char *path, uint64_t version, thr_error *err) {
    if (version == THR_FORMAT_VERSION)
        return THR_OK;
    return thr_fail(err, THR_EVERSION,
                    "%s: is of format version %" PRIu64 "; this library reads version %d: build it again", path,
                    version, THR_FORMAT_VERSION);
}

thr_status thr_pass_on(thr_status status, const thr_error *why, thr_error *err) {
    if (status != THR_OK && err != NULL)
        *err = *why;
    return status;
}

const char *thr_status_name(thr_status status) {
    switch (status) {
#define NAME(number, name, text)                                                                                       \
    case THR_##name:                                                                                                   \
        return #name;
        THR_STATUS_LIST(NAME)
#undef NAME
    }
    return "E?";
}

const char *thr_status_text(thr_status status) {
    switch (status) {
#define TEXT(number, name, text)                                                                                       \
    case THR_##name:                                                                                                   \
        return text;
        THR_STATUS_LIST(TEXT)
#undef TEXT
    }
    return "unknown status";
}

const char *thr_version(void) {
    return THR_VERSION_STRING;
}
