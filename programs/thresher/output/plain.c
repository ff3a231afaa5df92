/* SPDX-License-Identifier: Apache-2.0 */
#include "output/plain.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <thresher/thresher.h>

void prog_put_plain(FILE *file, const char *text) {
    char *const copy = strdup(text);

    if (copy != NULL)
        thr_make_printable(copy);
    (void)fputs(copy != NULL ? copy : "?", file);
    free(copy);
}

void prog_line(const char *format, ...) {
    char line[4096]; /* longer texts are cut */
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    thr_make_printable(line);
    (void)puts(line);
}
