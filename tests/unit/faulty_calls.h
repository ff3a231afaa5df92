/* SPDX-License-Identifier: Apache-2.0 */
/*
 * faulty_calls.h - a machine that fails, for tests of changes: the functions below replace those of the C library in
 * the process that includes them. They count the calls of a change, let one of them fail or end the process, and note
 * what a power failure at that moment would lose. They may be called by several threads, one at a time.
 *
 * The includer defines _GNU_SOURCE, DIR_A, the directory under test, and OLD, a name for the manifest before a rename.
 */
#pragma once

#include "index_support.h"

#include "base/files/checksum.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static const char DIR_A[], OLD[];

enum { PAGE = 4096 };

typedef enum { NOTHING, FAIL, END, LOSE } outcome;

enum { SHORT = -1 }; /* in place of an errno: a read or write does half of its work, without an error */

static struct {
    outcome at;        /* FAIL: what happens at a new place of `sites`; END, LOSE: at call number `call` */
    int why;           /* FAIL: errno, or SHORT */
    test_sites *sites; /* FAIL: where calls have failed so */
    uint64_t call, n_calls, rng;
    uint64_t *state;  /* or NULL, two numbers: how many calls have changed or flushed something, after a loss a checksum
                        of that and of what was lost; and how many of these calls the merger made */
    bool merger_only; /* count the merger's calls alone */
    uint64_t n_merger_faults; /* calls that failed there */
} faults;
static pthread_mutex_t faulty_mutex = PTHREAD_MUTEX_INITIALIZER;

/* What was written and not flushed: a file, by a descriptor of our own; and renames in a directory not flushed. */
enum { MOST = 64 };
static struct {
    int fd;
    ino_t inode;
    uint64_t first, end; /* what lies outside is on the disk */
} dirty[MOST];
static size_t n_dirty;
static char renamed[MOST][PATH_ROOM];
static size_t n_renamed;

static void copy_file(const char *from, const char *to) {
    size_t size;
    if (access(from, F_OK) != 0)
        return;
    uint8_t *bytes = test_bytes_of(from, &size);
    test_write_file(to, bytes, size);
}

/* Note that a page of a file, or a rename, is lost. */
static void note_lost(uint64_t file, uint64_t at) {
    if (faults.state == NULL)
        return;
    const uint64_t parts[] = {*faults.state, file, at};
    *faults.state = thr_checksum_of(parts, sizeof parts);
}

/* Lose pages that were not flushed, and renames in directories that were not; either in any order. */
static void lose(void) {
    for (size_t i = 0; i < n_dirty; i++)
        for (uint64_t at = dirty[i].first, n; at < dirty[i].end; at += n) {
            static const char zeros[PAGE];
            const uint64_t left = dirty[i].end - at;
            n = PAGE - at % PAGE < left ? PAGE - at % PAGE : left;
            if (thr_rng_below(&faults.rng, 2) == 0) {
                (void)syscall(SYS_pwrite64, dirty[i].fd, zeros, n, at);
                note_lost(i, at);
            }
        }
    for (size_t i = n_renamed; i-- > 0;)
        if (thr_rng_below(&faults.rng, 2) == 0) {
            note_lost(MOST + i, 0);
            (void)unlink(renamed[i]);
            if (strcmp(renamed[i] + strlen(renamed[i]) - 8, "MANIFEST") == 0)
                copy_file(OLD, renamed[i]);
        }
}

/* Whether this is the merger: not the process's first thread. */
static bool by_merger(void) {
    return syscall(SYS_gettid) != getpid();
}

/* Processes end and power is lost at changes alone: between two of them the files are the same. */
static bool is_counted(bool change) {
    return (faults.at == FAIL || (faults.at != NOTHING && change)) && (!faults.merger_only || by_merger());
}

/*
 * Whether this call fails; it may end the process. *size is how much a read or write should do, and becomes less where
 * it does a part; NULL: another call. The mutex is held.
 */
static bool call_fails_now(bool change, size_t *size) {
    if (!is_counted(change) || (faults.at == FAIL && faults.why == SHORT && size == NULL))
        return false;
    if (faults.at == FAIL ? !test_sites_fail(faults.sites) : ++faults.n_calls != faults.call)
        return false;
    faults.n_merger_faults += by_merger();
    if (faults.at == LOSE) {
        faults.at = NOTHING;
        lose();
        _exit(0);
    }
    if (faults.at == END)
        _exit(0);
    errno = faults.why;
    if (faults.why == SHORT && *size > 1)
        *size /= 2;
    return faults.why != SHORT;
}

/* The same of a call that changes or flushes a file or a directory. */
static bool change_fails_now(size_t *size) {
    const bool failed = call_fails_now(true, size);
    if (!failed && faults.state != NULL) {
        faults.state[0]++;
        faults.state[1] += by_merger();
    }
    return failed;
}

static bool fails(void) {
    (void)pthread_mutex_lock(&faulty_mutex);
    const bool failed = call_fails_now(false, NULL);
    (void)pthread_mutex_unlock(&faulty_mutex);
    return failed;
}

