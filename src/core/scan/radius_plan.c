/* SPDX-License-Identifier: Apache-2.0 */
/*
 * radius_plan.c - chooses thresholds and margins for one query of a radius search.
 *
 * A row may be missed by the screen or by the rescoring; the two probabilities add up to 1 - recall. The rescoring gets
 * the smaller share: estimates by all planes are accurate, so its margin is small anyway.
 */
#include "scan/radius_plan.h"

#include "scan/margins/bounds.h"
#include "scan/margins/margin.h"

#include <math.h>

enum { LEAST_ITEMS = 4096 }; /* with fewer, all are scored; measuring the noise would cost more */
_Static_assert((int)THR_NOISE_BLOCKS <= (int)THR_RADIUS_BLOCKS, "a sample must fit the collector");

static const double MOST_SURVIVORS = 0.2; /* share of all rows; with more, reading all vectors in order is faster */

thr_radius thr_scan_radius_make(float least_score, double recall) {
    const double miss = 1 - recall;
    if (!(miss > 0))
        return (thr_radius){.least_score = least_score, .certain = true};
    return (thr_radius){.least_score = least_score,
                        .screen_z = thr_scan_normal_quantile(fmin(0.5, THR_SCREEN_SHARE * miss)),
                        .rescore_z = thr_scan_normal_quantile(fmin(0.5, (1 - THR_SCREEN_SHARE) * miss))};
}

static float round_down(double x) {
    const float nearest = (float)x;
    return (double)nearest > x ? nextafterf(nearest, -INFINITY) : nearest;
}

/* Whether more than MOST_SURVIVORS of the allowed rows reach the threshold, by a sample of evenly spaced blocks. */
static bool most_survive(const thr_job *job, const thr_scan_query *query, thr_lane *lane, float threshold) {
    const thr_scan_group alone = thr_scan_group_make(job, query, 1, lane);
    const uint64_t n_sampled = thr_sample_blocks(job->n_blocks);
    size_t n = 0;
    for (uint64_t i = 0; i < n_sampled; i++) {
        const uint64_t block = thr_select_sample_place(i, n_sampled, job->n_blocks);
        lane->collector.n = 0;
        lane->collector.threshold = threshold;
        thr_scan_screen_blocks(&alone, lane, (thr_block_range){block, block + 1});
        n += lane->collector.n;
    }
    lane->collector.n = 0;
    lane->collector.threshold = -INFINITY;
    const double allowed = (double)job->n_allowed / (double)job->corpus->n_rows;
    return (double)n > MOST_SURVIVORS * allowed * (double)n_sampled * THR_BLOCK_ITEMS;
}

/* Make a query that was prepared for another corpus search this job's. */
static void use_job(const thr_job *job, thr_scan_query *query) {
    query->corpus = job->corpus;
    query->filter = job->options->filter;
    query->rescore_margin = query->own_rescore_margin = 0;
}

/*
 * Plan with margins for the noise of this query's estimates; *query becomes the query that overestimates. Return false,
 * with nothing changed, if the noise is unknown.
 */
static bool plan_by_noise(const thr_job *job, const thr_radius *radius, thr_scan_query *query, thr_lane *lane,
                          thr_radius_plan *plan) {
    const double across = thr_scan_largest_across(query, (double)radius->least_score);
    thr_margin margin;
    if (radius->margin != NULL)
        margin = *radius->margin;
    else if (job->corpus->n_rows < LEAST_ITEMS || !thr_scan_margin_measure(job, query, lane, &margin))
        return false;
    use_job(job, &margin.screen);
    use_job(job, &margin.rescoring);
    const double least = thr_scan_margin_threshold(query, radius->least_score);
    if (!thr_scan_margin_screen(&margin, radius->screen_z, across, query))
        return false;
    plan->rescored = least;
    plan->screened = round_down(least);
    plan->rescoring = margin.rescoring;
    if (job->corpus->keep != THR_DTYPE_NONE) /* otherwise the estimates are the answer */
        thr_scan_margin_rescore(&margin, radius->rescore_z, across, &plan->rescoring);
    return true;
}

/*
 * Plan for an index of codes only. Rows are accepted by their estimates: from the screen for flat codes, from the
 * rescoring for nested codes.
 */
static void plan_codes_only(const thr_job *job, const thr_radius *radius, thr_scan_query *query, thr_lane *lane,
                            thr_radius_plan *plan) {
    if (!thr_is_nested(job->corpus))
        plan->screened = round_down(thr_scan_margin_threshold(query, radius->least_score));
    else if (!radius->certain)
        (void)plan_by_noise(job, radius, query, lane, plan);
}

thr_radius_plan thr_scan_radius_plan_make(const thr_job *job, const thr_radius *radius, thr_scan_query *query,
                                          thr_lane *lane) {
    thr_radius_plan plan = {
        .exact = job->exact, .screened = -INFINITY, .rescored = (double)-INFINITY, .rescoring = *query};
    const bool vectors = job->corpus->keep != THR_DTYPE_NONE, all_or_none = isinf(radius->least_score);
    if (!vectors) {
        if (!all_or_none)
            plan_codes_only(job, radius, query, lane, &plan);
        return plan;
    }
    if (plan.exact || all_or_none) {
        plan.exact = true;
    } else if (radius->certain) {
        plan.screened = round_down(thr_scan_screen_bound(query, radius->least_score, job->kept_error));
        plan.exact = !isfinite(plan.screened);
        plan.certified = true;
    } else {
        plan.exact = !plan_by_noise(job, radius, query, lane, &plan);
    }
    plan.exact = plan.exact || (!radius->expects_few && most_survive(job, query, lane, plan.screened));
    plan.certified = plan.certified || plan.exact;
    return plan;
}
