/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment.h - pointers to one segment's sections, for the scan. Owns nothing.
 *
 * All arrays with an element per item are padded with zeros to whole blocks of 64 items, except vectors.
 */
#pragma once

#include "scan/kept.h"
#include "scan/origins.h"

typedef struct thr_segment {
    uint32_t n_items;
    uint64_t first_row;   /* row number, in the index, of the first item */
    const uint8_t *codes; /* blocks in the layout of codes.h: all planes, or the leading ones of nested codes */

    /*
     * The estimated score of an item. s is the integer inner product of the codes, b the item's code, and g = 1 /
     * |query code|. Without factors (cosine without a centre) the estimate is g * s / |b|; |b| is computed from
     * popcounts of the planes. With factors, r being the item's residual (codes.h), c the centre and p the coded part
     * of the query, it is
     *   cosine  g |p| s factors - a offsets + <c, q>    p = q - a c / |c|, a = <c, q> / |c|; offsets = -<r, c> / |c|
     *   ip      g |p| s factors - a offsets + <c, q>    the same; without a centre p = q and there are no offsets
     *   l2    2 g |p| s factors -   offsets - |p|^2     p = q - c;                           offsets = |r|^2
     * If the segment has origins (origins.h), o is the item's origin, r = x - o and p = q - w c, where w is 1 but for
     * ip. g is also divided by the cosine of the angle between p and its code (margins/unbias.h). The estimate is
     *   cosine, ip  g |p| s factors - w offsets + <o, q>    offsets =   factor <b, o - c> - <r, o>
     *   l2        2 g |p| s factors - offsets - |q - o|^2   offsets = 2 factor <b, o - c> + |r|^2
     */
    const uint32_t *block_norms; /* without factors: smallest |b|^2 of each block's codes */
    const float *factors;        /* per item: |r| / <r / |r|, b> */
    const float *offsets;        /* per item; NULL: all 0 */

    /*
     * Nested codes have these instead (nested.h): per item a bfloat16 factor, or a pair of factor and offset, for the
     * leading planes' own estimate, and a record with the other planes.
     */
    const uint16_t *leads;
    bool lead_offsets; /* leads are pairs */
    const uint8_t *records;

    const void *vectors;        /* dense rows of dtype `keep`; NULL for codes only */
    const float *scales;        /* keep = F16 or I8, per item (kept.h); else NULL */
    const float *inverse_norms; /* cosine with vectors, per item: 1 / |vector|, 0 for zero vectors; else NULL */
    const float *halves;        /* cosine with keep = F16 or I8, per item (kept.h); else NULL */
    thr_kept_errors kept;

    const thr_segment_origins *origins; /* NULL: codes are relative to the corpus's centre */
    uint32_t first_item;                /* number in origins->starts of the first item here; a multiple of 64 */
} thr_segment;
