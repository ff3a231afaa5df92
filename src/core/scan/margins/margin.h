/* SPDX-License-Identifier: Apache-2.0 */
/*
 * margin.h - margins that keep a promised recall: how far a true score may exceed its estimate.
 *
 * A row is among the best k only if its score reaches the k-th best score. A search drops a row if the row's estimate
 * plus z standard errors is below the k-th best score found so far. A row among the best k is then dropped with at most
 * the probability that a normal error exceeds z. This holds for every query, k and filter, because the standard error
 * is that of the query's own estimates (noise.h).
 */
#pragma once

#include "scan/margins/noise.h"

#include <math.h>

struct thr_radius;

/* The standard error of a sum of two independent errors. hypot is slower, and squares of floats fit a double. */
static inline double thr_scan_two_errors(double a, double b) {
    return sqrt(a * a + b * b);
}

/* The measurements that a query's margins come from. The margin of an item is z x noise x the item's factor. */
typedef struct thr_margin {
    thr_noise noise; /* of the query's estimates; noise.known: false if there are no margins */
    /* the query, with the gains of each step divided by the cosine to its code (thr_scan_unbias_*) */
    thr_scan_query screen, rescoring;
    const thr_scan_query *query; /* the query that screens, once thr_scan_margin_begin has made it */
} thr_margin;

/*
 * Measure the margins of a query that thr_scan_query_prepare made with job->measures_queries. Return false, with
 * noise.known false, if they are unknown; a search then scores all vectors. They are unknown if
 *
 *   - the codes have no factors,
 *   - the query has too few effective dimensions (thr_query_geometry),
 *   - the query's code is too inaccurate, or
 *   - too few sampled rows have a residual that is not 0.
 *
 * lane's collector needs capacity for THR_NOISE_BLOCKS blocks; afterwards it is empty and has no threshold.
 */
bool thr_scan_margin_measure(const thr_job *job, const thr_scan_query *query, thr_lane *lane, thr_margin *margin);

/*
 * Make *query overestimate every item by z standard errors. across is thr_scan_largest_across of the least wanted score
 * (bounds.h); infinity is always valid. The margin z * noise * factor is added by enlarging total, since an estimate is
 * (total - 2 D) * gain * factor - offset * weight. With origins noise differs between origins; then the screen enlarges
 * total origin by origin, from the margins set in *query. Return false, with nothing changed, if total overflows.
 */
bool thr_scan_margin_screen(const thr_margin *margin, double z, double across, thr_scan_query *query);

/*
 * Make *rescoring, a copy of margin->rescoring or itself, overestimate every item by z standard errors. across: as for
 * thr_scan_margin_screen.
 */
void thr_scan_margin_rescore(const thr_margin *margin, double z, double across, thr_scan_query *rescoring);

/*
 * Set margin->query. If the job has margins, also measure those of the prepared query, and make *query overestimate
 * every item by them; for nested codes margin->rescoring as well.
 */
void thr_scan_margin_begin(const thr_job *job, thr_scan_query *query, thr_lane *lane, thr_margin *margin);

/*
 * The standard error of the screen's estimates per unit of factor: sqrt((random min(distance, across))^2 + query^2).
 * distance: the scored distance of the rows' origin (origins.h), 1 without origins. across: thr_scan_largest_across of
 * their least score, or infinity.
 */
double thr_scan_margin_noise(const thr_margin *margin, double distance, double across);

/* The least score that a row of the answer can have, as known so far. The best n rows, sorted, reach it. */
typedef struct thr_reach {
    float least;
    size_t n;
    bool from_caller; /* least is given, not the n-th row's score: rows that are not found yet may reach it, too */
} thr_reach;

/*
 * Find the smallest z, 0 to most, at which the rows of a reach are dropped with a mean probability of at most `miss`. A
 * row is dropped if its estimate plus z standard errors is below the least score, so a better row is less likely to be
 * dropped. If the reach is from the caller, a row that just reaches the least score is counted in addition.
 */
double thr_scan_margin_z(const thr_candidate *items, const thr_reach *reach, double error, double most, double miss);

/* How many rows a search for the best k refines first. Their k-th best score decides which others it refines. */
static inline uint64_t thr_scan_first_refined(uint64_t k) {
    return 2 * k + 8;
}

/* The collector's threshold for a finite least score: converted to its units, minus the rounding error of estimates. */
double thr_scan_margin_threshold(const thr_scan_query *query, float least_score);

/*
 * In complete.c: reduce the radius's margins, given the best rows of the job's corpus so far: rows far above the least
 * score are hardly ever dropped. On entry radius has the job's margins.
 */
void thr_scan_margin_reduce(const thr_job *job, const thr_margin *margin, const thr_candidate *best,
                            const thr_reach *reach, struct thr_radius *radius);

/*
 * The least score, in the collector's units, of a screened row that can be in the answer of query number q, whose
 * margins thr_scan_margin_begin has measured; -INFINITY: unknown. With certificates, which also need the rows below it,
 * it is -INFINITY unless the job is exact.
 */
float thr_scan_margin_floor(const thr_job *job, const thr_scan_query *query, const thr_margin *margin, uint64_t q);

/*
 * In scan.c: find the answer to one query, a matrix of one row, as thr_scan_search does, on one lane with capacity for
 * the job. *margin receives the query's margins; it borrows the lane's memory, and the job's corpus and filter.
 * THR_ENOMEM; and what the hits callbacks return.
 */
thr_status thr_scan_search_one(const thr_job *job, const thr_matrix *query, thr_lane *lane, thr_margin *margin,
                               thr_error *err);

/*
 * In complete.c: turn the survivors of margin->query, in the first lane's collector, into the answer of query number
 * q of queries, and write it with thr_scan_answer_put: rescore and refine them. If the job has margins, the answer has
 * its recall; else as many are refined as the job says. The query has n_lanes lanes, as for thr_scan_collect.
 * THR_ENOMEM; and what thr_scan_answer_put returns.
 */
thr_status thr_scan_answer(const thr_job *job, const thr_margin *margin, const thr_matrix *queries, uint64_t q,
                           thr_lane *lanes, uint32_t n_lanes, thr_error *err);
