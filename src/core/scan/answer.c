/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer.c - the steps from the survivors of a screen to an answer. The caller rescores and refines the rows between
 * these steps, on CPU or GPU.
 */
#include "base/error.h"
#include "scan/job.h"

#include <math.h>

void thr_scan_answer_note_left_out(const thr_job *job, const thr_scan_query *query, thr_lane *lane) {
    lane->left_out = (thr_left_out){0};
    if (thr_answer_needs_bounds(job, query))
        thr_scan_left_out_note_screened(job, lane->collector.items, lane->collector.n, &lane->left_out);
}

void thr_scan_answer_choose_candidates(const thr_job *job, const thr_scan_query *query, thr_lane *lane) {
    thr_candidate *items = lane->collector.items;
    const size_t n = lane->collector.n;
    if (thr_answer_rescores(job, query)) {
        const bool needs_bounds = thr_answer_needs_bounds(job, query);
        if (needs_bounds)
            thr_scan_left_out_note_factors(job, items, n, &lane->left_out);
        lane->collector.n = thr_select_candidates_keep(items, n, job->n_candidates);
        if (needs_bounds)
            thr_scan_left_out_note_refined(items, lane->collector.n, n, &lane->left_out);
        lane->n_read += n;
    }
    if (thr_answer_refines(job))
        lane->n_read += lane->collector.n;
    if (!job->exact && job->corpus->keep == THR_DTYPE_NONE && job->corpus->hits == NULL)
        for (size_t i = 0; i < lane->collector.n; i++)
            items[i].score = thr_scan_estimate_score(query, items[i].score);
}

/* The score that every row left out must be below, for an answer of n <= k sorted items to be exact. */
static float score_to_prove(const thr_answers *answers, uint64_t q, const thr_candidate *items, size_t n) {
    const float least = thr_select_answers_least(answers, q);
    if (n < answers->k && least > -INFINITY)
        return least;
    return n > 0 ? fmaxf(items[n - 1].score, least) : INFINITY;
}

void thr_scan_clamp_estimates(const thr_job *job, thr_candidate *items, size_t n) {
    const thr_scan_corpus *corpus = job->corpus;
    const float least = corpus->metric == THR_METRIC_COSINE ? -1 : -INFINITY;
    const float most = corpus->metric == THR_METRIC_COSINE ? 1 : 0;
    if (corpus->metric == THR_METRIC_IP || corpus->keep != THR_DTYPE_NONE || corpus->hits != NULL)
        return;
    for (size_t i = 0; i < n; i++)
        items[i].score = fmaxf(least, fminf(most, items[i].score));
}

thr_status thr_scan_answer_put(const thr_job *job, const thr_scan_query *query, thr_lane *lane, uint64_t q,
                               thr_error *err) {
    const thr_answers *answers = job->answers;
    thr_candidate *items = lane->collector.items;
    const size_t found = lane->collector.n,
                 n = thr_select_candidates_keep(items, found, answers->k < found ? (size_t)answers->k : found);
    thr_select_candidates_sort(items, n);
    if (answers->certified != NULL)
        answers->certified[q] =
            job->corpus->keep != THR_DTYPE_NONE &&
            (thr_answer_needs_bounds(job, query)
                 ? thr_scan_certify(job, query, &lane->left_out, score_to_prove(answers, q, items, n))
                 : job->exact || query->skips_screen);
    if (answers->n_read != NULL)
        answers->n_read[q] = job->exact ? job->n_allowed : lane->n_read;
    thr_scan_clamp_estimates(job, items, n);
    thr_select_answers_put(answers, q, items, n);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(items[i].score))
            return thr_fail(err, THR_ERANGE,
                            "query %llu: the value of row %llu is not finite: lower weights, or its multiplier",
                            (unsigned long long)q, (unsigned long long)items[i].row);
    return THR_OK;
}
