/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment.h - one segment's sections as plain pointers, as the scan reads them. Owns nothing.
 *
 * All arrays of "an item" are padded with zeros to whole blocks of 64 items, except vectors.
 */
#ifndef THR_SCAN_SEGMENT_H
#define THR_SCAN_SEGMENT_H

#include <thresher/index.h>

typedef struct thr_segment {
    uint32_t n_items;
    uint64_t first_row;   /* row number of its first item in the index */
    const uint8_t *codes; /* blocks, as codes.h says: all planes, or of nested codes the leading ones */

    /* Estimated score of an item, with s the integer inner product of the codes and g = 1 / |query code|. Without
     * factors (cosine without a centre) it is g * s / |b|, and |b| comes from the planes' own popcounts: no byte is
     * stored. Otherwise, with r the item's residual (codes.h), c the centre and p the coded part of the query, it is
     *   cosine  g |p| s factors - a offsets + <c, q>    p = q - a c / |c|, a = <c, q> / |c|; offsets = -<r, c> / |c|
     *   ip      g |p| s factors - a offsets + <c, q>    the same; without a centre p = q and there are no offsets
     *   l2    2 g |p| s factors -   offsets - |p|^2     p = q - c;                           offsets = |r|^2 */
    const uint32_t *block_norms; /* without factors: smallest |b|^2 of each block's codes */
    const float *factors;        /* an item: |r| / <r / |r|, b> */
    const float *offsets;        /* NULL: 0 */

    /* Nested codes have these instead (nested.h): bfloat16 factors, or pairs of factor and offset, for the leading
     * planes' own estimate, and a record of the rest an item. */
    const uint16_t *leads;
    bool lead_offsets; /* pairs */
    const uint8_t *records;

    const void *vectors;        /* keep values a row, dense; NULL for codes only */
    const float *scales;        /* keep = I8: value = scale * integer, an item; else NULL */
    const float *inverse_norms; /* cosine with vectors: 1 / |kept vector|, 0 for zero vectors; else NULL */
} thr_segment;

#endif
