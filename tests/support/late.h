/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late.h - a backend whose streams do what they are told as late as they may, and in any order that is left to them.
 *
 * The emulator's streams do everything at once, in the order in which they are told: with them a stream that should
 * wait for another one need not. Here nothing is done until somebody waits or gives memory back; then the streams are
 * at it by turns that chance decides, each in its own order and none before what it was told to come after.
 */
#ifndef TEST_LATE_H
#define TEST_LATE_H

#include "device/device.h"

/* Around a backend; one at a time, and used by one thread. */
const thr_backend *test_late_backend(const thr_backend *real, uint64_t seed);

/* How often something was done while something told to another stream before was not. */
uint64_t test_late_overtakings(void);

#endif
