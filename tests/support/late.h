/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late.h - a backend whose streams run enqueued work as late as possible, in any permitted order.
 *
 * The emulator's streams run work at once, in the order in which it was enqueued, so a missing wait between streams
 * goes unnoticed. Here nothing runs until the caller waits or frees memory. Then the streams take turns at random: each
 * runs its own work in order, and none runs work before the work that it waits for.
 */
#pragma once

#include "device/device.h"

/* Around a backend; one at a time, and used by one thread. */
const thr_backend *test_late_backend(const thr_backend *real, uint64_t seed);

/* How often work ran before work that was enqueued earlier on another stream. */
uint64_t test_late_overtakings(void);
