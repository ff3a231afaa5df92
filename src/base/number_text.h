/* SPDX-License-Identifier: Apache-2.0 */
/* number_text.h - numbers in texts that programs read, the same in every locale. */
#ifndef THR_BASE_NUMBER_TEXT_H
#define THR_BASE_NUMBER_TEXT_H

#include <stddef.h>

/* snprintf of one finite double by a format without grouping, with '.' whatever the locale has for a point. */
__attribute__((format(printf, 3, 0))) size_t thr_number_text(char *out, size_t size, const char *format, double x);

/* strtof as in the C locale: with '.' for a point. */
float thr_text_float(const char *text, char **end);

#endif
