/* SPDX-License-Identifier: Apache-2.0 */
/* target.c - resolving the links of outputs, and opening outputs that are streams. */
#define _DEFAULT_SOURCE /* S_ISVTX */
#include "base/files/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

enum { LINKS_MOST = 40 };

/* Length of a path without its last name and the slash before that; 0: the path is one name. "/" stays. */
static size_t directory_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
}

/*
 * Links below /proc lead to open files, not to names: the name that readlink gives may be another file by now, or none.
 * Replacing that would not reach the reader of the descriptor.
 */
static bool is_descriptor(const struct stat *link) {
    struct stat proc;
    return stat("/proc/self/fd", &proc) == 0 && proc.st_dev == link->st_dev;
}

/* Whether the system would refuse to follow the link by its rule fs.protected_symlinks. */
static bool is_planted(const char *path, const struct stat *link) {
    char dir[THR_TARGET_BYTES];
    struct stat st;
    (void)snprintf(dir, sizeof dir, "%.*s", (int)directory_length(path), path);
    return stat(dir[0] != '\0' ? dir : ".", &st) == 0 && (st.st_mode & S_ISVTX) != 0 && (st.st_mode & S_IWOTH) != 0 &&
           link->st_uid != geteuid() && link->st_uid != st.st_uid;
}

/* Replace target by what the link at target names. */
static thr_status follow(const char *path, char target[THR_TARGET_BYTES], thr_error *err) {
    char named[THR_TARGET_BYTES], next[2 * THR_TARGET_BYTES];
    const ssize_t n = readlink(target, named, sizeof named - 1);
    if (n < 0)
        return thr_fail_errno(err, errno, "read the link", path);
    named[n] = '\0';
    const int length = named[0] == '/' ? 0 : (int)directory_length(target);
    const int written = snprintf(next, sizeof next, "%.*s%s%s", length, target,
                                 length > 0 && target[length - 1] != '/' ? "/" : "", named);
    if (written >= THR_TARGET_BYTES)
        return thr_fail_errno(err, ENAMETOOLONG, "create", path);
    memcpy(target, next, (size_t)written + 1);
    return THR_OK;
}

thr_status thr_target_resolve(const char *path, char target[THR_TARGET_BYTES], bool *descriptor, thr_error *err) {
    struct stat st;
    *descriptor = false;
    if (strlen(path) >= THR_TARGET_BYTES)
        return thr_fail_errno(err, ENAMETOOLONG, "create", path);
    (void)snprintf(target, THR_TARGET_BYTES, "%s", path);
    for (int i = 0; i < LINKS_MOST; i++) {
        if (lstat(target, &st) != 0 || !S_ISLNK(st.st_mode))
            return THR_OK;
        *descriptor = is_descriptor(&st);
        if (*descriptor)
            return thr_fail(err, THR_EIO,
                            "%s: is an open file of a process, not the name of a file: choose another name", path);
        if (is_planted(target, &st))
            return thr_fail(err, THR_EIO,
                            "%s: is a link that another user made in a directory where all may write: delete it, or "
                            "choose another name",
                            path);
        THR_TRY(follow(path, target, err));
    }
    return thr_fail_errno(err, ELOOP, "create", path);
}

bool thr_target_is_stream(const char *path) {
    char target[THR_TARGET_BYTES];
    bool descriptor = false;
    struct stat st;
    (void)thr_target_resolve(path, target, &descriptor, NULL);
    return descriptor || (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode));
}

/* The number of "/proc/self/fd/1", or of "/proc/123/fd/1" of this process; -1 for other names. */
static int own_descriptor(const char *target) {
    static const char self[] = "/proc/self/fd/";
    char own[48];
    (void)snprintf(own, sizeof own, "/proc/%ld/fd/", (long)getpid());
    const size_t n = strncmp(target, self, sizeof self - 1) == 0 ? sizeof self - 1
                     : strncmp(target, own, strlen(own)) == 0    ? strlen(own)
                                                                 : 0;
    char *end = NULL;
    const long number = n > 0 ? strtol(target + n, &end, 10) : -1;
    return n > 0 && *end == '\0' && end > target + n && number >= 0 && number <= INT32_MAX ? (int)number : -1;
}

thr_status thr_target_open_stream(const char *path, int *fd, thr_error *err) {
    char target[THR_TARGET_BYTES];
    bool descriptor = false;
    *fd = -1;
    THR_TRY(thr_check_path(path, "the file to write", err));
    (void)thr_target_resolve(path, target, &descriptor, NULL);
    const int own = descriptor ? own_descriptor(target) : -1;
    *fd = own >= 0 ? fcntl(own, F_DUPFD_CLOEXEC, 0) : open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    return *fd >= 0 ? THR_OK : thr_fail_errno(err, errno, "open for writing", path);
}
