/* SPDX-License-Identifier: Apache-2.0 */
/*
 * complete.c - keeps a promised recall for one query, whatever the number of survivors.
 *
 * The best few survivors are refined first. Their k-th best score is a lower bound of the true k-th best score, so only
 * rows whose overestimates reach it can be among the best k. Survivors that reach it are refined too. If a row that the
 * screen left out may reach it, there were too few survivors for this query, and a radius search finds all rows that
 * reach it. So the number of survivors affects only the time.
 */
#include "base/error.h"
#include "scan/margins/bounds.h"
#include "scan/margins/margin.h"
#include "scan/radius_plan.h"

#include <math.h>
#include <string.h>

enum { MOST_AVERAGED = 16 }; /* rows, spread evenly over the best k, whose factors or errors are averaged */

/* Sort the best k of n rows to the front, and return the last one's score; -INFINITY for fewer than k. */
static float kth_best(thr_candidate *items, size_t n, uint64_t k) {
    if (n < k)
        return -INFINITY;
    if (k < n)
        thr_select_candidates_split(items, n, (size_t)k);
    thr_select_candidates_sort(items, (size_t)k);
    return items[k - 1].score;
}

/*
 * The range of scores of the answer, as far as n rows determine it: from the k-th best score up, or from the caller's
 * least score up. Sorts the rows in that range to the front.
 */
static thr_reach reach_of(const thr_job *job, thr_candidate *items, size_t n, uint64_t q) {
    const size_t k = n < job->answers->k ? n : (size_t)job->answers->k;
    const float kth = kth_best(items, n, job->answers->k), least = thr_select_answers_least(job->answers, q);
    thr_reach reach = {.least = kth, .n = k};
    if (kth >= least)
        return reach;
    if (kth == -INFINITY)
        thr_select_candidates_sort(items, k);
    reach = (thr_reach){.least = least, .from_caller = true};
    while (reach.n < k && items[reach.n].score >= least)
        reach.n++;
    return reach;
}

/*
 * Record the largest overestimate that a row left out by the screen can have. With fewer survivors than the collector
 * holds, only rows below the floor were left out.
 */
static void set_left_out_bound(const thr_job *job, thr_lane *lane) {
    const size_t n = lane->collector.n;
    lane->left_out_bound = n == job->n_allowed ? (double)-INFINITY
                           : n < job->n_survivors && lane->floor > -INFINITY
                               ? (double)nextafterf(lane->floor, -INFINITY)
                               : thr_least_of(lane->collector.items, n);
}

/*
 * The number of rows to refine first. If certificates are requested, at least as many as without margins, so that no
 * fewer answers are certified.
 */
static size_t first_rows(const thr_job *job, size_t n) {
    const uint64_t few = thr_scan_first_refined(job->answers->k);
    const uint64_t wanted = job->answers->certified != NULL && few < job->n_candidates ? job->n_candidates : few;
    return n < wanted ? n : (size_t)wanted;
}

/* Whether the k-th best row has the best possible score: only equal rows with smaller numbers could replace it. */
static bool is_best_possible(const thr_job *job, const thr_reach *reach) {
    const thr_scan_corpus *corpus = job->corpus;
    return corpus->hits == NULL && !reach->from_caller &&
           ((corpus->metric == THR_METRIC_COSINE && reach->least == 1) ||
            (corpus->metric == THR_METRIC_L2 && reach->least == 0));
}

static double miss_of(const thr_job *job, double share) {
    return share * (1 - (double)job->options->recall);
}

/* The standard error of a row's estimate, or its factor. across: of thr_scan_margin_noise. */
typedef double row_quantity(const thr_job *job, const thr_margin *margin, double across, uint64_t row);

static double screen_factor(const thr_job *job, const thr_margin *margin, double across, uint64_t row) {
    (void)margin, (void)across;
    return thr_scan_screen_factor(job->corpus, row);
}

static double screen_error(const thr_job *job, const thr_margin *margin, double across, uint64_t row) {
    const double distance = (double)thr_scan_term_of(job->corpus, margin->screen.origins, row).distance;
    return thr_scan_margin_noise(margin, distance, across) * thr_scan_screen_factor(job->corpus, row);
}

static double rescore_error(const thr_job *job, const thr_margin *margin, double across, uint64_t row) {
    const double distance = (double)thr_scan_term_of(job->corpus, margin->screen.origins, row).distance;
    (void)across;
    return thr_scan_two_errors(margin->noise.rescored * distance, margin->noise.rescored_query) *
           thr_scan_record_factor(job->corpus, row);
}

