/* SPDX-License-Identifier: Apache-2.0 */
/*
 * noise.c - finds the standard errors of a query's estimates, on a sample of rows or from corpus->noise.
 *
 * Names as in bounds.c: r is an item's residual, x = factor * b the vector that its code represents, p the query's
 * coded part and p~ the vector that its code represents; m = 2 for L2, else 1. An estimate has <x, p~> in place of <r,
 * p>, so the error of the score is
 *
 *   m (<r, p> - <x, p~>) = m (<r - x, p> + <x, p - p~>)                                                          (1)
 *
 * Three facts turn that error into a margin.
 *
 * Bias. p~ is as long as p and at an angle t from it, so its component along p has only cos t of p's length: estimates
 * are too small by that factor. Products are divided by it. p~ / cos t = p + q, where q is orthogonal to p and has the
 * length |p| tan t.
 *
 * Noise. In n dimensions the product of a vector of length a and a vector of length b in an unrelated direction is
 * about normal, with standard deviation a b / sqrt(n). So the first product of (1) has |r - x| |p| / sqrt(n) and the
 * second |x| |q| / sqrt(n - 1). |x| is factor * |b|; |b| hardly differs between codes, and |r - x| is a nearly constant
 * share of |x|. Both are proportional to the factor, so error / factor is measured over rows of the index. A rotation
 * makes the directions unrelated for every query; error / factor then depends on |p| and |q| alone, and is measured
 * once for an index (corpus_noise.c).
 *
 * Near rows. The sample's rows are unrelated to the query; the rows within a radius are not: r and p are at a small
 * angle s. Since x - r is orthogonal to r, only p's component orthogonal to r enters the first product, a share sin s
 * of it. The second product is unchanged. So the standard error is sqrt((noise^2 - query^2) sin^2 s + query^2), where
 * query = m |p| tan t |b| / sqrt(n - 1) is the second product's share of the measured noise. bounds.c bounds the sine,
 * and margin.c multiplies the standard error by z, which a normal error exceeds with the probability of missing a row.
 */
#include "scan/margins/noise.h"

#include "base/half.h"
#include "code/nested.h"

#include <math.h>

enum { TAIL = 3 };

/* About a third of a rotated query's dimensions are effective. With less than one in so many, its noise is measured. */
static const double EFFECTIVE_ONE_IN = 6;

static const double TAIL_Z = 2.25; /* 3 of some 100 to 128 normal numbers exceed it in absolute value */
/* a standard deviation that is measured on the 114 numbers of a full sample has a standard error of 7 % */
static const double UNCERTAINTY = 1.1;
static const double LEAST_COSINE = 0.1; /* between a query and its code; already one bit has about 0.8 */

double thr_scan_normal_quantile(double probability) {
    static const double ROOT_OF_2_PI = 2.5066282746310002, PRECISION = 0x1p-40, LARGEST = 37; /* erfc is 0 above */
    double z = 0, step = 1;
    /* Newton's method: the probability is convex in z from 0 on, so z grows to the root. */
    while (step > PRECISION && z < LARGEST) {
        step = (erfc(z * sqrt(0.5)) / 2 - probability) * ROOT_OF_2_PI * exp(z * z / 2);
        z += step;
    }
    return fmin(z, LARGEST);
}

/* Cosine of the angle between two vectors of equal length at this distance. */
static double cosine_of(double length, double distance) {
    return length > 0x1p-100 ? 1 - distance * distance / (2 * length * length) : 0;
}

bool thr_scan_unbias_screen(thr_scan_query *query) {
    const double cosine = cosine_of(query->geometry.part_length, query->geometry.lead_distance);
    query->gain = (float)((double)query->gain / cosine);
    return cosine >= LEAST_COSINE;
}

bool thr_scan_unbias_rescoring(thr_scan_query *query) {
    const double lead = cosine_of(query->geometry.part_length, query->geometry.lead_distance);
    const double rest = cosine_of(query->geometry.part_length, query->geometry.rest_distance);
    query->lead_gain = (float)((double)query->lead_gain / lead);
    query->rest_gain = (float)((double)query->rest_gain / rest);
    return lead >= LEAST_COSINE && rest >= LEAST_COSINE;
}

double thr_scan_screen_factor(const thr_scan_corpus *corpus, uint64_t row) {
    const thr_segment *segment = thr_scan_segment_of(corpus, row);
    const uint64_t item = row - segment->first_row;
    if (segment->records == NULL)
        return (double)segment->factors[item];
    return (double)thr_bf16_to_f32(segment->leads[segment->lead_offsets ? 2 * item : item]);
}

double thr_scan_record_factor(const thr_scan_corpus *corpus, uint64_t row) {
    const thr_segment *segment = thr_scan_segment_of(corpus, row);
    const thr_record_shape shape = thr_record_shape_of(corpus->quantiser->n_dims, corpus->quantiser->item_bits,
                                                       corpus->lead, segment->lead_offsets);
    float factor, offset;
    thr_code_record_read_head(shape, segment->records + (row - segment->first_row) * thr_record_size(shape), &factor,
                              &offset);
    return (double)factor;
}

/* ------------------------------------------------------------------------------------------------ sample */

/*
 * Fill the lane's collector's memory with rows of blocks spread over the job's corpus, and with their scores by the
 * screen. Returns the number of rows, at most THR_NOISE_ROWS; collector.n becomes 0.
 */
