/* SPDX-License-Identifier: Apache-2.0 */
/* normal.h - the tail of the normal distribution, by a table. */
#pragma once

#include <math.h>
#include <stddef.h>

/* Tails from 9 on are less than 2e-19, and count as 0. */
enum { THR_NORMAL_PER_UNIT = 64, THR_NORMAL_LAST = 9 * THR_NORMAL_PER_UNIT };

extern double thr_normal_tails[THR_NORMAL_LAST + 1]; /* at multiples of 1 / THR_NORMAL_PER_UNIT */

/* Make the table, once in a process; later calls return at once. thr_context_create calls it. */
void thr_normal_prepare(void);

/* The probability that a normal number exceeds z, within 0.3 %; 0 from 9 on, 1 up to -9. Needs the table. */
static inline double thr_normal_tail(double z) {
    const double x = fabs(z) * THR_NORMAL_PER_UNIT;
    if (!(x < THR_NORMAL_LAST))
        return z < 0 ? 1 : z > 0 ? 0 : z; /* NaN stays NaN */
    const size_t i = (size_t)x;
    const double above = thr_normal_tails[i] + (thr_normal_tails[i + 1] - thr_normal_tails[i]) * (x - (double)i);
    return z < 0 ? 1 - above : above;
}
