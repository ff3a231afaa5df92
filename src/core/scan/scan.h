/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan.h - the exhaustive search: screen every code, keep the best, refine them exactly (XFBQ section 4).
 *
 * Threads: one search at a time may use a thr_scan; create one for each concurrent search.
 */
#pragma once

#include "base/memory.h"
#include "scan/added_scores.h"
#include "scan/segment.h"
#include "select/answers.h"

#include "code/quantiser.h"

#include <math.h>

/*
 * The largest errors of an index's codes. With r an item's residual, b its code, and x = factor * b the vector that
 * the code represents, factors as stored: the largest |r - x| and |x| of any item, for the leading planes alone and for
 * all planes. 0: unknown.
 */
typedef struct thr_code_errors {
    float lead_error, lead_length, full_error, full_length;
} thr_code_errors;

/*
 * The standard errors of a rotated index's estimates, per unit of the item's factor and, but for the roundings, of the
 * length of the query's coded part (L2: twice that length), or with origins of the scored distance (origins.h). They
 * hardly depend on the query (margins/noise.h). 0: unknown.
 */
typedef struct thr_code_noise {
    double screened;                       /* by the planes in blocks, without the share of the query's own code */
    double rescored;                       /* by all planes, likewise */
    double code_square;                    /* the mean |b|^2 of the planes in blocks */
    double lead_rounding, record_rounding; /* of offsets that are stored as bfloat16, per unit of factor */
} thr_code_noise;

enum { THR_DEFAULT_QUERY_BITS = 4 }; /* where neither options nor the corpus choose */

/*
 * The data that a search reads. Pointers are borrowed. A fixed quantiser requires cosine, flat codes and no kept
 * vectors.
 */
typedef struct thr_scan_corpus {
    const thr_segment *segments; /* in row order */
    size_t n_segments;
    uint64_t n_rows; /* in all segments, and padding between them: each segment begins at a multiple of 64 */
    const thr_quantiser *quantiser;
    thr_metric metric;
    thr_dtype keep;           /* F32, F16, I8 or NONE */
    const float *kept_centre; /* of F16 and I8 (segment.h); NULL: 0 */
    uint32_t lead;       /* planes in the segments' blocks; fewer than the quantiser's item_bits for nested codes */
    uint32_t query_bits; /* default where the search options leave it open; 0: THR_DEFAULT_QUERY_BITS */
    thr_code_errors errors;
    const thr_code_noise *noise;       /* NULL: unknown */
    const thr_corpus_origins *origins; /* NULL: all codes are relative to the quantiser's centre */
    const thr_scan_hits *hits; /* sums of posting lists, to rank by values; at most 2^32 items. NULL: rank by score */
    /* NULL, or a copy of the codes on GPUs, which then run the screen. With hits it must support adding them */
    struct thr_store *store;
} thr_scan_corpus;

typedef struct thr_scan thr_scan; /* workspace, reused by later searches */

thr_status thr_scan_create(thr_context *context, thr_scan **scan, thr_error *err);
void thr_scan_free(thr_scan *scan);

/*
 * Measure the noise of a corpus with random queries on a sample of its rows. The same corpus always gets the same
 * result. It is unknown, all 0, if the codes are not rotated or have no factors, if no vectors are kept, or if the
 * corpus has few rows. THR_ENOMEM.
 */
thr_status thr_scan_measure_noise(thr_scan *scan, const thr_scan_corpus *corpus, thr_code_noise *noise, thr_error *err);

/*
 * Find the best k rows of all queries (any dtype). The caller checks the queries' dimensions and the options:
 * query_bits in 0..8, k >= 1, a filter of n_rows bits, exact only with vectors.
 *
 * n_survivors rows pass the screen and n_candidates are refined, at least k each. Margins keep the recall (margin.h) if
 * 0 < recall < 1, the corpus has vectors and factors but no hits. The two numbers then affect
 * only the time.
 *
 * The ids written to answers are row numbers of the index. answers->certified is written, options->certified ignored.
 *
 * THR_ERANGE: a query is not finite or too long (err names its row); THR_ENOMEM; and what the hits callbacks return. If
 * several queries fail, the error of the first one is returned.
 */
thr_status thr_scan_search(thr_scan *scan, const thr_scan_corpus *corpus, const thr_matrix *queries,
                           const thr_search_options *options, const thr_answers *answers, thr_error *err);

/*
 * Score given rows of the corpus's kept vectors exactly, n of each query (THR_NO_ID ends a shorter list), and write the
 * best answers->k of them. answers->certified and n_read must be NULL. Queries were checked. THR_ENOMEM.
 */
thr_status thr_scan_rerank(thr_scan *scan, const thr_scan_corpus *corpus, const thr_matrix *queries,
                           const uint64_t *rows, size_t n, const thr_answers *answers, thr_error *err);

/*
 * Check all queries, as thr_scan_search does itself. THR_ERANGE names the first that holds NaN or infinity or is too
 * long.
 */
thr_status thr_scan_check_queries(thr_scan *scan, const thr_scan_corpus *corpus, const thr_matrix *queries,
                                  thr_error *err);

/*
 * How many of n_queries queries a thread of the CPU searches together, so that they share its reads; 0: all threads
 * work on one query after the other.
 */
size_t thr_scan_group_size(const thr_context *context, uint64_t n_queries);

/* The number of lanes, numbered from 0, that a search of n_queries uses on the CPU. */
size_t thr_scan_lanes(const thr_context *context, uint64_t n_queries);

/* The bounds of kept vectors over all segments. */
thr_kept_errors thr_scan_kept_errors(const thr_scan_corpus *corpus);

/*
 * An upper bound of the distance between a kept vector and the vector that was encoded (for cosine: and that vector
 * scaled to length 1); infinity without vectors.
 */
static inline double thr_scan_kept_error(const thr_scan_corpus *corpus) {
    return corpus->keep == THR_DTYPE_NONE ? (double)INFINITY : (double)thr_scan_kept_errors(corpus).error;
}

/* The number of rows that pass a filter (NULL: all). */
uint64_t thr_scan_count_allowed(const thr_scan_corpus *corpus, const uint64_t *filter);

/*
 * A request for the ranks of given rows: by the leading planes' estimates, and by the estimates of all planes. Only the
 * best n_survivors rows by the leading planes are ranked. A rank is the number of better rows; UINT32_MAX for rows that
 * did not survive. For flat codes both ranks are equal.
 */
typedef struct thr_scan_rank_request {
    const uint64_t *rows;
    size_t n_rows;
    uint64_t n_survivors;
    uint32_t *lead_ranks, *full_ranks; /* a rank per row */
} thr_scan_rank_request;

/* Compute the ranks for one of the queries. THR_ENOMEM. */
thr_status thr_scan_ranks(thr_scan *scan, const thr_scan_corpus *corpus, const thr_matrix *queries, uint64_t query,
                          const thr_scan_rank_request *request, thr_error *err);