/*
 * The mean of a quantity over the best n rows so far, 0 of none. Factors may differ by orders of magnitude in an index,
 * much less among the rows near a query.
 */
static double mean_of_best(const thr_job *job, const thr_margin *margin, const thr_candidate *best, size_t n,
                           row_quantity *quantity, double across) {
    const size_t used = n < MOST_AVERAGED ? n : MOST_AVERAGED;
    double sum = 0;
    for (size_t i = 0; i < used; i++)
        sum += quantity(job, margin, across, best[(2 * i + 1) * n / (2 * used)].row);
    return used == 0 ? 0 : sum / (double)used;
}

/* The margin of the rescoring of nested codes, given the best rows so far. */
static double rescore_z(const thr_job *job, const thr_margin *margin, const thr_candidate *best,
                        const thr_reach *reach) {
    if (reach->least == -INFINITY || !margin->noise.known)
        return job->rescore_z;
    const double error = mean_of_best(job, margin, best, reach->n, rescore_error, 0);
    return thr_scan_margin_z(best, reach, error, job->rescore_z, miss_of(job, 1 - THR_SCREEN_SHARE));
}

/* Refine the best few rows, which come first, and return how many they are. */
static size_t refine_first(const thr_job *job, const thr_scan_query *query, thr_lane *lane) {
    thr_candidate *items = lane->collector.items;
    const size_t n = lane->collector.n, first = first_rows(job, n);
    if (first < n)
        thr_select_candidates_split(items, n, first);
    if (thr_is_nested(job->corpus) && thr_answer_needs_bounds(job, query)) {
        thr_scan_left_out_note_factors(job, items, n, &lane->left_out);
        thr_scan_left_out_note_refined(items, first, n, &lane->left_out);
    }
    thr_scan_refine(query, lane, items, first);
    return first;
}

/*
 * Move the rows that can still be among the best k behind the first ones, and return the number of all these rows. The
 * rescoring added the job's margin. The margin needed now is smaller, by excess_z standard errors. Factors are read
 * again only for the few rows that reach the larger margin.
 */
static size_t keep_rows_in_reach(const thr_job *job, const thr_margin *margin, const thr_reach *reach, thr_lane *lane,
                                 size_t first) {
    thr_candidate *items = lane->collector.items;
    const size_t n = lane->collector.n;
    size_t kept = first;
    if (first == n)
        return n;
    if (!margin->noise.known) /* a search of all rows follows, unless the screen left none out */
        return lane->left_out_bound == (double)-INFINITY ? n : first;
    const double least =
        reach->least == -INFINITY ? (double)-INFINITY : thr_scan_margin_threshold(&margin->rescoring, reach->least);
    const double excess_z = thr_is_nested(job->corpus) ? job->rescore_z - rescore_z(job, margin, items, reach) : 0;
    const uint64_t last = is_best_possible(job, reach) ? items[reach->n - 1].row : UINT64_MAX;
    for (size_t i = first; i < n; i++)
        if ((double)items[i].score >= least && items[i].row < last &&
            (excess_z == 0 || (double)items[i].score - excess_z * rescore_error(job, margin, 0, items[i].row) >= least))
            items[kept++] = items[i];
    return kept;
}

/*
 * Refine the best few rows, then all rows that can still be among the best k. If there are no more than the first few,
 * all are refined anyway, so rescoring them would change only certificates.
 */
static void refine(const thr_job *job, const thr_margin *margin, uint64_t q, thr_lane *lane) {
    const thr_scan_query *query = &margin->rescoring;
    thr_candidate *items = lane->collector.items;
    const size_t n = lane->collector.n;
    const bool rescores = thr_answer_rescores(job, margin->query) &&
                          (n > first_rows(job, n) || thr_answer_needs_bounds(job, margin->query));
    if (rescores)
        thr_scan_rescore(query, items, n);
    const size_t first = refine_first(job, query, lane);
    const thr_reach reach = reach_of(job, items, first, q);
    const size_t kept = keep_rows_in_reach(job, margin, &reach, lane, first);
    thr_scan_refine(query, lane, items + first, kept - first);
    lane->n_read += (rescores ? n : 0) + kept;
    lane->collector.n = kept;
}

/* Sort, and drop repeated rows. Both passes find most of the rows, with the same scores. */
static size_t sort_distinct(thr_candidate *items, size_t n) {
    size_t kept = 0;
    thr_select_candidates_sort(items, n);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || items[kept - 1].row != items[i].row)
            items[kept++] = items[i];
    return kept;
}

