/* SPDX-License-Identifier: Apache-2.0 */
/*
 * origins.h - the points that codes are relative to, where these differ between items.
 *
 * The origin of an item is the centroid of its cell or, in a segment without cells, the corpus's centre. Its code is of
 * the residual from its origin, which is shorter than the residual from the centre. A query is coded once. With o an
 * item's origin, c the corpus's centre (0 if there is none), r = x - o the residual of an item x, and b its code:
 *
 *   cosine, ip   <x, q>     = <o, q>     + <r, o>  +   <r, q - o>
 *   l2          -|x - q|^2  = -|q - o|^2 - |r|^2   + 2 <r, q - o>
 *
 * <r, q - o> is estimated by factor (<b, q - c> - <b, o - c>), where <b, q - c> is the product with the query's code.
 * The terms without q are the item's offset (segment.h). The term without r and b is the query's *base* for the origin.
 *
 * The error of the item's code is multiplied by |q - o|, the query's distance from the item's origin. It is small for
 * the items near a query. The error of the query's code is multiplied by |q - c|.
 *
 * By inner product a query may be much shorter than the items, and then it is far from all origins. So w o takes the
 * place of o, with a weight w for each query:
 *
 *   <x, q> = <o, q> + w <r, o> + <r, q - w o>, where <r, q - w o> is estimated by factor (<b, q - w c> - w <b, o - c>)
 *
 * The offset is multiplied by w. With o the origin of the largest <o, q>, w is chosen so that w o is as near q as
 * possible; it is 0 if no <o, q> is positive. For the other metrics w is 1.
 */
#pragma once

#include <thresher/index.h>

struct thr_scan_corpus;
struct thr_kernels;

/* The origins of a segment's items. Each is the origin of a run of items. Owns nothing. */
typedef struct thr_segment_origins {
    uint32_t n;
    uint32_t first;           /* number, in the corpus, of the segment's first origin */
    const uint32_t *starts;   /* n: the first item of each run, ascending from 0 */
    const uint32_t *of_block; /* by block of 64 items: the origin of its first item, numbered in the segment */
    const float *points;      /* n dense rows */
    const float *lengths;     /* n: of the points */
} thr_segment_origins;

/* The origins of all segments of an index. Owns nothing. */
typedef struct thr_corpus_origins {
    const thr_segment_origins *segments;
    size_t n_segments;
    uint32_t n;               /* of all segments */
    double longest, farthest; /* upper bounds of |o| and of |o - c| */
} thr_corpus_origins;

/* The numbers of a query that its estimates of one origin's items need. */
typedef struct thr_origin_term {
    float base;     /* cosine and inner product: <o, q>; L2: -|q - o|^2 */
    float distance; /* an upper bound of the *scored distance*: |q - w o|; for L2 2 |q - o|, as in scores */
} thr_origin_term;

/*
 * Compute the terms of a query of this length for all origins of a corpus. Returns the query's weight. scores: the
 * results of the kernel dot_f32 (L2: l2_f32) for the query and all origins; NULL: they are computed here.
 */
double thr_scan_origin_terms(const struct thr_scan_corpus *corpus, const struct thr_kernels *kernels,
                             const float *vector, double length, const float *scores, thr_origin_term *terms);

/* The origin of an item. Both are numbered in the segment. */
static inline uint32_t thr_segment_origin_of(const thr_segment_origins *origins, uint64_t item) {
    uint32_t origin = origins->of_block[item / 64];
    while (origin + 1 < origins->n && origins->starts[origin + 1] <= item)
        origin++;
    return origin;
}
