/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_ahead.h - request codes from memory before a kernel loads them.
 *
 * A scan alternates between the distances of a tile and the scores of its items. Without requests memory is idle during
 * the scores, and the kernel waits for memory during the distances. docs/kernels.md has the speed with and without.
 */
#ifndef THR_KERNEL_READ_AHEAD_H
#define THR_KERNEL_READ_AHEAD_H

#include <stdint.h>

/* Of the distances measured, 4 to 16 KiB are about as good as each other; 2 KiB and less are too late. */
enum { THR_READ_AHEAD = 6144 };

/* Request the line THR_READ_AHEAD bytes after `at`. It may lie beyond the codes: a request never faults. */
static inline __attribute__((always_inline)) void thr_kernel_read_ahead(const uint8_t *at) {
    __builtin_prefetch((const void *)((uintptr_t)at + THR_READ_AHEAD));
}

#endif
