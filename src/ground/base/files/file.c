/* SPDX-License-Identifier: Apache-2.0 */
#include "base/files/file.h"

#include "base/error.h"
#include "base/files/guard.h"
#include "base/files/target.h"
#include "base/minmax.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int64_t time_ns(struct timespec t) {
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static thr_status map_descriptor(int fd, const char *path, thr_map *map, thr_error *err) {
    struct stat st;
    if (fstat(fd, &st) != 0)
        return thr_fail_errno(err, errno, "stat", path);
    if (S_ISDIR(st.st_mode))
        return thr_fail(err, THR_EFORMAT, "%s: is a directory (an index?), not a plain file", path);
    if (!S_ISREG(st.st_mode))
        return thr_fail(err, THR_EFORMAT, "%s: not a plain file", path);
    void *data = st.st_size > 0 ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0) : NULL;
    if (data == MAP_FAILED)
        return thr_fail_errno(err, errno, "map", path);
    *map = (thr_map){.data = data,
                     .size = (uint64_t)st.st_size,
                     .mtime_ns = time_ns(st.st_mtim),
                     .ctime_ns = time_ns(st.st_ctim),
                     .device = (uint64_t)st.st_dev,
                     .inode = (uint64_t)st.st_ino};
    return THR_OK;
}

thr_status thr_map_open(const char *path, thr_map *map, thr_error *err) {
    *map = (thr_map){.data = NULL};
    THR_TRY(thr_check_path(path, "the file to open", err));
    /* O_NONBLOCK avoids waiting for the writer of a pipe. It has no effect on regular files. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return thr_fail_errno(err, errno, "open", path);
    const thr_status status = map_descriptor(fd, path, map, err);
    (void)close(fd);
    return status;
}

static bool is_mapped_file(const thr_map *map, const struct stat *st) {
    return (uint64_t)st->st_dev == map->device && (uint64_t)st->st_ino == map->inode;
}

static bool is_unchanged(const thr_map *map, const struct stat *st) {
    return (uint64_t)st->st_size == map->size && time_ns(st->st_mtim) == map->mtime_ns;
}

thr_status thr_map_check(const thr_map *map, const char *path, thr_error *err) {
    struct stat st;
    if (map->inode == 0 || thr_guard_is_fresh(map->guard))
        return THR_OK;
    const double until = thr_guard_fresh_until();
    if (stat(path, &st) == 0 && is_mapped_file(map, &st) && !is_unchanged(map, &st)) {
        if ((uint64_t)st.st_size == map->size)
            return thr_fail(err, THR_ECHANGED,
                            "%s: was written or touched since it was opened: open it again, or refresh the index",
                            path);
        return thr_fail(err, THR_ECHANGED, "%s: changed since it was opened (%llu bytes then, %llu now): %s", path,
                        (unsigned long long)map->size, (unsigned long long)st.st_size,
                        (uint64_t)st.st_size < map->size ? "it was truncated; restore or rebuild it, then open it again"
                                                         : "open it again, or refresh the index");
    }
    if (thr_guard_lost(map->guard))
        return thr_fail(err, THR_ECHANGED, "%s: bytes of it could not be read: restore it, then open it again", path);
    thr_guard_note_fresh(map->guard, until);
    return THR_OK;
}

bool thr_map_is_at(const thr_map *map, const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && is_mapped_file(map, &st) && is_unchanged(map, &st);
}

thr_status thr_map_reopen(const thr_map *map, const char *path, int *fd, thr_error *err) {
    struct stat st;
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? THR_OK : thr_fail_errno(err, errno, "open", path);
    if (fstat(*fd, &st) == 0 && is_mapped_file(map, &st))
        return THR_OK;
    (void)close(*fd);
    *fd = -1;
    return THR_OK;
}

thr_status thr_map_read(const thr_map *map, int fd, const char *path, uint64_t at, void *bytes, size_t *size,
                        thr_error *err) {
    if (fd >= 0)
        return thr_read_at(fd, path, at, bytes, *size, size, err);
    const uint64_t left = at < map->size ? map->size - at : 0;
    *size = left < *size ? (size_t)left : *size;
    if (*size > 0)
        memcpy(bytes, map->data + at, *size);
    return THR_OK;
}

void thr_map_guard(thr_map *map) {
    map->guard = thr_guard_begin(map->data, map->size);
}

thr_status thr_map_check_after(const thr_map *map, const char *path, thr_status status, thr_error *err) {
    thr_error why;
    if (!thr_guard_fired() || thr_map_check(map, path, &why) == THR_OK)
        return status;
    return thr_pass_on(why.status, &why, err);
}

void thr_map_read_ahead(const void *bytes, size_t size) {
    enum { STEP = 128 << 10 }; /* the kernel reads no more for one call, by default */
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), end = (uintptr_t)bytes + size;
    for (uintptr_t at = (uintptr_t)bytes / page * page; at < end; at += STEP)
        (void)posix_madvise((void *)at, THR_MIN(end - at, STEP), POSIX_MADV_WILLNEED);
}

