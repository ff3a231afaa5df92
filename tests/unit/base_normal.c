/* SPDX-License-Identifier: Apache-2.0 */
/* base_normal.c - the tail of the normal distribution against erfc. */
#include "test.h"

#include "base/normal.h"

TEST(tails_are_within_0_3_per_cent) {
    thr_normal_prepare();
    for (double z = -8.999; z < 9; z += 0.0007) {
        const double exact = erfc(z * sqrt(0.5)) / 2;
        assert_true(fabs(thr_normal_tail(z) - exact) <= 0.003 * exact);
    }
}

TEST(tails_never_grow) {
    thr_normal_prepare();
    for (double z = -10, last = 1; z < 10; z += 0.001) {
        const double tail = thr_normal_tail(z);
        assert_true(tail <= last);
        last = tail;
    }
}

TEST(far_tails_are_0_and_1) {
    thr_normal_prepare();
    assert_true(thr_normal_tail(9) == 0 && thr_normal_tail(INFINITY) == 0);
    assert_true(thr_normal_tail(-9) == 1 && thr_normal_tail(-INFINITY) == 1);
    assert_true(isnan(thr_normal_tail(NAN)));
}
