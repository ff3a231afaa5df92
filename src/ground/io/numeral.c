/* SPDX-License-Identifier: Apache-2.0 */
#include "io/numeral.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/minmax.h"

enum {
    FAR = 100000000,    /* exponents saturate here */
    DECISIVE = 800,     /* digits that can affect the rounding to a double: at most 768; a non-zero rest is one more
                       digit */
    EXPONENT_ROOM = 16, /* "e-2147483648" and a NUL */
};

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

const char *thr_io_numeral_exponent(const char *p, const char *end, thr_numeral *n) {
    p++;
    const bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    if (p == end || !is_digit(*p))
        return NULL;
    int32_t exponent = 0;
    for (; p < end && is_digit(*p); p++)
        if (exponent < FAR)
            exponent = exponent * 10 + (*p - '0');
    n->exponent += negative ? -exponent : exponent;
    return p;
}

/* A number as its first decisive digits without leading zeros, "e", and an exponent. */
typedef struct plain {
    char text[DECISIVE + 1 + EXPONENT_ROOM];
} plain;

static void write_plain(const thr_numeral *n, plain *out) {
    size_t size = 0;
    int64_t exponent = 0;
    bool fraction = false, rest = false;
    const char *p = n->begin;
    for (; p < n->end && *p != 'e' && *p != 'E'; p++) {
        fraction |= *p == '.';
        if (!is_digit(*p))
            continue;
        if (size < DECISIVE && (size != 0 || *p != '0'))
            out->text[size++] = *p;
        else if (size == DECISIVE) {
            rest |= *p != '0';
            exponent++;
        }
        exponent -= fraction;
    }
    if (p < n->end) {
        thr_numeral written = {0};
        (void)thr_io_numeral_exponent(p, n->end, &written);
        exponent += written.exponent;
    }
    if (rest) {
        out->text[size++] = '1';
        exponent--;
    }
    if (size == 0)
        out->text[size++] = '0';
    exponent = THR_MIN(10 * (int64_t)FAR, exponent);
    exponent = THR_MAX(-10 * (int64_t)FAR, exponent);
    (void)snprintf(out->text + size, EXPONENT_ROOM, "e%lld", (long long)exponent);
}

double thr_io_numeral_double_slow(const thr_numeral *n) {
    plain number;
    write_plain(n, &number);
    const double value = strtod(number.text, NULL);
    return n->negative ? -value : value;
}

float thr_io_numeral_float_slow(const thr_numeral *n) {
    plain number;
    write_plain(n, &number);
    const float value = strtof(number.text, NULL);
    return n->negative ? -value : value;
}
