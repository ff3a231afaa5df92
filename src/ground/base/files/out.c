/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* flock; sync_file_range, where the system has it */
#include "base/files/out.h"

#include "base/files/checksum.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/files/target.h"
#include "base/minmax.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------------ temporary names */

/* Suffix of a temporary name: a point, NUMBER_DIGITS hexadecimal digits and ENDING. */
static const char ENDING[] = ".tmp";
enum { NUMBER_DIGITS = 16, TAIL_BYTES = 1 + NUMBER_DIGITS + (int)sizeof ENDING - 1, NAME_BYTES = 255 };

bool thr_out_is_temporary(const char *name, size_t *length) {
    const size_t n = strlen(name);
    if (name[0] != '.' || n < 2 + TAIL_BYTES)
        return false;
    const char *tail = name + n - TAIL_BYTES;
    *length = n - 1 - TAIL_BYTES;
    return tail[0] == '.' && strspn(tail + 1, "0123456789abcdef") == NUMBER_DIGITS &&
           strcmp(tail + 1 + NUMBER_DIGITS, ENDING) == 0;
}

/* How many bytes of the target's name fit into a temporary name. */
static size_t kept_length(const thr_out *out) {
    const long limit = fpathconf(out->dir, _PC_NAME_MAX);
    const size_t longest = limit > 2 + TAIL_BYTES && limit < NAME_BYTES ? (size_t)limit : NAME_BYTES;
    const size_t length = strlen(out->name), most = longest - 1 - TAIL_BYTES;
    return THR_MIN(length, most);
}

/* Choose a name that is almost certainly unused. open with O_EXCL detects a collision. */
static void choose_name(thr_out *out, size_t kept) {
    (void)snprintf(out->temporary, NAME_BYTES + 1, ".%.*s.%016llx%s", (int)kept, out->name,
                   (unsigned long long)thr_checksum_unique(), ENDING);
}

/* ------------------------------------------------------------------------------------------------ old files */

/*
 * Delete the temporary file of a dead writer: nobody holds its lock. Where locks do not work, none can be taken, and
 * all files stay.
 */
static void remove_if_dead(int dir, const char *name) {
    struct stat st;
    const int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0)
        (void)unlinkat(dir, name, 0);
    (void)close(fd);
}

