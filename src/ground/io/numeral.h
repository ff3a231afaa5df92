/* SPDX-License-Identifier: Apache-2.0 */
/*
 * numeral.h - convert decimal numbers in text to the nearest double or float.
 *
 * Grammar: [+-] digits [. digits] [e [+-] digits], with at least one digit before the exponent, independent of the
 * locale. No hexadecimal numbers, no "inf", no "nan".
 *
 * A number w x 10^e whose w and 10^|e| are exact doubles (floats) takes one multiplication or division, which IEEE
 * arithmetic rounds correctly. Nearly all numbers in practice are of this kind. Others go to the C library in the
 * form "digits e exponent", which no locale changes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/minmax.h"

enum { THR_NUMERAL_DIGITS = 19 }; /* digits that always fit in the field `digits` */

/* digits x 10^exponent, exact if at most 19 digits remain after leading zeros. */
typedef struct thr_numeral {
    const char *begin, *end; /* the text of the number */
    uint64_t digits;
    int32_t exponent;
    bool negative, is_long;
} thr_numeral;

/* Convert with the C library, any length. Returns infinity if the number exceeds the type's range. */
double thr_io_numeral_double_slow(const thr_numeral *n);
float thr_io_numeral_float_slow(const thr_numeral *n);

/* Parse e [+-] digits at p and add it to n->exponent, which saturates. Returns the text after it; NULL if malformed. */
const char *thr_io_numeral_exponent(const char *p, const char *end, thr_numeral *n);

/* Scan the number at p in text that ends at end. Returns the text after it; NULL if malformed. */
static inline const char *thr_numeral_scan(const char *p, const char *end, thr_numeral *n) {
    *n = (thr_numeral){.begin = p, .negative = p < end && *p == '-'};
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    const char *const first = p;
    uint64_t w = 0;
    for (; p < end && (unsigned char)(*p - '0') <= 9; p++)
        w = w * 10 + (unsigned char)(*p - '0');
    size_t n_written = (size_t)(p - first);
    if (p < end && *p == '.') {
        const char *const point = ++p;
        for (; p < end && (unsigned char)(*p - '0') <= 9; p++)
            w = w * 10 + (unsigned char)(*p - '0');
        n_written += (size_t)(p - point);
        /* more than 19 digits, so is_long is also set */
        n->exponent = (int32_t)-THR_MIN(p - point, 100000);
    }
    if (n_written == 0)
        return NULL;
    n->is_long = n_written > THR_NUMERAL_DIGITS; /* digits may have overflowed, unless the extra ones were zeros */
    n->digits = w;
    if (p < end && (*p == 'e' || *p == 'E')) {
        p = thr_io_numeral_exponent(p, end, n);
        if (p == NULL)
            return NULL;
    }
    n->end = p;
    return p;
}

/* Compute digits x 10^exponent if both are exact doubles; otherwise return false. */
static inline bool thr_numeral_fits_double(const thr_numeral *n, double *value) {
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (n->is_long || n->digits > UINT64_C(1) << 53 || n->exponent < -22 || n->exponent > 22)
        return false;
    const double w = (double)n->digits;
    *value = n->exponent < 0 ? w / powers[-n->exponent] : w * powers[n->exponent];
    return true;
}

static inline double thr_numeral_double(const thr_numeral *n) {
    double value;
    if (!thr_numeral_fits_double(n, &value))
        return thr_io_numeral_double_slow(n);
    return n->negative ? -value : value;
}

/*
 * If the double nearest to a number is not a midpoint between two floats, rounding it gives the float nearest to the
 * number: a midpoint between the two would be a double closer to the number.
 */
static inline float thr_numeral_float(const thr_numeral *n) {
    static const float powers[] = {1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f, 1e6f, 1e7f, 1e8f, 1e9f, 1e10f};
    if (!n->is_long && n->digits <= 1 << 24 && n->exponent <= 0 && n->exponent >= -10) {
        const float value = (float)n->digits / powers[-n->exponent];
        return n->negative ? -value : value;
    }
    enum { BELOW_FLOAT = 29 }; /* fraction bits that a double has and a float does not */
    double value;
    if (!thr_numeral_fits_double(n, &value))
        return thr_io_numeral_float_slow(n);
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint64_t rest = bits & ((UINT64_C(1) << BELOW_FLOAT) - 1);
    if (rest == UINT64_C(1) << (BELOW_FLOAT - 1) || (value != 0 && (value < 0x1p-126 || value > 0x1.fffffep127)))
        return thr_io_numeral_float_slow(n);
    return n->negative ? -(float)value : (float)value;
}
