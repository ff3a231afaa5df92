/* SPDX-License-Identifier: Apache-2.0 */
/* plain.h - texts that others wrote, on their way to a terminal: what could drive it becomes '?'. */
#ifndef THRESHER_PROGRAM_PLAIN_H
#define THRESHER_PROGRAM_PLAIN_H

#include <stdio.h>

/* The text as thr_make_printable leaves it. */
void prog_put_plain(FILE *file, const char *text);

/* printf of one line, without its end, on standard output; all of it made printable. */
__attribute__((format(printf, 1, 2))) void prog_line(const char *format, ...);

#endif
