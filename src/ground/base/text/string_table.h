/* SPDX-License-Identifier: Apache-2.0 */
/*
 * string_table.h - strings as our files store them: n + 1 offsets, then the bytes, each string ending in a zero byte.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* String i is the bytes from offsets[i] to offsets[i + 1], including its terminating zero byte. A view. */
typedef struct thr_strings {
    const uint64_t *offsets; /* n + 1; NULL: no strings */
    const char *bytes;
    uint64_t n, size;
} thr_strings;

/* Make a view of the n strings at data, 8-byte aligned and size bytes long, which must hold at least the offsets. */
static inline thr_strings thr_strings_at(const void *data, uint64_t size, uint64_t n) {
    const uint64_t offsets = (n + 1) * sizeof(uint64_t);
    return (thr_strings){data, (const char *)data + offsets, n, size - offsets};
}

/* Return string i, or NULL if it does not exist or its offsets are wrong. Safe for any bytes. */
static inline const char *thr_strings_get(const thr_strings *strings, uint64_t i) {
    if (strings->offsets == NULL || i >= strings->n)
        return NULL;
    const uint64_t start = strings->offsets[i], end = strings->offsets[i + 1];
    if (start >= end || end > strings->size || strings->bytes[end - 1] != '\0')
        return NULL;
    return strings->bytes + start;
}

/*
 * Return the first string that does not begin at the end of the one before or contains a zero byte; n if all are
 * correct but bytes follow the last; n + 1 if everything is correct.
 */
uint64_t thr_strings_check(const thr_strings *strings);
