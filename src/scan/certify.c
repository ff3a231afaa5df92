/* SPDX-License-Identifier: Apache-2.0 */
/*
 * certify.c - whether an answer is certainly exact.
 *
 * Every row with a larger estimate than the rows left out was refined. So the answer is exact if no row left out can
 * have the k-th score or a better one. A row with that score has estimates of at least a bound (bounds.h); if all rows
 * left out have smaller estimates, none of them has that score.
 */
#include "scan/bounds.h"

#include <math.h>

void thr_scan_left_out_note_screened(const thr_job *job, const thr_candidate *items, size_t n, thr_left_out *out) {
    const double none = (double)-INFINITY;
    *out = (thr_left_out){.screened = n == job->n_allowed ? none : thr_least_of(items, n), .rescored = none};
}

void thr_scan_left_out_note_factors(const thr_job *job, const thr_candidate *items, size_t n, thr_left_out *out) {
    out->factor = thr_scan_largest_factor(job->target, items, n);
}

void thr_scan_left_out_note_refined(const thr_candidate *items, size_t n, size_t n_rescored, thr_left_out *out) {
    if (n < n_rescored)
        out->rescored = thr_least_of(items, n);
}

bool thr_scan_certify(const thr_job *job, const thr_scan_query *query, const thr_left_out *out, float score) {
    return (out->screened == (double)-INFINITY ||
            out->screened < thr_scan_least_screened(query, score, job->kept_error)) &&
           (out->rescored == (double)-INFINITY ||
            out->rescored < thr_scan_least_rescored(query, score, job->kept_error, out->factor));
}