void thr_map_close(thr_map *map) {
    thr_guard_end(map->guard);
    if (map->data != NULL)
        (void)munmap((void *)(uintptr_t)map->data, map->size);
    *map = (thr_map){.data = NULL};
}

thr_status thr_read_at(int fd, const char *path, uint64_t at, void *bytes, size_t size, size_t *got, thr_error *err) {
    for (*got = 0; *got < size;) {
        const ssize_t n = pread(fd, (char *)bytes + *got, size - *got, (off_t)(at + *got));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return thr_fail_errno(err, errno, "read", path);
        if (n == 0)
            break;
        *got += (size_t)n;
    }
    return THR_OK;
}

thr_status thr_path_join(thr_context *context, const char *dir, const char *name, char **path, thr_error *err) {
    size_t a = strlen(dir), b = strlen(name);
    THR_TRY(thr_alloc(context, a + b + 2, 1, path, "a file name", err));
    (void)snprintf(*path, a + b + 2, "%s/%s", dir, name);
    return THR_OK;
}

thr_status thr_path_append(thr_context *context, const char *path, const char *ending, char **appended,
                           thr_error *err) {
    const size_t n = strlen(path), size = n + strlen(ending) + 1;
    THR_TRY(thr_alloc(context, size, 1, appended, "a file name", err));
    memcpy(*appended, path, n);
    memcpy(*appended + n, ending, size - n);
    return THR_OK;
}

thr_status thr_fail_create(thr_error *err, int error_number, const char *verb, const char *path) {
    char parent[THR_TARGET_BYTES], why[128];
    struct stat st;
    const char *end = path + strlen(path);
    while (end > path + 1 && end[-1] == '/')
        end--;
    while (end > path && end[-1] != '/')
        end--;
    (void)snprintf(parent, sizeof parent, "%.*s", (int)(end - path), path);
    const bool missing = error_number == ENOENT && end > path && stat(parent, &st) != 0;
    const bool refused = error_number == EACCES || error_number == EPERM || error_number == EROFS;
    if (missing)
        return thr_fail(err, THR_ENOTFOUND, "%s: cannot %s: there is no directory %s: make it first", path, verb,
                        parent);
    if (!refused || strerror_r(error_number, why, sizeof why) != 0)
        return thr_fail_errno(err, error_number, verb, path);
    return thr_fail(err, THR_EIO, "%s: cannot %s: no permission to write in %s: %s", path, verb,
                    end > path ? parent : "the current directory", why);
}

thr_status thr_dir_make(const char *dir, bool *made, thr_error *err) {
    char target[THR_TARGET_BYTES];
    bool descriptor;
    struct stat st;
    *made = mkdir(dir, 0777) == 0;
    if (*made)
        return THR_OK;
    int why = errno;
    if (why == EEXIST && stat(dir, &st) != 0) { /* a link whose target does not exist */
        THR_TRY(thr_target_resolve(dir, target, &descriptor, err));
        *made = mkdir(target, 0777) == 0;
        why = errno;
        if (*made)
            return THR_OK;
    }
    if (why != EEXIST || stat(dir, &st) != 0)
        return thr_fail_create(err, why, "make the directory", dir);
    if (!S_ISDIR(st.st_mode))
        return thr_fail(err, THR_EEXIST, "%s: is a file, not a directory: choose another name", dir);
    return THR_OK;
}

thr_status thr_dir_sync(const char *dir, thr_error *err) {
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return thr_fail_errno(err, errno, "open", dir);
    /* Some file systems cannot flush a directory and return EINVAL; the rename is still atomic there. */
    int rc = fsync(fd);
    int why = errno;
    (void)close(fd);
    if (rc != 0 && why != EINVAL)
        return thr_fail_errno(err, why, "flush", dir);
    return THR_OK;
}
