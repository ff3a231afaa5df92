/* SPDX-License-Identifier: Apache-2.0 */
/* corpus_noise.c - measures the noise of rotated codes, which is about proportional to a query's length. */
#include "base/error.h"
#include "base/rng.h"
#include "scan/margins/noise.h"
#include "scan/margins/unbias.h"
#include "scan/radius_plan.h"

#include <math.h>

enum {
    RANDOM_QUERIES = 16,
    LEAST_ITEMS = 4096, /* with fewer, most searches score all vectors */
};

static double sum_of_squares(const float *x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sum;
}

/*
 * Add the squared errors of a random query, per unit of its scored length or distance, to *sum, and their number to *n.
 * The share of the query's own code is left out. Returns false if the noise cannot be measured.
 */
static bool add_errors(const thr_job *job, uint64_t *rng, thr_lane *lane, thr_code_noise *sum, double *n) {
    thr_scan_query screen, rescoring;
    thr_sampled_errors errors;
    const uint32_t n_dims = job->corpus->quantiser->n_dims;
    float *vector = lane->vector;
    for (uint32_t d = 0; d < n_dims; d++)
        vector[d] = (float)ldexp((double)(int64_t)thr_rng_next(rng), -63);
    const thr_matrix query = thr_matrix_f32(vector, 1, n_dims);
    thr_scan_query_prepare(job, &query, 0, lane, &screen);
    rescoring = screen;
    if (!thr_scan_unbias_screen(&screen) || (thr_is_nested(job->corpus) && !thr_scan_unbias_rescoring(&rescoring)))
        return false;
    thr_scan_noise_sample(job, &screen, &rescoring, lane, &errors);
    const double own = thr_scan_noise_of_query(&screen, sum->code_square);
    const double all = thr_is_nested(job->corpus) ? thr_scan_noise_of_rescoring(&screen, sum->code_square) : 0;
    sum->screened += sum_of_squares(errors.screened, errors.n) - own * own * errors.inverse_squares;
    sum->rescored += sum_of_squares(errors.rescored, errors.n) - all * all * errors.inverse_squares;
    sum->lead_rounding += errors.lead_rounding;
    sum->record_rounding += errors.record_rounding;
    *n += (double)errors.n;
    return errors.n >= THR_NOISE_LEAST_ROWS;
}

thr_status thr_scan_measure_noise(thr_scan *scan, const thr_scan_corpus *corpus, thr_code_noise *noise,
                                  thr_error *err) {
    thr_search_options options = {.recall = 0.99f};
    const thr_answers answers = {.k = 1};
    uint64_t rng = 1;
    double n = 0;
    *noise = (thr_code_noise){.screened = 0};
    if (corpus->quantiser->rotation == NULL || corpus->n_rows < LEAST_ITEMS || !thr_scan_has_margins(corpus))
        return THR_OK;
    const thr_job job = thr_scan_job_make(scan->context, corpus, &options, &answers);
    THR_TRY(thr_scan_make_room(scan, corpus, 1, 1, thr_scan_most_survivors(&job), err));
    thr_code_noise sum = {.code_square = thr_scan_code_square(corpus, scan->context->kernels)};
    for (int i = 0; i < RANDOM_QUERIES; i++)
        if (!add_errors(&job, &rng, scan->lanes, &sum, &n))
            return THR_OK;
    if (sum.screened > 0)
        *noise = (thr_code_noise){sqrt(sum.screened / n), sqrt(fmax(sum.rescored, 0) / n), sum.code_square,
                                  sqrt(sum.lead_rounding / n), sqrt(sum.record_rounding / n)};
    return THR_OK;
}
