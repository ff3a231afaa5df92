/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.h - decode and encode UTF-8. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Decode the code point at *at, before end, and advance *at. Returns false and keeps *at for invalid UTF-8: a stray
 * or missing continuation byte, an overlong form, a surrogate, or a code point above 0x10FFFF.
 */
bool thr_utf8_next(const char **at, const char *end, uint32_t *letter);

/* Encode a code point into out. Returns the number of bytes, at most 4. */
size_t thr_utf8_put(uint32_t letter, char out[4]);

/* Return the length of the longest valid UTF-8 prefix. */
size_t thr_utf8_valid(const char *text, size_t length);
