/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - the only function that reads a clock. */
#pragma once

/* Return seconds since a fixed, arbitrary moment. Monotonic. */
double thr_clock(void);