static bool change_fails(void) {
    (void)pthread_mutex_lock(&faulty_mutex);
    const bool failed = change_fails_now(NULL);
    (void)pthread_mutex_unlock(&faulty_mutex);
    return failed;
}

/* Let no further call fail; other threads may be calling. */
static inline void end_faults(void) {
    (void)pthread_mutex_lock(&faulty_mutex);
    faults.at = NOTHING;
    (void)pthread_mutex_unlock(&faulty_mutex);
}

/*
 * Let calls fail with `why`. Each number has sites of its own, which stay between operations unless anew is true: then
 * an operation fails only at sites that have not failed before. With THR_TEST_ROUNDS each fails at all its sites.
 */
static void begin_faults(int why, size_t number, bool anew) {
    static test_sites sites[4];
    assert_true(number < 4);
    faults.why = why;
    faults.sites = &sites[number];
    if (anew || getenv("THR_TEST_ROUNDS") != NULL)
        test_sites_forget(faults.sites);
}

static bool is_index(const char *path) {
    return strstr(path, ".so") == NULL;
}

int open(const char *path, int flags, ...) {
    va_list args;
    va_start(args, flags);
    const int mode = va_arg(args, int);
    va_end(args);
    return is_index(path) && fails() ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...) {
    va_list args;
    va_start(args, flags);
    const int mode = va_arg(args, int);
    va_end(args);
    return fails() ? -1 : (int)syscall(SYS_openat, dir, path, flags, mode);
}

static ino_t inode_of(int fd) {
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    return st.st_ino;
}

static ssize_t write_at(int fd, const void *data, size_t size, off_t offset) {
    if (change_fails_now(&size)) {
        if (faults.why != EINTR && size > 1) /* a part may be written before the disk is full */
            (void)syscall(SYS_pwrite64, fd, data, size / 2, offset);
        return -1;
    }
    if (faults.at == LOSE) {
        const ino_t inode = inode_of(fd);
        size_t i = 0;
        while (i < n_dirty && dirty[i].inode != inode)
            i++;
        assert_true(i < MOST);
        if (i == n_dirty) {
            dirty[n_dirty].inode = inode;
            dirty[n_dirty].first = (uint64_t)offset;
            dirty[n_dirty].end = 0;
            dirty[n_dirty++].fd = dup(fd);
        }
        const uint64_t end = (uint64_t)offset + size;
        dirty[i].end = end > dirty[i].end ? end : dirty[i].end;
        dirty[i].first = (uint64_t)offset < dirty[i].first ? (uint64_t)offset : dirty[i].first;
    }
    return (ssize_t)syscall(SYS_pwrite64, fd, data, size, offset);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
    (void)pthread_mutex_lock(&faulty_mutex);
    const ssize_t n = write_at(fd, data, size, offset);
    (void)pthread_mutex_unlock(&faulty_mutex);
    return n;
}

static int flush_now(int fd) {
    struct stat st;
    if (change_fails_now(NULL))
        return -1;
    if (faults.at != LOSE)
        return 0;
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
        n_renamed = 0;
    for (size_t i = 0; i < n_dirty; i++)
        if (dirty[i].inode == st.st_ino) {
            (void)close(dirty[i].fd);
            dirty[i] = dirty[--n_dirty];
        }
    return 0; /* what the disk does is played here */
}

int fsync(int fd) {
    (void)pthread_mutex_lock(&faulty_mutex);
    const int result = flush_now(fd);
    (void)pthread_mutex_unlock(&faulty_mutex);
    return result;
}

int fdatasync(int fd) {
    return fsync(fd);
}

int ftruncate(int fd, off_t size) {
    return change_fails() ? -1 : (int)syscall(SYS_ftruncate, fd, size);
}

ssize_t pread(int fd, void *data, size_t size, off_t offset) {
    (void)pthread_mutex_lock(&faulty_mutex);
    const bool failed = call_fails_now(false, &size);
    (void)pthread_mutex_unlock(&faulty_mutex);
    return failed ? -1 : (ssize_t)syscall(SYS_pread64, fd, data, size, offset);
}

static int rename_now(int from_dir, const char *from, int to_dir, const char *to) {
    if (change_fails_now(NULL))
        return -1;
    if (faults.at == LOSE) {
        assert_true(n_renamed < MOST);
        join_path(renamed[n_renamed], DIR_A, to);
        if (strcmp(to, "MANIFEST") == 0)
            copy_file(renamed[n_renamed], OLD);
        n_renamed++;
    }
    return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, 0);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to) {
    (void)pthread_mutex_lock(&faulty_mutex);
    const int result = rename_now(from_dir, from, to_dir, to);
    (void)pthread_mutex_unlock(&faulty_mutex);
    return result;
}

int unlinkat(int dir, const char *path, int flags) {
    return change_fails() ? -1 : (int)syscall(SYS_unlinkat, dir, path, flags);
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
    if (fd >= 0 && fails())
        return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset); // NOLINT(performance-no-int-to-ptr)
}