void thr_scan_margin_reduce(const thr_job *job, const thr_margin *margin, const thr_candidate *best,
                            const thr_reach *reach, thr_radius *radius) {
    const double across = thr_scan_largest_across(&margin->screen, (double)reach->least);
    const double error = mean_of_best(job, margin, best, reach->n, screen_error, across);
    radius->screen_z = thr_scan_margin_z(best, reach, error, job->screen_z, miss_of(job, THR_SCREEN_SHARE));
    if (thr_is_nested(job->corpus))
        radius->rescore_z = rescore_z(job, margin, best, reach);
}

/*
 * Whether a row that the screen left out may be among the best k. Such a row's estimate plus the margin that was added
 * is at most lane->left_out_bound. Now that the k-th best is known, a smaller margin is enough; it is put into *radius.
 * The difference of the two margins grows with the distance of the row's origin, so the nearest origin's is the least.
 */
static bool may_miss(const thr_job *job, const thr_margin *margin, const thr_lane *lane, const thr_reach *reach,
                     thr_radius *radius) {
    const thr_candidate *best = lane->collector.items;
    if (!margin->noise.known || reach->least == -INFINITY)
        return true;
    const double across = thr_scan_largest_across(&margin->screen, (double)reach->least);
    const double factor = mean_of_best(job, margin, best, reach->n, screen_factor, across);
    const double nearest = margin->screen.origins == NULL ? 1 : margin->screen.geometry.nearest_origin;
    thr_scan_margin_reduce(job, margin, best, reach, radius);
    const double added = job->screen_z * thr_scan_margin_noise(margin, nearest, (double)INFINITY),
                 needed = radius->screen_z * thr_scan_margin_noise(margin, nearest, across);
    return lane->left_out_bound - (added - needed) * factor >=
           thr_scan_margin_threshold(&margin->screen, radius->least_score);
}

/* Search all rows once more if one that was left out can be among the best k. */
static thr_status complete(const thr_job *job, const thr_margin *margin, const thr_matrix *queries, uint64_t q,
                           thr_lane *lanes, uint32_t n_lanes, thr_error *err) {
    thr_collector *collector = &lanes->collector;
    if (lanes->left_out_bound == (double)-INFINITY)
        return THR_OK;
    const size_t k = (size_t)job->answers->k, n_best = collector->n < k ? collector->n : k;
    const thr_reach reach = reach_of(job, collector->items, collector->n, q);
    if (is_best_possible(job, &reach)) /* equal rows have equal estimates, of which the first survived the screen */
        return THR_OK;
    thr_radius radius = {.least_score = reach.least, .most = k, .screen_z = job->screen_z, .rescore_z = job->rescore_z};
    if (!may_miss(job, margin, lanes, &reach, &radius))
        return THR_OK;
    if (margin->noise.known)
        radius.margin = margin;
    thr_found *found = &lanes->found;
    found->n = 0;
    THR_TRY(thr_scan_found_append(job->context, found, collector->items, n_best, err));
    thr_matrix query = *queries;
    query.data = (const char *)queries->data + q * queries->stride;
    query.n_rows = 1;
    THR_TRY(thr_scan_radius_one(job, &query, &radius, lanes, n_lanes, found, err));
    const size_t n = sort_distinct(found->items, found->n);
    collector->n = n < k ? n : k;
    memcpy(collector->items, found->items, collector->n * sizeof *found->items);
    return THR_OK;
}

/* Refine as many survivors as the job says. */
static void refine_candidates(const thr_job *job, const thr_scan_query *query, thr_lane *lane) {
    thr_candidate *items = lane->collector.items;
    if (thr_answer_rescores(job, query))
        thr_scan_rescore(query, items, lane->collector.n);
    thr_scan_answer_choose_candidates(job, query, lane);
    if (thr_answer_refines(job))
        thr_scan_refine(query, lane, items, lane->collector.n);
}

thr_status thr_scan_answer(const thr_job *job, const thr_margin *margin, const thr_matrix *queries, uint64_t q,
                           thr_lane *lanes, uint32_t n_lanes, thr_error *err) {
    const thr_scan_query *query = margin->query;
    thr_scan_answer_note_left_out(job, query, lanes);
    if (job->screen_z > 0 && !query->skips_screen) {
        set_left_out_bound(job, lanes);
        refine(job, margin, q, lanes);
        THR_TRY(complete(job, margin, queries, q, lanes, n_lanes, err));
        for (uint32_t i = 1; i < n_lanes; i++)
            lanes->n_read += lanes[i].n_read;
    } else {
        refine_candidates(job, query, lanes);
    }
    return thr_scan_answer_put(job, query, lanes, q, err);
}
