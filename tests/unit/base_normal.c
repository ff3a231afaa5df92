/* SPDX-License-Identifier: Apache-2.0 */
/* base_normal.c - the tail of the normal distribution against erfc. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "base/normal.h"

static void tails_are_within_0_3_per_cent(void **state) {
    (void)state;
    thr_normal_prepare();
    for (double z = -8.999; z < 9; z += 0.0007) {
        const double exact = erfc(z * sqrt(0.5)) / 2;
        assert_true(fabs(thr_normal_tail(z) - exact) <= 0.003 * exact);
    }
}

static void tails_never_grow(void **state) {
    (void)state;
    thr_normal_prepare();
    for (double z = -10, last = 1; z < 10; z += 0.001) {
        const double tail = thr_normal_tail(z);
        assert_true(tail <= last);
        last = tail;
    }
}

static void far_tails_are_0_and_1(void **state) {
    (void)state;
    thr_normal_prepare();
    assert_true(thr_normal_tail(9) == 0 && thr_normal_tail(INFINITY) == 0);
    assert_true(thr_normal_tail(-9) == 1 && thr_normal_tail(-INFINITY) == 1);
    assert_true(isnan(thr_normal_tail(NAN)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tails_are_within_0_3_per_cent),
        cmocka_unit_test(tails_never_grow),
        cmocka_unit_test(far_tails_are_0_and_1),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
