/* SPDX-License-Identifier: Apache-2.0 */
/* margin.c - a query's margins: its unbiased estimates, their noise, and the query that overestimates. */
#include "scan/margins/margin.h"

#include "base/normal.h"
#include "scan/margins/bounds.h"
#include "scan/margins/unbias.h"

#include <math.h>

enum { MOST_ROWS = 16, HALVINGS = 8, FEWEST_DIMS = 6, FEWEST_DIMS_DIVISOR = 8 };

static const double ROUNDING = 0x1p-20;  /* relative, of the terms of an estimate */
static const double SMALLEST = 0x1p-120; /* products underflow float32 below this */

/*
 * The fewest effective dimensions of a query whose errors are taken as normal. With fewer, the best items are those
 * whose largest components the code clips, so their errors are larger than those of the sampled rows. Without
 * rotation, such queries missed their promise on word vectors. A rotated query rarely has so few dimensions.
 */
static double fewest_dims(const thr_scan_corpus *corpus) {
    return fmin(FEWEST_DIMS, (double)corpus->quantiser->n_dims / FEWEST_DIMS_DIVISOR);
}

bool thr_scan_margin_measure(const thr_job *job, const thr_scan_query *query, thr_lane *lane, thr_margin *margin) {
    const thr_scan_corpus *corpus = job->corpus;
    const bool nested = thr_is_nested(corpus);
    thr_scan_query screen = *query, rescoring = *query;
    *margin = (thr_margin){.screen = *query, .rescoring = *query};
    if (!thr_has_factors(corpus) || query->geometry.effective_dims < fewest_dims(corpus))
        return false;
    if (!thr_scan_unbias_screen(&screen))
        return false;
    /* Without vectors the estimates of the rescoring are the answer, so they are not changed. */
    if (nested && corpus->keep != THR_DTYPE_NONE && !thr_scan_unbias_rescoring(&rescoring))
        return false;
    thr_noise noise = thr_scan_noise_of_corpus(&screen);
    if (!noise.known)
        noise = thr_scan_noise_measure(job, &screen, &rescoring, lane);
    if (noise.known)
        *margin = (thr_margin){.noise = noise, .screen = screen, .rescoring = rescoring};
    return noise.known;
}

double thr_scan_margin_noise(const thr_margin *margin, double distance, double across) {
    return thr_scan_two_errors(margin->noise.random * fmin(distance, across), margin->noise.query);
}

/*
 * The mean probability that a row is dropped: that its normal error exceeds z standard errors plus the difference of
 * its score and the least score. The mean is over all n rows, or over MOST_ROWS rows spread evenly over them.
 */
static double mean_miss(const thr_candidate *items, const thr_reach *reach, double error, double z) {
    const size_t n = reach->n, used = n < MOST_ROWS ? n : MOST_ROWS;
    const double least = (double)reach->least;
    double sum = 0;
    for (size_t i = 0; i < used; i++)
        sum += thr_normal_tail(z + ((double)items[(2 * i + 1) * n / (2 * used)].score - least) / error);
    const double mean = sum / (double)used;
    return reach->from_caller ? (mean * (double)n + thr_normal_tail(z)) / (double)(n + 1) : mean;
}

double thr_scan_margin_z(const thr_candidate *items, const thr_reach *reach, double error, double most, double miss) {
    double low = 0, high = most;
    if (reach->n == 0)
        return most;
    if (!(error > 0) || mean_miss(items, reach, error, low) <= miss)
        return low;
    for (int i = 0; i < HALVINGS; i++) {
        const double z = (low + high) / 2;
        if (mean_miss(items, reach, error, z) > miss)
            low = z;
        else
            high = z;
    }
    return high;
}

bool thr_scan_margin_screen(const thr_margin *margin, double z, double across, thr_scan_query *query) {
    const bool origins = margin->screen.origins != NULL;
    const double unit = z / (double)margin->screen.gain,
                 distance = origins ? margin->screen.geometry.farthest_origin : 1;
    const double shift = ceil(unit * thr_scan_margin_noise(margin, distance, across));
    if (!(shift < (double)(INT32_MAX - margin->screen.code.total)))
        return false;
    *query = margin->screen;
    if (origins) {
        query->random_margin = unit * margin->noise.random;
        query->own_margin = unit * margin->noise.query;
        query->across = across;
    } else {
        query->code.total += (int32_t)shift;
    }
    return true;
}

void thr_scan_margin_rescore(const thr_margin *margin, double z, double across, thr_scan_query *rescoring) {
    rescoring->rescore_margin = (float)(z * margin->noise.rescored);
    rescoring->own_rescore_margin = (float)(z * margin->noise.rescored_query);
    rescoring->across = across;
}

void thr_scan_margin_begin(const thr_job *job, thr_scan_query *query, thr_lane *lane, thr_margin *margin) {
    if (job->screen_z > 0 && thr_scan_margin_measure(job, query, lane, margin)) {
        margin->noise.known = thr_scan_margin_screen(margin, job->screen_z, (double)INFINITY, query);
        thr_scan_margin_rescore(margin, margin->noise.known ? job->rescore_z : 0, (double)INFINITY, &margin->rescoring);
    }
    margin->query = query;
}

float thr_scan_margin_floor(const thr_job *job, const thr_scan_query *query, const thr_margin *margin, uint64_t q) {
    const float least = thr_select_answers_least(job->answers, q);
    if (least == -INFINITY || job->corpus->hits != NULL)
        return -INFINITY;
    if (job->exact)
        return least;
    if (job->answers->certified != NULL || !(job->screen_z > 0) || !margin->noise.known)
        return -INFINITY;
    return nextafterf((float)thr_scan_margin_threshold(query, least), -INFINITY);
}

/* The size of the largest terms of an estimate that is near a score. */
static double size_of_terms(const thr_scan_query *query, double score) {
    const thr_corpus_origins *origins = query->corpus->origins;
    if (origins == NULL)
        return fabs(score) + fabs((double)query->bias);
    if (query->corpus->metric != THR_METRIC_L2)
        return fabs(score) + query->geometry.query_length * origins->longest;
    const double residual = thr_scan_longest_residual(query->corpus), distance = sqrt(fabs(score)) + residual;
    return distance * distance + 2 * residual * (query->geometry.part_length + distance);
}

double thr_scan_margin_threshold(const thr_scan_query *query, float least_score) {
    const double slack = size_of_terms(query, (double)least_score) * ROUNDING + SMALLEST;
    return thr_scan_to_collector(query, (double)least_score - slack);
}