static size_t take_sample(const thr_job *job, const thr_scan_query *screen, thr_lane *lane) {
    thr_scan_query query = *screen;
    thr_candidate *items = lane->collector.items;
    query.filter = NULL;
    const thr_scan_group alone = thr_scan_group_make(job, &query, 1, lane);
    lane->collector.n = 0;
    lane->collector.threshold = -INFINITY;
    for (uint64_t i = 0; i < THR_NOISE_BLOCKS; i++) {
        const uint64_t block = i * job->n_blocks / THR_NOISE_BLOCKS;
        thr_scan_screen_blocks(&alone, lane, (thr_block_range){block, block + 1});
    }
    const size_t n = lane->collector.n, step = n / THR_NOISE_ROWS + 1;
    size_t kept = 0;
    for (size_t i = 0; i < n && kept < THR_NOISE_ROWS; i += step)
        items[kept++] = items[i];
    lane->collector.n = 0;
    return kept;
}

double thr_scan_code_square(const thr_scan_corpus *corpus, const thr_kernels *kernels) {
    const thr_segment *segment = corpus->segments;
    const uint32_t n = segment->n_items < THR_BLOCK_ITEMS ? segment->n_items : THR_BLOCK_ITEMS;
    uint32_t squares[THR_BLOCK_ITEMS];
    double sum = 0;
    kernels->code_squares(squares, segment->codes, 1, corpus->quantiser->n_dims, corpus->lead);
    for (uint32_t i = 0; i < n; i++)
        sum += (double)squares[i];
    return sum / n;
}

double thr_scan_noise_of_query(const thr_scan_query *screen, double code_square) {
    const thr_query_geometry *e = &screen->geometry;
    const double cosine = cosine_of(e->part_length, e->lead_distance),
                 tangent = sqrt(fmax(1 - cosine * cosine, 0)) / cosine;
    const double times = screen->corpus->metric == THR_METRIC_L2 ? 2 : 1;
    return times * e->part_length * tangent * sqrt(code_square / fmax((double)screen->code.n_dims - 1, 1));
}

/* The standard error of n errors: their root mean square, or the estimate from their tail if that is larger. */
static double standard_error(const float *errors, size_t n) {
    double sum = 0, tail[TAIL] = {0};
    for (size_t i = 0; i < n; i++) {
        double x = fabs((double)errors[i]);
        sum += x * x;
        for (size_t j = 0; j < TAIL; j++)
            if (x > tail[j]) {
                const double y = tail[j];
                tail[j] = x;
                x = y;
            }
    }
    return UNCERTAINTY * fmax(sqrt(sum / (double)n), tail[TAIL - 1] / TAIL_Z);
}

void thr_scan_noise_sample(const thr_job *job, const thr_scan_query *screen, const thr_scan_query *rescoring,
                           thr_lane *lane, thr_sampled_errors *errors) {
    const thr_scan_corpus *corpus = job->corpus;
    const bool nested = thr_is_nested(corpus), vectors = corpus->keep != THR_DTYPE_NONE;
    thr_candidate *items = lane->collector.items;
    float *screened = errors->screened, *rescored = errors->rescored;
    const size_t n = take_sample(job, screen, lane);
    errors->n = 0;
    for (size_t i = 0; i < n; i++)
        screened[i] = thr_scan_estimate_score(screen, items[i].score);
    if (nested)
        thr_scan_rescore(rescoring, items, n);
    for (size_t i = 0; i < n; i++)
        rescored[i] = nested ? thr_scan_estimate_score(rescoring, items[i].score) : screened[i];
    if (vectors)
        thr_scan_refine(screen, lane, items, n);
    for (size_t i = 0; i < n; i++) {
        const double factor = thr_scan_screen_factor(corpus, items[i].row);
        const double record = nested ? thr_scan_record_factor(corpus, items[i].row) : factor;
        const double score = (double)(vectors ? items[i].score : rescored[i]);
        if (!(factor > 0 && record > 0))
            continue; /* a residual of length 0 has no error */
        screened[errors->n] = (float)((score - (double)screened[i]) / factor);
        rescored[errors->n++] = (float)((score - (double)rescored[i]) / record);
    }
}

thr_noise thr_scan_noise_measure(const thr_job *job, const thr_scan_query *screen, const thr_scan_query *rescoring,
                                 thr_lane *lane) {
    thr_sampled_errors errors;
    thr_scan_noise_sample(job, screen, rescoring, lane, &errors);
    if (errors.n < THR_NOISE_LEAST_ROWS)
        return (thr_noise){.known = false};
    return (thr_noise){.known = true,
                       .screened = standard_error(errors.screened, errors.n),
                       .rescored = standard_error(errors.rescored, errors.n),
                       .query = thr_scan_noise_of_query(screen, thr_scan_code_square(screen->corpus, screen->kernels))};
}

/* ------------------------------------------------------------------------------------------------ of a corpus */

double thr_scan_scored_length(const thr_scan_query *query) {
    return query->geometry.part_length * (query->corpus->metric == THR_METRIC_L2 ? 2 : 1);
}

thr_noise thr_scan_noise_of_corpus(const thr_scan_query *screen) {
    const thr_code_noise *noise = screen->corpus->noise;
    const double length = thr_scan_scored_length(screen);
    if (noise == NULL || !(noise->screened > 0) || screen->code.query_bits < THR_DEFAULT_QUERY_BITS ||
        screen->geometry.effective_dims * EFFECTIVE_ONE_IN < (double)screen->corpus->quantiser->n_dims)
        return (thr_noise){.known = false};
    const double query = thr_scan_noise_of_query(screen, noise->code_square);
    return (thr_noise){.known = true,
                       .screened = UNCERTAINTY * hypot(noise->screened * length, query),
                       .rescored = UNCERTAINTY * noise->rescored * length,
                       .query = query};
}
