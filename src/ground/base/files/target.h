/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target.h - where an output goes: its symbolic links are resolved once, before anything is written. So a link stays,
 * and the file that it names is replaced.
 */
#pragma once

#include <thresher/status.h>

enum { THR_TARGET_BYTES = 4096 };

/*
 * Follow the links at path; their last target need not exist. THR_EIO for a loop, for a path that is too long, for a
 * link of another user in a directory where all may write, and for a descriptor of a process (/proc/self/fd/1), which
 * is not the name of a file, although stat reports one. *descriptor: path leads to one; target is its name.
 */
thr_status thr_target_resolve(const char *path, char target[THR_TARGET_BYTES], bool *descriptor, thr_error *err);

/* Whether path is written directly, not replaced: a pipe, a device, a socket, a descriptor of a process. */
bool thr_target_is_stream(const char *path);

/* Open a stream for writing. One of this process's own descriptors is duplicated, and keeps its position. THR_EIO. */
thr_status thr_target_open_stream(const char *path, int *fd, thr_error *err);
