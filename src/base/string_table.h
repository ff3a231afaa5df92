/* SPDX-License-Identifier: Apache-2.0 */
/* string_table.h - strings as files of ours have them: n + 1 offsets, then the bytes, a zero byte behind each. */
#ifndef THR_BASE_STRING_TABLE_H
#define THR_BASE_STRING_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* String i is the bytes from offsets[i] to offsets[i + 1], its zero byte included. A view. */
typedef struct thr_strings {
    const uint64_t *offsets; /* n + 1; NULL: there are none */
    const char *bytes;
    uint64_t n, size;
} thr_strings;

/* Those that lie at data, 8-byte aligned, in size bytes, which are enough for the offsets. */
static inline thr_strings thr_strings_at(const void *data, uint64_t size, uint64_t n) {
    const uint64_t offsets = (n + 1) * sizeof(uint64_t);
    return (thr_strings){data, (const char *)data + offsets, n, size - offsets};
}

/* String i, whatever the bytes are; NULL where there is none or the offsets are wrong. */
static inline const char *thr_strings_get(const thr_strings *strings, uint64_t i) {
    if (strings->offsets == NULL || i >= strings->n)
        return NULL;
    const uint64_t start = strings->offsets[i], end = strings->offsets[i + 1];
    if (start >= end || end > strings->size || strings->bytes[end - 1] != '\0')
        return NULL;
    return strings->bytes + start;
}

/*
 * The first string that does not begin where the one before it ends, or has another zero byte within; n where all are
 * right but bytes follow the last; n + 1 where all is right.
 */
uint64_t thr_strings_check(const thr_strings *strings);

#endif
