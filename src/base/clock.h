/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - the only function that reads a clock. */
#ifndef THR_BASE_CLOCK_H
#define THR_BASE_CLOCK_H

/* Return seconds since a fixed, arbitrary moment. Monotonic. */
double thr_clock(void);

#endif
