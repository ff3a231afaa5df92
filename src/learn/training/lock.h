/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock.h - one training per model: two that write the same model and checkpoint would leave a mixture of both.
 *
 * The lock is on the file MODEL.lock, which is deleted with it. The system releases the lock of a process that was
 * killed, so a file that is left over locks nothing.
 */
#pragma once

#include "base/memory.h"

typedef struct thr_training_lock {
    thr_context *context;
    char *path; /* NULL: not locked */
    int fd;
} thr_training_lock;

/*
 * Lock the model at model_path. THR_OK; THR_EEXIST if another training holds the lock; THR_ENOTFOUND, THR_EIO,
 * THR_ENOSPACE for a file that cannot be made; THR_ENOMEM.
 */
thr_status thr_training_lock_take(thr_context *context, const char *model_path, thr_training_lock *lock,
                                  thr_error *err);

/* Release the lock and delete its file. May be called twice, and on a zeroed struct. */
void thr_training_lock_drop(thr_training_lock *lock);
