/* SPDX-License-Identifier: Apache-2.0 */
/* plain.h - print untrusted text to a terminal: control characters become '?'. */
#pragma once

#include <stdio.h>

/* A copy of the text after thr_make_printable. */
void prog_put_plain(FILE *file, const char *text);

/* printf of one line, without its end, to standard output, after thr_make_printable. */
__attribute__((format(printf, 1, 2))) void prog_line(const char *format, ...);
