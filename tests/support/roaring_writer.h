/* SPDX-License-Identifier: Apache-2.0 */
/* roaring_writer.h - a naive writer of Roaring bitmaps, straight from the text of RoaringFormatSpec. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct test_roaring_form {
    bool wide;     /* 64 bits */
    unsigned runs; /* 0: no container is of runs; r: every r-th is, from the first of a bucket on */
} test_roaring_form;

/*
 * Bytes of the bitmap of these values, which increase; below 2^32 unless the form is wide. They are released as
 * test_new's.
 */
uint8_t *test_roaring_write(const uint64_t *values, size_t n, test_roaring_form form, size_t *size);
