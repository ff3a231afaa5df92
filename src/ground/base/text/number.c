/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text/number.h"

#include <stdbool.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t thr_number_text(char *out, size_t size, const char *format, double x) {
    (void)snprintf(out, size, format, x);
    size_t n = 0;
    bool in_point = false; /* the decimal point of a locale may have several bytes */
    for (const char *at = out; *at != '\0'; at++) {
        const bool is_part = strchr("0123456789+-e", *at) != NULL;
        if (is_part || !in_point)
            out[n++] = is_part ? *at : '.';
        in_point = !is_part;
    }
    out[n] = '\0';
    return n;
}

float thr_text_float(const char *text, char **end) {
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    const locale_t before = uselocale(plain);
    const float x = strtof(text, end);
    (void)uselocale(before);
    if (plain != (locale_t)0)
        freelocale(plain);
    return x;
}
