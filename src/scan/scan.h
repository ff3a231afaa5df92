/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan.h - the exhaustive search: screen every code, keep the best, refine them exactly (XFBQ section 4).
 *
 * Threads: a thr_scan is used by one search at a time; make one for each concurrent search.
 */
#ifndef THR_SCAN_SCAN_H
#define THR_SCAN_SCAN_H

#include "base/memory.h"
#include "scan/added_scores.h"
#include "scan/segment.h"
#include "select/answers.h"

#include <thresher/codes.h>

/*
 * How far codes are from what they stand for. With x = factor * b, the vector that a code is: the largest |r - x| and
 * |x| of any item, for the leading planes alone and for all planes, with factors as they are stored. 0 where not known.
 */
typedef struct thr_code_errors {
    float lead_error, lead_length, full_error, full_length;
} thr_code_errors;

enum { THR_QUERY_BITS = 4 };

/* What is searched. Pointers are borrowed. A fixed quantiser is for cosine, flat codes and no vectors only. */
typedef struct thr_scan_target {
    const thr_segment *segments; /* in row order */
    size_t n_segments;
    uint64_t n_items; /* in all segments */
    const thr_quantiser *quantiser;
    thr_metric metric;
    thr_dtype keep;      /* F32, F16, I8 or NONE */
    uint32_t lead;       /* planes in the segments' blocks; below the quantiser's item_bits for nested codes */
    uint32_t query_bits; /* where a search's options leave them open; 0: THR_QUERY_BITS */
    thr_code_errors errors;
    const thr_scan_hits *hits; /* NULL: items are ranked by their scores alone. With them at most 2^32 items */
    struct thr_store *store;   /* the codes once more, on GPUs, which screen them then; or NULL. With hits one that can
                                  add them */
} thr_scan_target;

typedef struct thr_scan thr_scan; /* scratch memory, kept from search to search */

thr_status thr_scan_create(thr_context *context, thr_scan **scan, thr_error *err);
void thr_scan_free(thr_scan *scan);

/*
 * Search all queries (any dtype, checked by the caller to have the target's dimensions). Options are checked by the
 * caller too: query_bits in 0..8, k >= 1, filter of n_items bits, exact only with vectors. Its recall is not looked at:
 * n_survivors and n_candidates say how many rows go on, at least k in any case.
 * ids are row numbers of the index; places for what options ask (certified) are those of answers alone.
 * THR_ERANGE names the query row; THR_ENOMEM; what hits' functions return. Of several failures the first query's is
 * told.
 */
thr_status thr_scan_search(thr_scan *scan, const thr_scan_target *target, const thr_matrix *queries,
                           const thr_search_options *options, const thr_answers *answers, thr_error *err);

/* THR_ERANGE naming the first query that holds NaN or infinity or is too long; thr_scan_search asks it itself. */
thr_status thr_scan_check_queries(thr_scan *scan, const thr_scan_target *target, const thr_matrix *queries,
                                  thr_error *err);

/* How many lanes, 0 and up, a search of so many queries uses where no store does its work (added_scores.h). */
size_t thr_scan_lanes(const thr_context *context, uint64_t n_queries);

/* Rows that pass a filter (NULL: all). */
uint64_t thr_scan_count_allowed(const thr_scan_target *target, const uint64_t *filter);

/*
 * Where given rows stand, in the order of the leading planes' estimates and in that of all planes, both among the best
 * n_survivors by the leading planes: how many come before, UINT32_MAX for rows that are not among them. Of flat codes
 * both are the same.
 */
typedef struct thr_scan_standing {
    const uint64_t *rows;
    size_t n_rows;
    uint64_t n_survivors;
    uint32_t *lead_ranks, *full_ranks; /* a place a row */
} thr_scan_standing;

/* For one of the queries. THR_ENOMEM. */
thr_status thr_scan_ranks(thr_scan *scan, const thr_scan_target *target, const thr_matrix *queries, uint64_t query,
                          const thr_scan_standing *standing, thr_error *err);

#endif
