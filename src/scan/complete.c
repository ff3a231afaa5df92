/* SPDX-License-Identifier: Apache-2.0 */
/*
 * complete.c - keeps a promised recall for one query, whatever the number of survivors the screen was given.
 *
 * The best few survivors are refined first. Their k-th best score is a lower bound of the true k-th best, so only rows
 * whose overestimates reach it can be wanted. Survivors that reach it are refined too. If a row that the screen left
 * out may reach it, the number of survivors was too small for this query, and a search by radius finds the rows that
 * score as much. The number of survivors thus decides the time only.
 */
#include "base/error.h"
#include "scan/bounds.h"
#include "scan/margin.h"
#include "scan/radius_plan.h"

#include <math.h>
#include <string.h>

enum { FIRST_MORE = 8 }; /* rows refined first, beyond k: a better bound for little */

static double least_of(const thr_candidate *items, size_t n) {
    float least = INFINITY;
    for (size_t i = 0; i < n; i++)
        least = items[i].score < least ? items[i].score : least;
    return (double)least;
}

/* Sort the best k of n rows to the front, and return the last one's score; -INFINITY for fewer than k. */
static float kth_best(thr_candidate *items, size_t n, uint64_t k) {
    if (n < k)
        return -INFINITY;
    if (k < n)
        thr_select_candidates_split(items, n, (size_t)k);
    thr_select_candidates_sort(items, (size_t)k);
    return items[k - 1].score;
}

/* Note the largest overestimate that a row left out can have. */
static void note_left_most(const thr_job *job, thr_lane *lane) {
    const size_t n = lane->collector.n;
    lane->left_most = n == job->n_allowed ? (double)-INFINITY : least_of(lane->collector.items, n);
}

/* Rows to refine before any margin is known. An answer that is certified is as good as with counts only. */
static size_t first_rows(const thr_job *job, size_t n) {
    const uint64_t few = 2 * job->answers->k + FIRST_MORE;
    const uint64_t wanted = job->answers->certified != NULL && few < job->wanted ? job->wanted : few;
    return n < wanted ? n : (size_t)wanted;
}

static double miss_of(const thr_job *job, double share) {
    return share * (1 - (double)job->options->recall);
}

/* The margin of the rescoring, given the best k rows so far. */
static double rescore_z(const thr_job *job, const thr_margin *margin, const thr_candidate *best, float kth) {
    if (kth == -INFINITY)
        return job->rescore_z;
    return thr_scan_margin_z(best, (size_t)job->answers->k, (double)kth,
                             margin->noise.rescored * margin->noise.mean_record, job->rescore_z,
                             miss_of(job, 1 - THR_SCREEN_SHARE));
}

/* Refine the best few rows, then all that can still be among the best k. */
static void refine(const thr_job *job, const thr_margin *margin, thr_lane *lane) {
    const thr_scan_query *query = &margin->rescoring;
    const bool nested = thr_is_nested(job->target), bounded = thr_answer_is_bounded(job, query);
    thr_candidate *items = lane->collector.items;
    const size_t n = lane->collector.n, first = first_rows(job, n);
    size_t kept = first;
    if (nested && bounded)
        thr_scan_left_out_note_factors(job, items, n, &lane->left_out);
    if (first < n)
        thr_select_candidates_split(items, n, first);
    if (nested && bounded)
        thr_scan_left_out_note_refined(items, first, n, &lane->left_out);
    thr_scan_refine(query, lane, items, first);
    const float kth = kth_best(items, first, job->answers->k);
    const double least = kth == -INFINITY ? (double)-INFINITY : thr_scan_margin_least(query, kth);
    /*
     * The rescoring added the job's margin; less is needed now. Few rows are near enough to read their factors again.
     */
    const double less = nested ? (job->rescore_z - rescore_z(job, margin, items, kth)) * margin->noise.rescored : 0;
    for (size_t i = first; i < n && margin->noise.known; i++)
        if ((double)items[i].score >= least &&
            (less == 0 || (double)items[i].score - less * thr_scan_record_factor(job->target, items[i].row) >= least))
            items[kept++] = items[i];
    thr_scan_refine(query, lane, items + first, kept - first);
    lane->collector.n = kept;
}

