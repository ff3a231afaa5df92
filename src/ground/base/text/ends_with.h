/* SPDX-License-Identifier: Apache-2.0 */
/* ends_with.h - whether a text has an ending. */
#pragma once

#include <stdbool.h>
#include <string.h>

static inline bool thr_ends_with(const char *text, const char *ending) {
    const size_t length = strlen(text), n = strlen(ending);
    return length >= n && memcmp(text + length - n, ending, n) == 0;
}
