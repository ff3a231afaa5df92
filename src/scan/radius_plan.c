/* SPDX-License-Identifier: Apache-2.0 */
/*
 * radius_plan.c - chooses thresholds and margins for one query of a radius search.
 *
 * A row may be missed at the screen and at the rescoring; the two probabilities add up to 1 - recall. The rescoring
 * gets the smaller share, since estimates by all planes are so accurate that its margin is small in any case.
 */
#include "scan/radius_plan.h"

#include "scan/bounds.h"
#include "scan/noise.h"

#include <math.h>

enum { LEAST_ITEMS = 4096 }; /* with fewer, all are scored; measuring the noise would cost more */
_Static_assert((int)THR_NOISE_BLOCKS <= (int)THR_RADIUS_BLOCKS, "a sample must fit the collector");

static const double SCREEN_SHARE = 0.75;
static const double MOST_SURVIVORS = 0.2; /* of all rows: beyond it, reading all vectors in order is faster */
static const double ROUNDING = 0x1p-20;   /* relative, of the terms of an estimate */
static const double SMALLEST = 0x1p-120;  /* products underflow float32 below this */

thr_radius thr_scan_radius_make(float least_score, double recall) {
    const double miss = 1 - recall;
    if (!(miss > 0))
        return (thr_radius){.least_score = least_score, .certain = true};
    return (thr_radius){.least_score = least_score,
                        .screen_z = thr_scan_normal_quantile(fmin(0.5, SCREEN_SHARE * miss)),
                        .rescore_z = thr_scan_normal_quantile(fmin(0.5, (1 - SCREEN_SHARE) * miss))};
}

static float round_down(double x) {
    const float nearest = (float)x;
    return (double)nearest > x ? nextafterf(nearest, -INFINITY) : nearest;
}

/* Convert a finite least score to the collector's units, less the rounding error of estimates. */
static double to_collector(const thr_scan_query *query, float least) {
    const double slack = (fabs((double)least) + fabs((double)query->bias)) * ROUNDING + SMALLEST;
    return thr_scan_to_collector(query, (double)least - slack);
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
    const double allowed = (double)job->n_allowed / (double)job->target->n_items;
    return (double)n > MOST_SURVIVORS * allowed * (double)n_sampled * THR_BLOCK_ITEMS;
}

/*
 * Plan with margins for the noise of this query's estimates. The screen's margin is z * noise * factor, and its
 * estimate (total - 2 D) * gain * factor - offset * weight, so a larger total adds the margin: *query becomes the query
 * that overestimates. Return false, with nothing changed, if the noise is unknown.
 */
static bool plan_by_noise(const thr_job *job, const thr_radius *radius, thr_scan_query *query, thr_lane *lane,
                          thr_radius_plan *plan) {
    const thr_scan_target *target = job->target;
    thr_scan_query screen = *query, rescoring = *query;
    const bool scaled = thr_is_nested(target) || target->segments->factors != NULL;
    if (target->n_items < LEAST_ITEMS || !scaled || !thr_scan_unbias_screen(&screen))
        return false;
    /* Without vectors the biased estimates themselves decide. */
    if (thr_is_nested(target) && target->keep != THR_DTYPE_NONE && !thr_scan_unbias_rescoring(&rescoring))
        return false;
    const thr_noise noise = thr_scan_noise_measure(job, &screen, &rescoring, lane);
    const double sine = thr_scan_residual_sine(query, (double)radius->least_score);
    const double random = sqrt(fmax(noise.screened * noise.screened - noise.query * noise.query, 0));
    const double shift = ceil(radius->screen_z * hypot(random * sine, noise.query) / (double)screen.gain);
    if (!noise.known || !(shift < (double)(INT32_MAX - screen.code.total)))
        return false;
    screen.code.total += (int32_t)shift;
    plan->rescored = to_collector(query, radius->least_score);
    plan->screened = round_down(plan->rescored);
    plan->margin = radius->rescore_z * noise.rescored;
    plan->rescoring = rescoring;
    *query = screen;
    return true;
}

/*
 * Plan for an index of codes only, where estimates decide: those of flat codes at the screen, those of nested codes
 * after rescoring.
 */
static void plan_estimates(const thr_job *job, const thr_radius *radius, thr_scan_query *query, thr_lane *lane,
                           thr_radius_plan *plan) {
    if (!thr_is_nested(job->target))
        plan->screened = round_down(to_collector(query, radius->least_score));
    else if (!radius->certain)
        (void)plan_by_noise(job, radius, query, lane, plan);
}

thr_radius_plan thr_scan_radius_plan_make(const thr_job *job, const thr_radius *radius, thr_scan_query *query,
                                          thr_lane *lane) {
    thr_radius_plan plan = {
        .exact = job->exact, .screened = -INFINITY, .rescored = (double)-INFINITY, .rescoring = *query};
    const bool vectors = job->target->keep != THR_DTYPE_NONE, all_or_none = isinf(radius->least_score);
    if (!vectors) {
        if (!all_or_none)
            plan_estimates(job, radius, query, lane, &plan);
        return plan;
    }
    if (plan.exact || all_or_none) {
        plan.exact = true;
    } else if (radius->certain) {
        plan.screened = round_down(thr_scan_least_screened(query, radius->least_score, job->kept_error));
        plan.exact = !isfinite(plan.screened);
        plan.certified = true;
    } else {
        plan.exact = !plan_by_noise(job, radius, query, lane, &plan);
    }
    plan.exact = plan.exact || most_survive(job, query, lane, plan.screened);
    plan.certified = plan.certified || plan.exact;
    return plan;
}
