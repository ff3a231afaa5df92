/* SPDX-License-Identifier: Apache-2.0 */
/* number.h - format and parse numbers in machine-read text, independent of the locale. */
#pragma once

#include <stddef.h>

/*
 * Like snprintf of one finite double, with '.' as the decimal point in every locale. The format must not group
 * digits.
 */
__attribute__((format(printf, 3, 0))) size_t thr_number_text(char *out, size_t size, const char *format, double x);

/* Like strtof in the C locale. */
float thr_text_float(const char *text, char **end);
