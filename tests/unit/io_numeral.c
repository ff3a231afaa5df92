/* SPDX-License-Identifier: Apache-2.0 */
/* io_numeral.c - decimal numbers against the C library's strtod and strtof, bit by bit, and texts without a number. */
#include "test.h"

#include "support/support.h"

#include <locale.h>

#include "io/numeral.h"

static void check(const char *text) {
    thr_numeral n;
    const size_t length = strlen(text);
    char *exact = test_new(1, length); /* nothing after the number may be read */
    memcpy(exact, text, length);
    const char *end = thr_numeral_scan(exact, exact + length, &n);
    assert_case(end == exact + length, "%.60s: not a number", text);
    const double d = thr_numeral_double(&n), expected_d = strtod(text, NULL);
    const float f = thr_numeral_float(&n), expected_f = strtof(text, NULL);
    assert_case(memcmp(&d, &expected_d, sizeof d) == 0, "%.60s: %a, not %a", text, d, expected_d);
    assert_case(memcmp(&f, &expected_f, sizeof f) == 0, "%.60s: %a, not %a", text, (double)f, (double)expected_f);
}

TEST(numbers_by_hand_are_the_nearest_ones) {
    static const char *const texts[] = {
        "0", "-0", "+1", "1.", ".5", "-.5e1", "0.031310", "16777217", "16777219", "9007199254740993", "1e22", "1e23",
        "1e-22", "123456789012345678", "12345678901234567890", "18446744073709551616", "3.4028235e38", "3.4028236e38",
        "340282356779733661637539395458142568447", "340282356779733661637539395458142568448", "1e39", "-1e309", "1e-45",
        "7e-46", "7.1e-46", "1.17549435e-38", "1.1754942807573643e-38", "5e-324", "2e-324", "1e-400", "1e400",
        "0.000000000000000000000000000001", "00000000000000000000000000000001", "1e+5", "1E-5", "1e0000000000000000005",
        "1e99999999999999999999", "1e-99999999999999999999", "0e99999999999999999999",
        /* midpoints of two floats, and just beside them */
        "1.00000005960464477539062500", "1.00000005960464477539062501", "1.00000005960464477539062499",
        "1.00000017881393432617187500", "1.00000017881393432617187501", "8388608.5", "8388609.5", "16777217e0",
        "1677721.7e1"};
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        check(texts[i]);
}

RANDOM_TEST(random_numbers_are_the_nearest_ones) {
    for (size_t i = 0; i < 200000; i++) {
        char text[64];
        const int digits = (int)thr_rng_below(&rng, 20), exponent = (int)thr_rng_below(&rng, 80) - 40;
        const uint64_t whole = thr_rng_next(&rng) >> thr_rng_below(&rng, 64);
        const char *sign = i % 3 == 0 ? "-" : "";
        if (i % 4 == 0)
            (void)snprintf(text, sizeof text, "%s%llu.%0*llue%d", sign, (unsigned long long)(whole >> 40), digits,
                           (unsigned long long)(whole & 0xffffff), exponent);
        else if (i % 4 == 1)
            (void)snprintf(text, sizeof text, "%s0.%0*llu", sign, digits, (unsigned long long)whole);
        else if (i % 4 == 2)
            (void)snprintf(text, sizeof text, "%s%llue%d", sign, (unsigned long long)whole, exponent * 8);
        else { /* a double or float as it prints itself */
            uint32_t bits = (uint32_t)thr_rng_next(&rng) & 0x7f7fffff;
            float f;
            memcpy(&f, &bits, sizeof f);
            (void)snprintf(text, sizeof text, "%s%.*g", sign, 6 + digits, (double)f);
        }
        check(text);
    }
}

/* Halfway between two floats or doubles, but for a digit arbitrarily far to the right. */
TEST(digits_without_end_still_decide) {
    static const char *const starts[] = {"1.000000059604644775390625", "9007199254740993.",
                                         "0.00000000000000000000000000000000000000000000070064923216240853546186479"};
    for (size_t i = 0; i < COUNT_OF(starts); i++)
        for (size_t zeros = 0; zeros < 3000; zeros += 1 + zeros / 3)
            for (int last = 0; last < 2; last++) {
                char *text = test_new(1, strlen(starts[i]) + zeros + 8);
                const size_t length = strlen(starts[i]);
                (void)strcpy(text, starts[i]);
                (void)memset(text + length, '0', zeros + 1);
                const size_t end = length + zeros;
                (void)strcpy(text + end, last != 0 ? "1e2" : "0e-2");
                check(text);
            }
    char *text = test_new(1, 100003); /* leading zeros are no digits, and an exponent makes good what they are */
    (void)memset(text, '0', 100002);
    text[1] = '.';
    (void)strcpy(text + 99990, "17e99992");
    check(text);
}

TEST(words_are_no_numbers) {
    static const char *const texts[] = {"",   "-",   "+",    ".",   "-.",  "e5",   ".e5",
                                        "1e", "1e+", "1e-x", "nan", "inf", "-inf", " 1"};
    thr_numeral n;
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        assert_case(thr_numeral_scan(texts[i], texts[i] + strlen(texts[i]), &n) == NULL, "\"%s\" is a number",
                    texts[i]);
    static const struct {
        const char *text;
        size_t taken;
    } rests[] = {{"1.5.5", 3}, {"0x10", 1}, {"1,5", 1}, {"1:2", 1}, {"--1", 0}, {"1e5e5", 3}};
    for (size_t i = 0; i < COUNT_OF(rests); i++) {
        const char *end = thr_numeral_scan(rests[i].text, rests[i].text + strlen(rests[i].text), &n);
        assert_case((end == NULL ? 0 : (size_t)(end - rests[i].text)) == rests[i].taken, "%s", rests[i].text);
    }
}

TEST(the_locale_changes_nothing) {
    static const char *const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8", "nl_NL.UTF-8"};
    bool found = false;
    for (size_t i = 0; i < COUNT_OF(locales) && !found; i++)
        found = setlocale(LC_NUMERIC, locales[i]) != NULL;
    thr_numeral n;
    const char text[] = "0.12345678901234567890123";
    (void)thr_numeral_scan(text, text + sizeof text - 1, &n);
    const double value = thr_numeral_double(&n);
    (void)setlocale(LC_NUMERIC, "C");
    assert_true(n.is_long && value == 0.12345678901234567890123);
}
