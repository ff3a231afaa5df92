/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_ahead.h - request codes from memory before a kernel loads them.
 *
 * A scan alternates between the distances of a tile and the scores of its items. On some processors memory is idle
 * during the scores without requests, and the kernel waits for memory during the distances; on others the processor's
 * own prefetcher reads on, and requests only hinder it. Many queries at once compute long enough to need requests
 * everywhere (docs/kernels.md).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Of the distances measured, 4 to 16 KiB are about as good as each other; 2 KiB and less are too late. */
enum { THR_READ_AHEAD = 6144 };

/* Bytes ahead for one query; 0, where the processor reads ahead by itself. Set once, with the tables of kernels. */
extern size_t thr_kernel_read_ahead;

/* The address so far ahead of `at`. It may lie beyond the codes. */
static inline __attribute__((always_inline)) const uint8_t *thr_kernel_ahead_of(const uint8_t *at, size_t bytes) {
    uintptr_t ahead = (uintptr_t)at + bytes;
    __asm__("" : "+r"(ahead)); /* one addition, not one for each request */
    return (const uint8_t *)ahead;
}

/* Request a line. A request never faults. */
static inline __attribute__((always_inline)) void thr_kernel_request(const uint8_t *line) {
    __builtin_prefetch(line);
}
