/* SPDX-License-Identifier: Apache-2.0 */
/*
 * margin.h - margins that keep a promised recall: how far a true score may exceed its estimate.
 *
 * A row belongs to the best k only if its score reaches the k-th best. So a row may be dropped once its estimate plus z
 * standard errors is below a k-th best score that was found already; a wanted row is then dropped with at most the
 * probability that a normal error exceeds z. That holds for every query, k and filter, because the error is measured
 * for the query at hand (noise.h).
 */
#ifndef THR_SCAN_MARGIN_H
#define THR_SCAN_MARGIN_H

#include "scan/noise.h"

struct thr_radius;

/* A query's margins, in the collector's units per unit of an item's factor: z times the noise. */
typedef struct thr_margin {
    thr_noise noise;                  /* noise.known: false if there are no margins */
    thr_scan_query screen, rescoring; /* the query with unbiased gains */
    const thr_scan_query *query;      /* the query that screens, once thr_scan_margin_begin has made it */
} thr_margin;

/*
 * Measure the margins of a query that thr_scan_query_prepare made with job->bounded. Return false, with noise.known
 * false, if they are unknown: the codes have no factors, or too few rows or the query have a direction. lane's
 * collector needs capacity for THR_NOISE_BLOCKS blocks; afterwards it is empty and has no threshold.
 */
bool thr_scan_margin_measure(const thr_job *job, const thr_scan_query *query, thr_lane *lane, thr_margin *margin);

/*
 * Make *query overestimate every item by z standard errors. sine bounds the angle between the query and the residuals
 * of the wanted rows (bounds.h); 1 is always right. The margin is z * noise * factor, and an estimate is (total - 2 D)
 * * gain * factor - offset * weight, so a larger total adds it. Return false, with nothing changed, if the total
 * overflows.
 */
bool thr_scan_margin_screen(const thr_margin *margin, double z, double sine, thr_scan_query *query);

/*
 * Where the job keeps a recall, measure the margins of a prepared query, and make *query, and of nested codes
 * margin->rescoring, overestimate every item by them.
 */
void thr_scan_margin_begin(const thr_job *job, thr_scan_query *query, thr_lane *lane, thr_margin *margin);

/*
 * The standard error of the screen's estimates per unit of factor, for rows whose residuals have this sine to the
 * query.
 */
double thr_scan_margin_noise(const thr_margin *margin, double sine);

/* The scores that count: at least `least`. The best n rows so far, sorted, have such scores. */
typedef struct thr_reach {
    float least;
    size_t n;
    bool open; /* least is not the n-th row's own score: other rows may reach it too */
} thr_reach;

/*
 * The z, 0 to most, with which the rows of a reach are missed with probability `miss` on average, when a row is dropped
 * whose estimate plus z standard errors is below the least score. A row that scores more needs less. In an open reach a
 * row that just reaches the least score counts as one more.
 */
double thr_scan_margin_z(const thr_candidate *items, const thr_reach *reach, double error, double most, double miss);

/* Whether this query's recall is kept by margins. */
static inline bool thr_scan_keeps_recall(const thr_job *job, const thr_scan_query *query) {
    return job->screen_z > 0 && !query->collected;
}

/* Convert a finite least score to the collector's units, less the rounding error of estimates. */
double thr_scan_margin_threshold(const thr_scan_query *query, float least_score);

/*
 * Lower the radius's margins, now that the best rows of the job's target are known: a row that leads by much is hardly
 * ever dropped. radius has the job's margins.
 */
void thr_scan_margin_reduce(const thr_job *job, const thr_margin *margin, const thr_candidate *best,
                            const thr_reach *reach, struct thr_radius *radius);

/*
 * The least score, in the collector's units, of a screened row that can be in the answer of query number `row`, whose
 * margins are begun; -INFINITY: unknown. Certificates need the rows below it, so it is unknown with them.
 */
float thr_scan_margin_floor(const thr_job *job, const thr_scan_query *query, const thr_margin *margin, uint64_t row);

/*
 * In scan.c: the answer to one query, a matrix of one row, as thr_scan_search finds it, on one lane with capacity for
 * the job. *margin receives the query's; it borrows the lane's memory, and the job's target and filter. THR_ENOMEM; and
 * what the hits callbacks return.
 */
thr_status thr_scan_search_one(const thr_job *job, const thr_matrix *query, thr_lane *lane, thr_margin *margin,
                               thr_error *err);

/*
 * In complete.c: the answer of one query, number `row` of queries, that keeps the job's recall: from the survivors of
 * margin->query in the first lane's collector to thr_scan_answer_put. The query has n_lanes lanes, as for
 * thr_scan_collect. THR_ENOMEM; and what thr_scan_answer_put returns.
 */
thr_status thr_scan_margin_answer(const thr_job *job, const thr_margin *margin, const thr_matrix *queries, uint64_t row,
                                  thr_lane *lanes, uint32_t n_lanes, thr_error *err);

#endif
