/* SPDX-License-Identifier: Apache-2.0 */
/* logarithm.h - ln x with the same bits everywhere. The C library's log may differ in the last bit between machines. */
#pragma once

#include <math.h>

/* ln x for finite x >= 1. */
static inline double thr_logarithm(double x) {
    const double ln2 = 0x1.62e42fefa39efp-1, root_half = 0x1.6a09e667f3bcdp-1;
    int exponent = 0;
    double m = frexp(x, &exponent);
    if (m < root_half) {
        m *= 2;
        exponent--;
    }
    /* ln m = 2 artanh s, |s| <= 0.172: the first omitted term is below 2^-60. */
    const double s = (m - 1) / (m + 1), square = s * s;
    double sum = 0;
    for (int k = 21; k >= 1; k -= 2)
        sum = sum * square + 1.0 / k;
    return 2 * s * sum + exponent * ln2;
}
