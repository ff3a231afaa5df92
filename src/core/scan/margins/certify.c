/* SPDX-License-Identifier: Apache-2.0 */
/*
 * certify.c - whether an answer is certainly exact.
 *
 * Rows that were not left out were refined, so their scores are exact. The answer is exact if every row left out scores
 * less than the k-th row of the answer. A row that reaches the k-th score has an estimate of at least a bound
 * (bounds.h). So if the estimates of all rows left out are below the bound, the answer is exact.
 */
#include "scan/margins/bounds.h"

#include <math.h>

void thr_scan_left_out_note_screened(const thr_job *job, const thr_candidate *items, size_t n, thr_left_out *out) {
    const double none = (double)-INFINITY;
    *out = (thr_left_out){.screened = n == job->n_allowed ? none : thr_least_of(items, n), .rescored = none};
}

void thr_scan_left_out_note_factors(const thr_job *job, const thr_candidate *items, size_t n, thr_left_out *out) {
    out->factor = thr_scan_largest_factor(job->corpus, items, n);
}

void thr_scan_left_out_note_refined(const thr_candidate *items, size_t n, size_t n_rescored, thr_left_out *out) {
    if (n < n_rescored)
        out->rescored = thr_least_of(items, n);
}

bool thr_scan_certify(const thr_job *job, const thr_scan_query *query, const thr_left_out *out, float score) {
    return (out->screened == (double)-INFINITY ||
            out->screened < thr_scan_screen_bound(query, score, job->kept_error)) &&
           (out->rescored == (double)-INFINITY ||
            out->rescored < thr_scan_rescore_bound(query, score, job->kept_error, out->factor));
}
