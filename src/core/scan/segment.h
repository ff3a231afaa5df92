/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment.h - pointers to one segment's sections, for the scan. Owns nothing.
 *
 * All arrays with an element per item are padded with zeros to whole blocks of 64 items, except vectors.
 */
#pragma once

#include "base/minmax.h"
#include "scan/origins.h"

#include <thresher/matrix.h>

/*
 * Vectors that are kept as float16 or int8: what is stored, and how far a score may be off.
 *
 * With y the vector that scores are of (the item's, for cosine divided by its length), c the centre of the index's kept
 * vectors and v the stored numbers, the kept vector is y' = c + scale v. The centre is chosen once for an index and is
 * in all its segments, so copying a row to another segment changes no bit of a score. Scores are
 *
 *   ip      <q, c> + scale <q, v>
 *   l2      -|(q - c) - scale v|^2, by explicit differences
 *   cosine  1 - |q - y'|^2 / 2 = (1 - |q - c|^2 / 2) + scale <q - c, v> - half,  half = |scale v|^2 / 2
 *
 * The third depends on the kept vector's error only by its product with q - y, so it is accurate for near items. A zero
 * vector has a half of -1 and scores 0.
 */

/*
 * Bounds over the items of a segment or an index: ratio: of |y - y'| / scale; error: of |y - y'|; unit_error: cosine,
 * of the difference of |y'| from 1; longest: of |scale v|. All 0 if the vectors are kept as they were given.
 */
typedef struct thr_kept_errors {
    float ratio, error, unit_error, longest;
} thr_kept_errors;

/* Whether a kept type stores residuals with scales. */
static inline bool thr_keep_is_scaled(thr_dtype keep) {
    return keep == THR_DTYPE_F16 || keep == THR_DTYPE_I8;
}

/* Raise the bounds to at least those of others. */
static inline void thr_kept_errors_join(thr_kept_errors *errors, const thr_kept_errors *others) {
    errors->ratio = THR_MAX(errors->ratio, others->ratio);
    errors->error = THR_MAX(errors->error, others->error);
    errors->unit_error = THR_MAX(errors->unit_error, others->unit_error);
    errors->longest = THR_MAX(errors->longest, others->longest);
}

typedef struct thr_segment {
    uint32_t n_items;
    uint64_t first_row;   /* row number, in the index, of the first item */
    const uint8_t *codes; /* blocks in the layout of code/encode.h: all planes, or the leading ones of nested codes */

    /*
     * The estimated score of an item. s is the integer inner product of the codes, b the item's code, and g = 1 /
     * |query code|. Without factors (cosine without a centre) the estimate is g * s / |b|; |b| is computed from
     * popcounts of the planes. With factors, r being the item's residual (code/quantiser.h), c the centre and p the
     * coded part of the query, it is
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
    const float *scales;        /* keep = F16 or I8, per item, as above; else NULL */
    const float *inverse_norms; /* cosine with vectors, per item: 1 / |vector|, 0 for zero vectors; else NULL */
    const float *halves;        /* cosine with keep = F16 or I8, per item, as above; else NULL */
    thr_kept_errors kept;

    const thr_segment_origins *origins; /* NULL: codes are relative to the corpus's centre */
    uint32_t first_item;                /* number in origins->starts of the first item here; a multiple of 64 */
} thr_segment;
