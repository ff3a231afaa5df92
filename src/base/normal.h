/* SPDX-License-Identifier: Apache-2.0 */
/* normal.h - the tail of the normal distribution. */
#pragma once

#include <math.h>

/*
 * An upper bound, at most 6 % too large, of the probability that a normal number exceeds z (Abramowitz and Stegun,
 * 7.1.13). A third of erfc's time.
 */
static inline double thr_normal_tail(double z) {
    static const double EIGHT_OVER_PI = 2.5464790894703255, ROOT_OF_2_OVER_PI = 0.7978845608028654;
    const double x = fabs(z), above = ROOT_OF_2_OVER_PI * exp(-x * x / 2) / (x + sqrt(x * x + EIGHT_OVER_PI));
    return z < 0 ? 1 - above : above;
}