static void remove_leftovers(const thr_out *out, size_t kept) {
    const int fd = openat(out->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *names = fd < 0 ? NULL : fdopendir(fd);
    size_t length;
    if (names == NULL) {
        if (fd >= 0)
            (void)close(fd);
        return;
    }
    for (struct dirent *entry = readdir(names); entry != NULL; entry = readdir(names))
        if (thr_out_is_temporary(entry->d_name, &length) && length == kept &&
            memcmp(entry->d_name + 1, out->name, kept) == 0)
            remove_if_dead(out->dir, entry->d_name);
    (void)closedir(names);
}

/* ------------------------------------------------------------------------------------------------ open */

static thr_status check_target(const char *path, thr_error *err) {
    struct stat st;
    THR_TRY(thr_check_path(path, "the file to write", err));
    const size_t length = strlen(path);
    const bool is_there = stat(path, &st) == 0;
    if (!is_there && errno == ENAMETOOLONG)
        return thr_fail_errno(err, errno, "create", path);
    if (path[length - 1] == '/' || (is_there && S_ISDIR(st.st_mode)))
        return thr_fail(err, THR_EIO, "%s: is a directory: name a file in it", path);
    if (is_there && !S_ISREG(st.st_mode))
        return thr_fail(err, THR_EIO, "%s: is a pipe or device, not a regular file: choose another name", path);
    return THR_OK;
}

/* Set out->path to the target, behind its links. */
static thr_status find_target(thr_out *out, const char *path, thr_error *err) {
    char target[THR_TARGET_BYTES];
    bool descriptor;
    THR_TRY(check_target(path, err));
    THR_TRY(thr_target_resolve(path, target, &descriptor, err));
    return thr_path_append(out->context, target, "", &out->path, err);
}

static thr_status open_directory(thr_out *out, thr_error *err) {
    char *slash = strrchr(out->path, '/');
    out->name = slash == NULL ? out->path : slash + 1;
    const char *dir = slash == NULL ? "." : slash == out->path ? "/" : out->path;
    const int flags = O_DIRECTORY | O_CLOEXEC;
    if (slash != NULL && slash != out->path)
        *slash = '\0';
    out->dir = open(dir, O_RDONLY | flags);
#ifdef O_PATH
    if (out->dir < 0 && errno == EACCES) /* files can be created in it, but it cannot be read */
        out->dir = open(dir, O_PATH | flags);
#endif
    const int why = errno;
    if (slash != NULL)
        *slash = '/';
    return out->dir < 0 ? thr_fail_create(err, why, "create", out->path) : THR_OK;
}

/* Lock a new file. Returns false if another writer deleted it as a leftover between its creation and the lock. */
static bool lock_new_file(const thr_out *out) {
    struct stat st;
    if (flock(out->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return false;
    return fstat(out->fd, &st) == 0 && st.st_nlink != 0;
}

static thr_status create(thr_out *out, size_t kept, thr_error *err) {
    enum { TRIES = 100 };
    struct stat old;
    const bool replaces = fstatat(out->dir, out->name, &old, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(old.st_mode);
    const mode_t bits = replaces ? old.st_mode & 0777 : 0666;
    for (int i = 0; i < TRIES; i++) {
        choose_name(out, kept);
        out->fd = openat(out->dir, out->temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, bits);
        if (out->fd < 0 && errno != EEXIST && errno != EINTR)
            return thr_fail_create(err, errno, "create", out->path);
        if (out->fd < 0)
            continue;
        if (lock_new_file(out)) {
            if (replaces)
                (void)fchmod(out->fd, bits);
            return THR_OK;
        }
        (void)unlinkat(out->dir, out->temporary, 0);
        (void)close(out->fd);
        out->fd = -1;
    }
    return thr_fail(err, THR_EIO, "%s: cannot create a temporary file beside it: %d names were taken", out->path,
                    TRIES);
}

thr_status thr_out_open(thr_context *context, const char *path, thr_out *out, thr_error *err) {
    thr_status status = THR_OK;
    *out = (thr_out){.context = context, .dir = -1, .fd = -1};
    THR_TRY_OUT(find_target(out, path, err));
    THR_TRY_OUT(thr_alloc(context, NAME_BYTES + 1, 1, &out->temporary, "a file name", err));
    THR_TRY_OUT(open_directory(out, err));
    const size_t kept = kept_length(out);
    remove_leftovers(out, kept);
    THR_TRY_OUT(create(out, kept, err));
out:
    if (status != THR_OK)
        thr_out_drop(out);
    return status;
}

/* ------------------------------------------------------------------------------------------------ write */

thr_status thr_out_write_at(thr_out *out, uint64_t offset, const void *data, size_t size, thr_error *err) {
    const char *bytes = data;
    while (size > 0) {
        ssize_t n = pwrite(out->fd, bytes, size, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return thr_fail_errno(err, errno, "write", out->path);
        bytes += n;
        size -= (size_t)n;
        offset += (uint64_t)n;
    }
    return THR_OK;
}

thr_status thr_out_write(thr_out *out, const void *data, size_t size, thr_error *err) {
    THR_TRY(thr_out_write_at(out, out->position, data, size, err));
    out->position += size;
    return THR_OK;
}

thr_status thr_out_align(thr_out *out, thr_error *err) {
    static const char zeros[64] = {0};
    return thr_out_write(out, zeros, (size_t)(-out->position & 63), err);
}

void thr_out_flush_hint(thr_out *out) {
#ifdef SYNC_FILE_RANGE_WRITE
    if (!out->never_flush)
        (void)sync_file_range(out->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
#else
    (void)out;
#endif
}

/* ------------------------------------------------------------------------------------------------ publish */

thr_status thr_out_publish(thr_out *out, thr_error *err) {
    thr_status status = THR_OK;
    if (!out->never_flush && fsync(out->fd) != 0) {
        status = thr_fail_errno(err, errno, "flush", out->path);
        goto out;
    }
    if (renameat(out->dir, out->temporary, out->dir, out->name) != 0) {
        status = thr_fail_errno(err, errno, "rename into place", out->path);
        goto out;
    }
    (void)close(out->fd);
    out->fd = -1;
    /*
     * EINVAL: the file system cannot flush directories; the rename is still atomic. EBADF: the directory cannot be
     * read.
     */
    if (!out->directory_later && fsync(out->dir) != 0 && errno != EINVAL && errno != EBADF)
        status = thr_fail_errno(err, errno, "flush the directory of", out->path);
out:
    thr_out_drop(out);
    return status;
}

void thr_out_drop(thr_out *out) {
    if (out->path == NULL)
        return;
    if (out->fd >= 0) {
        (void)unlinkat(out->dir, out->temporary, 0);
        (void)close(out->fd);
    }
    if (out->dir >= 0)
        (void)close(out->dir);
    THR_RELEASE(out->context, out->path, out->temporary);
    *out = (thr_out){.context = out->context, .dir = -1, .fd = -1};
}

/* ------------------------------------------------------------------------------------------------ early checks */

thr_status thr_out_check_place(thr_context *context, const char *path, thr_error *err) {
    thr_out out;
    const thr_status status = thr_out_open(context, path, &out, err);
    thr_out_drop(&out);
    return status;
}

static bool find_input(const char *input, struct stat *st) {
    if (strcmp(input, "-") == 0 || strncmp(input, "-.", 2) == 0)
        return fstat(STDIN_FILENO, st) == 0;
    if (stat(input, st) == 0)
        return true;
    const char *colon = strrchr(input, ':');
    char name[4096];
    if (colon == NULL || (size_t)(colon - input) >= sizeof name)
        return false;
    (void)snprintf(name, sizeof name, "%.*s", (int)(colon - input), input);
    return stat(name, st) == 0;
}

thr_status thr_out_check_input(const char *path, const char *input, thr_error *err) {
    struct stat target, source;
    if (input == NULL || stat(path, &target) != 0 || !S_ISREG(target.st_mode) || !find_input(input, &source) ||
        target.st_dev != source.st_dev || target.st_ino != source.st_ino)
        return THR_OK;
    return thr_fail(err, THR_EINVAL, "%s: is also the input %s, which it would replace: name another output", path,
                    input);
}

thr_status thr_out_fail_other_kind(const char *path, const char *what, thr_error *err) {
    return thr_fail(err, THR_EEXIST, "%s: exists and is not %s: choose another name, or delete it first", path, what);
}

bool thr_out_is_vacant(const char *path) {
    struct stat st;
    return stat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0;
}

thr_status thr_out_check_kind(const char *path, const void *magic, size_t size, const char *what, thr_error *err) {
    char first[16] = {0};
    if (thr_out_is_vacant(path))
        return THR_OK;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : pread(fd, first, size, 0);
    const int why = errno;
    if (fd >= 0)
        (void)close(fd);
    if (n < 0)
        return thr_fail_errno(err, why, "read the file that is there", path);
    return (size_t)n == size && memcmp(first, magic, size) == 0 ? THR_OK : thr_out_fail_other_kind(path, what, err);
}
