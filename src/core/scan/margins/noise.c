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
 * are too small by that factor. Products are divided by it. p~ / cos t = p + e, where e is orthogonal to p and has the
 * length |p| tan t.
 *
 * Noise. In n dimensions the product of a vector of length a and a vector of length b in an unrelated direction is
 * about normal, with standard deviation a b / sqrt(n). So the first product of (1) has |r - x| |p| / sqrt(n) and the
 * second |x| |e| / sqrt(n - 1). |x| is factor * |b|; |b| hardly differs between codes, and |r - x| is a nearly constant
 * share of |x|. Both are proportional to the factor, so error / factor is measured over rows of the index. A rotation
 * makes the directions unrelated for every query; error / factor then depends on |p| and |e| alone, and is measured
 * once for an index (corpus_noise.c).
 *
 * Near rows. The sample's rows are unrelated to the query; the rows within a radius are not: r and p are at a small
 * angle s. Since x - r is orthogonal to r, only p's component orthogonal to r enters the first product, a share sin s
 * of it. The second product is unchanged. So the standard error is sqrt((noise^2 - query^2) sin^2 s + query^2), where
 * query = m |p| tan t |b| / sqrt(n - 1) is the second product's share of the measured noise. bounds.c bounds the sine,
 * and margin.c multiplies the standard error by z, which a normal error exceeds with the probability of missing a row.
 *
 * Origins. With q the query, o an item's origin and p = q - c, an estimate has <x, p + e> - <x, o - c> in place of
 * <r, q - o> (scan/origins.h), so the error of the score is
 *
 *   m (<r - x, q - o> - <x, e>)                                                                                  (2)
 *
 * The first product is proportional to |q - o|, which differs between origins. So its standard error is measured per
 * unit of factor and of the scored distance m |q - o|. Near rows have less: only the part of q - o that is orthogonal
 * to r enters. bounds.c bounds m times its length, `across`. The second product is as without origins. Offsets are
 * larger than without origins, and where they are stored as bfloat16 the error of their rounding counts as `query`. So
 * the standard error, per unit of factor, is sqrt((random min(m |q - o|, across))^2 + query^2).
 */
#include "scan/margins/noise.h"

#include "base/half.h"
#include "base/minmax.h"
#include "code/nested.h"
#include "scan/margins/unbias.h"

#include <math.h>

enum { TAIL = 3 };

/* About a third of a rotated query's dimensions are effective. With less than one in so many, its noise is measured. */
static const double EFFECTIVE_ONE_IN = 6;

static const double TAIL_Z = 2.25; /* 3 of some 100 to 128 normal numbers exceed it in absolute value */
/* a standard deviation that is measured on the 114 numbers of a full sample has a standard error of 7 % */
static const double UNCERTAINTY = 1.1;

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

/* The variance of the rounding error of a number stored as bfloat16, which has 8 significant bits: unit^2 / 12. */
static double rounding_of(float stored) {
    int exponent;
    if (stored == 0)
        return 0;
    (void)frexp((double)stored, &exponent);
    const double unit = ldexp(1, exponent - 8);
    return unit * unit / 12;
}

/* Add the variances of the rounding errors of a row's offsets, over their factors squared. */
static void add_rounding(const thr_scan_corpus *corpus, uint64_t row, double factor, double record,
                         thr_sampled_errors *errors) {
    const thr_segment *segment = thr_scan_segment_of(corpus, row);
    const uint64_t item = row - segment->first_row;
    const thr_record_shape shape = thr_record_shape_of(corpus->quantiser->n_dims, corpus->quantiser->item_bits,
                                                       corpus->lead, segment->lead_offsets);
    float unused, offset;
    if (segment->records == NULL || !segment->lead_offsets)
        return;
    errors->lead_rounding += rounding_of(thr_bf16_to_f32(segment->leads[2 * item + 1])) / (factor * factor);
    thr_code_record_read_head(shape, segment->records + item * thr_record_size(shape), &unused, &offset);
    errors->record_rounding += shape.wide ? 0 : rounding_of(offset) / (record * record);
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
    const uint32_t n = THR_MIN(segment->n_items, THR_BLOCK_ITEMS);
    uint32_t squares[THR_BLOCK_ITEMS];
    double sum = 0;
    kernels->code_squares(squares, segment->codes, 1, corpus->quantiser->n_dims, corpus->lead);
    for (uint32_t i = 0; i < n; i++)
        sum += (double)squares[i];
    return sum / n;
}