/* Sort, and leave each row once: both passes find most rows, with the same scores. */
static size_t sort_distinct(thr_candidate *items, size_t n) {
    size_t kept = 0;
    thr_select_candidates_sort(items, n);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || items[kept - 1].row != items[i].row)
            items[kept++] = items[i];
    return kept;
}

/*
 * Whether a row that the screen left out may be among the best k. Such a row's estimate plus `added` per unit of factor
 * is less than lane->left_most; now `needed` per unit counts, of the mean factor: misses are counted on average.
 */
static bool may_miss(const thr_job *job, const thr_margin *margin, const thr_lane *lane, const thr_radius *radius) {
    const thr_noise *noise = &margin->noise;
    if (!noise->known || radius->least_score == -INFINITY)
        return true;
    const double sine = thr_scan_residual_sine(&margin->screen, (double)radius->least_score);
    const double added = job->screen_z * thr_scan_margin_noise(margin, 1);
    const double needed = radius->screen_z * thr_scan_margin_noise(margin, sine);
    const double more = needed - added;
    return lane->left_most + more * noise->mean_factor >= thr_scan_margin_least(&margin->screen, radius->least_score);
}

/* The radius of the k-th best, with the screen's margin for it. */
static thr_radius radius_of(const thr_job *job, const thr_margin *margin, const thr_candidate *best, float kth) {
    thr_radius radius = {.least_score = kth, .screen_z = job->screen_z, .rescore_z = job->rescore_z};
    if (kth == -INFINITY || !margin->noise.known)
        return radius;
    const double sine = thr_scan_residual_sine(&margin->screen, (double)kth);
    const double error = thr_scan_margin_noise(margin, sine) * margin->noise.mean_factor;
    radius.screen_z = thr_scan_margin_z(best, (size_t)job->answers->k, (double)kth, error, job->screen_z,
                                        miss_of(job, THR_SCREEN_SHARE));
    return radius;
}

/* Search all rows once more if one that was left out can be among the best k. */
static thr_status complete(const thr_job *job, const thr_margin *margin, const thr_matrix *queries, uint64_t row,
                           thr_lane *lanes, uint32_t n_lanes, thr_error *err) {
    thr_collector *collector = &lanes->collector;
    if (lanes->left_most == (double)-INFINITY)
        return THR_OK;
    const float kth = kth_best(collector->items, collector->n, job->answers->k);
    thr_radius radius = radius_of(job, margin, collector->items, kth);
    if (!may_miss(job, margin, lanes, &radius))
        return THR_OK;
    if (margin->noise.known)
        radius.rescore_z = rescore_z(job, margin, collector->items, kth);
    const size_t k = collector->n < job->answers->k ? collector->n : (size_t)job->answers->k;
    thr_found *found = &lanes->found;
    found->n = 0;
    THR_TRY(thr_scan_found_append(job->context, found, collector->items, k, err));
    thr_matrix query = *queries;
    query.data = (const char *)queries->data + row * queries->stride;
    query.n_rows = 1;
    THR_TRY(thr_scan_radius_one(job, &query, &radius, lanes, n_lanes, found, err));
    const size_t n = sort_distinct(found->items, found->n);
    collector->n = n < job->answers->k ? n : (size_t)job->answers->k;
    memcpy(collector->items, found->items, collector->n * sizeof *found->items);
    return THR_OK;
}

thr_status thr_scan_margin_answer(const thr_job *job, const thr_scan_query *query, const thr_margin *margin,
                                  const thr_matrix *queries, uint64_t row, thr_lane *lanes, uint32_t n_lanes,
                                  thr_error *err) {
    thr_scan_answer_screened(job, query, lanes);
    note_left_most(job, lanes);
    if (thr_answer_rescores(job, query))
        thr_scan_rescore(&margin->rescoring, lanes->collector.items, lanes->collector.n);
    refine(job, margin, lanes);
    THR_TRY(complete(job, margin, queries, row, lanes, n_lanes, err));
    return thr_scan_answer_put(job, query, lanes, row, err);
}
