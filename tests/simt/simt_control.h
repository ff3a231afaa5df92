/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simt_control.h - controls of the emulator that a test uses beside the code under test.
 *
 * C and C++. The functions are visible in a shared library that the emulator is linked into: a C program that opened
 * it finds them with dlsym. All may be called from any thread, but not from a kernel.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SIMT_VISIBLE __attribute__((visibility("default")))

/*
 * Let something fail. Each call first ends the failure of the one before.
 *
 *   "alloc N"         the N-th allocation of device or pinned memory from now (1: the next) fails, and only that one
 *   "launch N"        the N-th launch from now does nothing and the device is lost: what is called from then on with
 *                     that device answers cudaErrorIllegalAddress; memory is given back all the same
 *   "copy N"          the N-th copy from now, likewise; a memset counts too
 *   "driver missing"  cudaErrorInsufficientDriver from everything; the driver's version is 0
 *   "no device"       cudaErrorNoDevice from everything, a count of 0
 *   "none"            nothing fails, and no device is lost
 *
 * Aborts on anything else.
 */
SIMT_VISIBLE void simt_fail(const char *what);

/* Requested bytes of device memory in use, of all devices, without the emulator's margins. */
SIMT_VISIBLE size_t simt_allocated(void);

/* Bytes of pinned host memory in use; how many streams and events there are. */
SIMT_VISIBLE size_t simt_pinned(void);
SIMT_VISIBLE size_t simt_handles(void);

/* How many launches there were, those that were refused or failed included. */
SIMT_VISIBLE uint64_t simt_launches(void);

/* The seed of all orders from now on, and launches are counted from 0 for it; before, THR_SIMT_SEED or 1. */
SIMT_VISIBLE void simt_seed(uint64_t seed);

/*
 * What happens with a report: f is given its text and state. A kernel is abandoned then, its launch answers
 * cudaErrorLaunchFailure; a call of the runtime answers cudaErrorInvalidValue. f must not call the runtime.
 * NULL, as in the beginning: the text goes to stderr and the process is aborted.
 */
SIMT_VISIBLE void simt_on_report(void (*f)(const char *text, void *state), void *state);

#ifdef __cplusplus
}
#endif
