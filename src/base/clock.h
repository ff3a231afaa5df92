/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - the one clock. */
#ifndef THR_BASE_CLOCK_H
#define THR_BASE_CLOCK_H

/* Seconds since some fixed moment, never going back. */
double thr_clock(void);

#endif
