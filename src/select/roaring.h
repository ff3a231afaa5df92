/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roaring.h - the containers of a Roaring bitmap, one after the other, from bytes nobody vouches for.
 *
 * Format: https://github.com/RoaringBitmap/RoaringFormatSpec, portable, 32 and 64 bits. A container holds the values
 * that agree in all but their last 16 bits: as a sorted list, as 65,536 bits, or as runs. What is given out has been
 * checked completely.
 *
 * It is read directly: looking at every field before a library may see it, which old releases of CRoaring need, is
 * nearly all of the work, and what is left writes the bitmap without building another first. Tests compare with
 * CRoaring.
 */
#ifndef THR_SELECT_ROARING_H
#define THR_SELECT_ROARING_H

#include <thresher/status.h>

enum { THR_ROARING_BITS = 1 << 16, THR_ROARING_WORDS = THR_ROARING_BITS / 64 }; /* of a container */

typedef enum thr_roaring_kind { THR_ROARING_LIST, THR_ROARING_BITMAP, THR_ROARING_RUNS } thr_roaring_kind;

typedef struct thr_roaring_container {
    uint64_t first;  /* the value its bit 0 stands for, a multiple of 65,536 */
    uint32_t last;   /* its largest bit */
    uint32_t n_bits; /* how many are set; 0: there was no further container */
    thr_roaring_kind kind;
    uint32_t n_parts; /* values of a list, words of a bitmap, runs */
    const uint8_t *parts;
} thr_roaring_container;

typedef struct thr_roaring {
    const uint8_t *bytes;
    size_t size, at;
    uint64_t n_buckets; /* of 32 bits each, not begun yet */
    uint64_t high;      /* the bucket's high 32 bits, in place */
    bool is_first;      /* no bucket has begun */

    /* The bucket. Its headers were checked to be inside. */
    size_t start; /* where it begins: offsets count from here */
    uint32_t n_containers, i;
    const uint8_t *run_flags, *keys, *offsets; /* run_flags, offsets: NULL when it has none */
} thr_roaring;

/* Begin. bytes are borrowed. THR_OK; THR_EFORMAT; THR_ECORRUPT. */
thr_status thr_select_roaring_open(thr_roaring *roaring, const void *bytes, size_t size, thr_error *err);

/* The next container, in increasing order. THR_OK, with n_bits 0 at the end of all bytes; THR_ECORRUPT. */
thr_status thr_select_roaring_next(thr_roaring *roaring, thr_roaring_container *container, thr_error *err);

/* Set its bits in words[0 .. last / 64]; the others are left as they are, except in the words of a bitmap. */
void thr_select_roaring_fill(const thr_roaring_container *container, uint64_t *words);

#endif
