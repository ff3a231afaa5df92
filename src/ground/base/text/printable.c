/* SPDX-License-Identifier: Apache-2.0 */
#include <thresher/status.h>

#include <string.h>

#include "base/text/utf8.h"

/* Control characters (C0, DEL, C1), line separators, and marks that change the direction of the text after them. */
static bool is_unfit(uint32_t letter) {
    return letter < 0x20 || (letter >= 0x7F && letter < 0xA0) || letter == 0x061C || letter == 0x200E ||
           letter == 0x200F || (letter >= 0x2028 && letter <= 0x202E) || (letter >= 0x2066 && letter <= 0x2069);
}

void thr_make_printable(char *text) {
    const char *at = text, *const end = text + strlen(text);
    char *to = text;
    while (at < end) {
        const char *const from = at;
        uint32_t letter;
        if (!thr_utf8_next(&at, end, &letter)) {
            at++;
            *to++ = '?';
        } else if (is_unfit(letter)) {
            *to++ = '?';
        } else {
            memmove(to, from, (size_t)(at - from));
            to += at - from;
        }
    }
    *to = '\0';
}