double thr_scan_noise_of_query(const thr_scan_query *screen, double code_square) {
    const thr_query_geometry *e = &screen->geometry;
    const double times = screen->corpus->metric == THR_METRIC_L2 ? 2 : 1;
    return times * e->part_length * thr_scan_code_tangent(e->part_length, e->lead_distance) *
           sqrt(code_square / fmax((double)screen->code.n_dims - 1, 1));
}

double thr_scan_noise_of_rescoring(const thr_scan_query *rescoring, double code_square) {
    const thr_scan_corpus *corpus = rescoring->corpus;
    const thr_query_geometry *e = &rescoring->geometry;
    const double n = (double)corpus->quantiser->n_dims, times = corpus->metric == THR_METRIC_L2 ? 2 : 1;
    const double top = (double)(1u << (corpus->quantiser->item_bits - corpus->lead));
    /* |b|^2 of the leading planes as part of all, and of the others, whose odd integers are evenly distributed */
    const double lead = top * top * code_square, rest = n * (top * top - 1) / 3;
    return times * e->part_length / sqrt(fmax(n - 1, 1)) *
           hypot(thr_scan_code_tangent(e->part_length, e->lead_distance) * sqrt(lead),
                 thr_scan_code_tangent(e->part_length, e->rest_distance) * sqrt(rest));
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
    errors->inverse_squares = errors->lead_rounding = errors->record_rounding = 0;
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
        const double length = corpus->origins == NULL
                                  ? thr_scan_scored_length(screen)
                                  : (double)thr_scan_term_of(corpus, screen->origins, items[i].row).distance;
        if (!(factor > 0 && record > 0 && length > 0))
            continue; /* a residual of length 0 has no error */
        errors->inverse_squares += 1 / (length * length);
        add_rounding(corpus, items[i].row, factor, record, errors);
        screened[errors->n] = (float)((score - (double)screened[i]) / factor / length);
        rescored[errors->n++] = (float)((score - (double)rescored[i]) / record / length);
    }
}

/* The noise with origins, given its random parts. Only code_square and the roundings of *codes are read. */
static thr_noise with_origins(const thr_scan_query *query, double random, double rescored,
                              const thr_code_noise *codes) {
    const double weight = (double)query->offset_weight;
    const double own = hypot(thr_scan_noise_of_query(query, codes->code_square), weight * codes->lead_rounding);
    const double all = thr_is_nested(query->corpus) ? thr_scan_noise_of_rescoring(query, codes->code_square) : 0;
    return (thr_noise){.known = true,
                       .random = random,
                       .query = UNCERTAINTY * own,
                       .rescored = rescored,
                       .rescored_query = UNCERTAINTY * hypot(all, weight * codes->record_rounding)};
}

thr_noise thr_scan_noise_measure(const thr_job *job, const thr_scan_query *screen, const thr_scan_query *rescoring,
                                 thr_lane *lane) {
    thr_sampled_errors errors;
    thr_scan_noise_sample(job, screen, rescoring, lane, &errors);
    if (errors.n < THR_NOISE_LEAST_ROWS)
        return (thr_noise){.known = false};
    const thr_scan_corpus *corpus = screen->corpus;
    const double code_square = thr_scan_code_square(corpus, screen->kernels), n = (double)errors.n;
    const double query = thr_scan_noise_of_query(screen, code_square);
    double screened = standard_error(errors.screened, errors.n), rescored = standard_error(errors.rescored, errors.n);
    if (corpus->origins != NULL) {
        /* The measured errors include the query's part. It is not subtracted, so margins are rather too large. */
        const thr_code_noise codes = {.code_square = code_square,
                                      .lead_rounding = sqrt(errors.lead_rounding / n),
                                      .record_rounding = sqrt(errors.record_rounding / n)};
        return with_origins(screen, screened, rescored, &codes);
    }
    screened *= thr_scan_scored_length(screen);
    rescored *= thr_scan_scored_length(screen);
    return (thr_noise){.known = true,
                       .random = sqrt(fmax(screened * screened - query * query, 0)),
                       .query = query,
                       .rescored = rescored};
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
    if (screen->corpus->origins != NULL)
        return with_origins(screen, UNCERTAINTY * noise->screened, UNCERTAINTY * noise->rescored, noise);
    const double all = thr_is_nested(screen->corpus) ? thr_scan_noise_of_rescoring(screen, noise->code_square) : 0;
    return (thr_noise){.known = true,
                       .random = UNCERTAINTY * noise->screened * length,
                       .query = UNCERTAINTY * thr_scan_noise_of_query(screen, noise->code_square),
                       .rescored = UNCERTAINTY * hypot(noise->rescored * length, all)};
}
