/* SPDX-License-Identifier: Apache-2.0 */
/* decimal.h - unsigned decimal integers in text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Parse the whole text as an unsigned integer below 2^64: digits only, no sign, no leading zeros. Return false
 * otherwise.
 */
static inline bool thr_decimal_parse(const char *text, size_t length, uint64_t *value) {
    *value = 0;
    if (length == 0 || (length > 1 && text[0] == '0'))
        return false;
    for (size_t i = 0; i < length; i++) {
        const uint64_t digit = (uint64_t)(unsigned char)text[i] - '0'; /* above 9 for a character that is no digit */
        if (digit > 9 || __builtin_mul_overflow(*value, (uint64_t)10, value) ||
            __builtin_add_overflow(*value, digit, value))
            return false;
    }
    return true;
}
