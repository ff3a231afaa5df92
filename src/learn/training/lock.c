/* SPDX-License-Identifier: Apache-2.0 */
/* lock.c - taking and dropping the lock of a training. */
#define _DEFAULT_SOURCE /* flock */
#include "training/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"

/* Open and lock the file. *fd is -1 if its owner deleted it in between: try again. */
static thr_status try_lock(const char *path, const char *model_path, int *fd, thr_error *err) {
    struct stat locked, named;
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (*fd < 0)
        return thr_fail_errno(err, errno, "create", path);
    if (flock(*fd, LOCK_EX | LOCK_NB) == 0) {
        if (fstat(*fd, &locked) == 0 && stat(path, &named) == 0 && locked.st_ino == named.st_ino)
            return THR_OK;
        (void)close(*fd);
        *fd = -1;
        return THR_OK;
    }
    const int why = errno;
    (void)close(*fd);
    *fd = -1;
    if (why != EWOULDBLOCK)
        return thr_fail_errno(err, why, "lock", path);
    return thr_fail(
        err, THR_EEXIST,
        "%s: another training writes this model and its checkpoint: wait for its end, or choose another name",
        model_path);
}

thr_status thr_training_lock_take(thr_context *context, const char *model_path, thr_training_lock *lock,
                                  thr_error *err) {
    thr_status status = THR_OK;
    *lock = (thr_training_lock){.context = context, .fd = -1};
    THR_TRY(thr_path_append(context, model_path, ".lock", &lock->path, err));
    while (status == THR_OK && lock->fd < 0)
        status = try_lock(lock->path, model_path, &lock->fd, err);
    if (status != THR_OK) {
        thr_release(context, lock->path);
        lock->path = NULL;
    }
    return status;
}

void thr_training_lock_drop(thr_training_lock *lock) {
    if (lock->path == NULL)
        return;
    (void)unlink(lock->path); /* before the lock ends: nobody else's file has this name */
    (void)close(lock->fd);
    thr_release(lock->context, lock->path);
    lock->path = NULL;
}
