/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roaring.h - read the containers of a Roaring bitmap one by one from untrusted bytes.
 *
 * Format: https://github.com/RoaringBitmap/RoaringFormatSpec, portable, 32 and 64 bits. A container holds the values
 * that agree in all but their last 16 bits: as a sorted list, as 65,536 bits, or as runs. A container is fully
 * validated before it is returned.
 *
 * The format is parsed here rather than by CRoaring, because old releases of CRoaring require validated input:
 * validation is nearly all of the work, and the rest writes the target bitmap without building another one first.
 * Tests compare with CRoaring.
 */
#pragma once

#include <thresher/status.h>

enum { THR_ROARING_BITS = 1 << 16, THR_ROARING_WORDS = THR_ROARING_BITS / 64 }; /* of a container */

typedef enum thr_roaring_kind { THR_ROARING_LIST, THR_ROARING_BITMAP, THR_ROARING_RUNS } thr_roaring_kind;

typedef struct thr_roaring_container {
    uint64_t first;  /* the value of its bit 0, a multiple of 65,536 */
    uint32_t last;   /* its largest bit */
    uint32_t n_bits; /* number of set bits; 0: no further container */
    thr_roaring_kind kind;
    uint32_t n_parts; /* values of a list, words of a bitmap, runs */
    const uint8_t *parts;
} thr_roaring_container;

typedef struct thr_roaring {
    const uint8_t *bytes;
    size_t size, at;
    uint64_t n_buckets; /* 32-bit buckets not yet begun */
    uint64_t high;      /* high 32 bits of the bucket's values, shifted into place */
    bool is_first;      /* no bucket has begun yet */

    /* The current bucket. Its headers have been bounds-checked. */
    size_t start; /* start of the bucket, which offsets are relative to */
    uint32_t n_containers, i;
    const uint8_t *run_flags, *keys, *offsets; /* run_flags, offsets: NULL if absent */
} thr_roaring;

/* Open. bytes are borrowed. THR_OK; THR_EFORMAT; THR_ECORRUPT. */
thr_status thr_select_roaring_open(thr_roaring *roaring, const void *bytes, size_t size, thr_error *err);

/* Read the next container, ascending. THR_OK, with n_bits 0 at the end; THR_ECORRUPT. */
thr_status thr_select_roaring_next(thr_roaring *roaring, thr_roaring_container *container, thr_error *err);

/* Set the container's bits in words[0 .. last / 64]. A bitmap container overwrites its words; others only set bits. */
void thr_select_roaring_fill(const thr_roaring_container *container, uint64_t *words);
