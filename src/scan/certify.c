/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether an answer is certainly the exact one.
 *
 * All rows with a larger estimate than those left out were refined, so the answer is exact when none of these can have
 * the k-th score. A row with that score would have estimates of at least so much (bounds.h): where the ones left out
 * have less, none of them has it, nor a score as good as it.
 */
#include "scan/bounds.h"

#include <math.h>

static double least_of(const thr_candidate *items, size_t n) {
    float least = INFINITY;
    for (size_t i = 0; i < n; i++)
        least = items[i].score < least ? items[i].score : least;
    return (double)least;
}

void thr_scan_left_out_note_screened(const thr_job *job, const thr_candidate *items, size_t n, thr_left_out *out) {
    const double none = (double)-INFINITY;
    /* Buckets as published leave out rows of any estimate. */
    const bool unknown = job->target->store != NULL && job->context->selection == THR_SELECTION_PAPER;
    *out = (thr_left_out){.screened = n == job->n_allowed ? none
                                      : unknown           ? (double)INFINITY
                                                          : least_of(items, n),
                          .rescored = none};
}

void thr_scan_left_out_note_factors(const thr_job *job, const thr_candidate *items, size_t n, thr_left_out *out) {
    out->factor = thr_scan_largest_factor(job->target, items, n);
}

void thr_scan_left_out_note_refined(const thr_candidate *items, size_t n, size_t n_rescored, thr_left_out *out) {
    if (n < n_rescored)
        out->rescored = least_of(items, n);
}

bool thr_scan_certify(const thr_job *job, const thr_scan_query *query, const thr_left_out *out, float score) {
    return (out->screened == (double)-INFINITY ||
            out->screened < thr_scan_least_screened(query, score, job->kept_error)) &&
           (out->rescored == (double)-INFINITY ||
            out->rescored < thr_scan_least_rescored(query, score, job->kept_error, out->factor));
}
