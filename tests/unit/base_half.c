/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base_half.c - float16 and bfloat16: all 65,536 values of each against their definitions, and rounding at every
 * boundary.
 */
#include "test.h"

#include "base/half.h"

/* The definition: sign, exponent, fraction. */
static double model(uint16_t half) {
    double sign = (half & 0x8000) != 0 ? -1 : 1;
    int exponent = (half >> 10) & 0x1f, fraction = half & 0x3ff;
    if (exponent == 0x1f)
        return fraction != 0 ? NAN : sign * INFINITY;
    if (exponent == 0)
        return sign * ldexp(fraction, -24);
    return sign * ldexp(1024 + fraction, exponent - 25);
}

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

TEST(every_half_widens_exactly_and_narrows_back) {
    for (uint32_t h = 0; h <= 0xffff; h++) {
        float wide = thr_half_to_f32((uint16_t)h);
        double expected = model((uint16_t)h);
        if (isnan(expected)) {
            /* Sign and payload are kept, and the quiet bit is set. */
            assert_int_equal(bits_of(wide), (h & 0x8000u) << 16 | 0x7fc00000u | (h & 0x3ffu) << 13);
            assert_int_equal(thr_half_from_f32(wide), h | 0x200u);
        } else {
            assert_int_equal(bits_of(wide), bits_of((float)expected));
            assert_int_equal(thr_half_from_f32(wide), h);
        }
    }
}

TEST(ties_go_to_the_even_half) {
    for (uint32_t h = 0; h < 0x7bff; h++) { /* up to the largest finite one */
        double low = model((uint16_t)h), high = model((uint16_t)(h + 1));
        float middle = (float)((low + high) / 2); /* exact: one bit more than a half has */
        uint32_t even = (h & 1) != 0 ? h + 1 : h;
        assert_int_equal(thr_half_from_f32(middle), even);
        assert_int_equal(thr_half_from_f32(-middle), even | 0x8000);
        assert_int_equal(thr_half_from_f32(nextafterf(middle, -1)), h);
        assert_int_equal(thr_half_from_f32(nextafterf(middle, 1e9f)), h + 1);
        assert_int_equal(thr_half_from_f32(nextafterf((float)low, 1e9f)), h);
        assert_int_equal(thr_half_from_f32(nextafterf((float)high, -1)), h + 1);
    }
}

TEST(what_is_out_of_range_becomes_infinity_or_zero) {
    assert_int_equal(thr_half_from_f32(65504.0f), 0x7bff);
    assert_int_equal(thr_half_from_f32(nextafterf(65520.0f, 0)), 0x7bff);
    assert_int_equal(thr_half_from_f32(65520.0f), 0x7c00); /* the tie goes up, out of range */
    assert_int_equal(thr_half_from_f32(-3e38f), 0xfc00);
    assert_int_equal(thr_half_from_f32(INFINITY), 0x7c00);
    assert_int_equal(thr_half_from_f32(0x1p-25f), 0); /* the tie goes to zero */
    assert_int_equal(thr_half_from_f32(nextafterf(0x1p-25f, 1)), 1);
    assert_int_equal(thr_half_from_f32(-0.0f), 0x8000);
    assert_int_equal(thr_half_from_f32(float_of(1)), 0);
    assert_int_equal(thr_half_from_f32(float_of(0x80000001)), 0x8000);
}

TEST(nan_becomes_quiet_and_keeps_its_upper_payload) {
    assert_int_equal(thr_half_from_f32(float_of(0x7f800001)), 0x7e00);
    assert_int_equal(thr_half_from_f32(float_of(0x7f802000)), 0x7e01);
    assert_int_equal(thr_half_from_f32(float_of(0xffffffff)), 0xffff);
}

/* ------------------------------------------------------------------------------------------------ bfloat16 */

enum { BF16_INFINITY = 0x7f80 };

TEST(every_bfloat16_widens_to_a_float_and_narrows_back) {
    for (uint32_t h = 0; h <= 0xffff; h++) {
        const uint32_t magnitude = h & 0x7fff;
        assert_int_equal(bits_of(thr_bf16_to_f32((uint16_t)h)), h << 16);
        if (magnitude <= BF16_INFINITY)
            assert_int_equal(thr_bf16_from_f32(thr_bf16_to_f32((uint16_t)h)), h);
    }
    assert_true(thr_bf16_to_f32(0x3f80) == 1.0f);
    assert_true(thr_bf16_to_f32(0xc040) == -3.0f);
}

TEST(floats_go_to_the_nearest_bfloat16_and_ties_to_the_even_one) {
    for (uint32_t h = 0; h < BF16_INFINITY; h++) { /* neighbours h and h + 1; the last one is infinity */
        const uint32_t low = h << 16, middle = low + 0x8000, even = h + (h & 1);
        for (uint32_t sign = 0; sign <= 0x8000; sign += 0x8000) {
            assert_int_equal(thr_bf16_from_f32(float_of(sign << 16 | (low + 1))), sign | h);
            assert_int_equal(thr_bf16_from_f32(float_of(sign << 16 | (middle - 1))), sign | h);
            assert_int_equal(thr_bf16_from_f32(float_of(sign << 16 | middle)), sign | even);
            assert_int_equal(thr_bf16_from_f32(float_of(sign << 16 | (middle + 1))), sign | (h + 1));
            assert_int_equal(thr_bf16_from_f32(float_of(sign << 16 | (low + 0xffff))), sign | (h + 1));
        }
    }
    assert_int_equal(thr_bf16_from_f32(3.4028235e38f), BF16_INFINITY);
    assert_int_equal(thr_bf16_from_f32(INFINITY), BF16_INFINITY);
    assert_int_equal(thr_bf16_from_f32(-0.0f), 0x8000);
}

/* Stored factors and offsets have relative errors of at most 2^-8. */
TEST(a_normal_number_loses_at_most_two_to_the_minus_eight_of_itself) {
    for (uint32_t bits = 0x00800000; bits < 0x7f000000; bits += 0x1235) {
        const double x = (double)float_of(bits), back = (double)thr_bf16_to_f32(thr_bf16_from_f32(float_of(bits)));
        assert_true(fabs(back - x) <= ldexp(x, -8));
    }
}
