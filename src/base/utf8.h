/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.h - code points of bytes, and back. */
#ifndef THR_BASE_UTF8_H
#define THR_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The code point at *at, before end, which moves behind it; false, and *at stays, for what is no UTF-8: a stray or
 * missing continuation, a longer form than needed, a surrogate, more than 0x10FFFF.
 */
bool thr_utf8_next(const char **at, const char *end, uint32_t *letter);

/* Bytes of a code point, 4 at most, to out; returns how many. */
size_t thr_utf8_put(uint32_t letter, char out[4]);

/* How many of the first bytes are UTF-8: length where all are. */
size_t thr_utf8_valid(const char *text, size_t length);

#endif
