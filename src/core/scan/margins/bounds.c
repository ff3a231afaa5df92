/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bounds.c - lower bounds of the estimates of items that reach a given score: that score less the most by which a true
 * score can exceed its estimate. segment.h defines the estimates.
 *
 * Let r be an item's residual (rotated if codes are), p the coded part of the query, and x = factor * b the vector that
 * an item's code represents. The factor is |r| / <r / |r|, b>, so that <x, r> = |r|^2: x - r is orthogonal to r, and
 * |x| is at least |r|. p~ replaces p in the product with planes in blocks. With m = 2 for L2, else 1, the true score is
 * t = m <r, p> - offset weight + bias, and the estimate has <x, p~> in place of <r, p>:
 *
 *   <r, p> - <x, p~> = <r - x, p> + <x, p - p~> <= |x - r| |p| sine + |x| |p - p~|
 *
 * where sine is that of the angle between p and r, since r - x has no component along r. After rescoring, x = x1 + x2
 * of the leading and the other planes, and p^ replaces p in the product with the others:
 *
 *   <r, p> - (<x1, p~> + <x2, p^>) = <r - x, p> + <x1, p - p~> + <x2, p - p^>
 *                                 <= |x - r| |p| sine + |x1| |p - p~| + |x2| |p - p^|
 *
 * Of B planes l lead and j do not: b = 2^j b1 + b2, with integers |b1| <= 2^l - 1 and |b2| <= 2^j - 1 in every
 * dimension, so |x2| <= factor (2^j - 1) sqrt(n) and |x1| <= factor 2^j (2^l - 1) sqrt(n); also |x1| <= |x| + |x2|.
 *
 * The sine. For L2, an item within d of the query has |r - p| <= d, so the angle between r and p has a sine of at most
 * d / |p|. For the other metrics, an item with a score of at least t has <r, p> >= h = t - bias - |weight| max|r|,
 * without a centre h = t, so the cosine of the angle is at least h / (|p| max|r|).
 *
 * Origins (origins.h). With o an item's origin, c the centre, w = 1 and p = q - c, the true score is
 * t = m <r, q - o> - (offset - m <x, o - c>) + base, and the estimate has <x, p~> - <x, o - c> in place of <r, q - o>:
 *
 *   <r, q - o> - <x, p~ - (o - c)> = <r - x, q - o> + <x, p - p~> <= |x - r| |a| + |x| |p - p~|
 *
 * where a is the part of q - o orthogonal to r. An item at distance d from the query has |a| <= d, since q - o is r
 * plus the query's difference from the item. For L2 the score is -d^2, for cosine it is 1 - d^2 / 2. For ip w o, w c
 * and w x take the places of o, c and the item, and offsets are multiplied by w. The query is unbiased (noise.c): p~ is
 * at an angle s to p and has the length |p| / cos s, so |p - p~| = |p| tan s.
 *
 * Rounding. Factors and offsets are bfloat16 in leads and narrow records, each with a relative error e of at most 2^-8.
 * The corpus's errors are those of codes with the factors as stored, (1 + e) x, with
 *
 *   |(1 + e) x - r|^2 = (1 + 2 e) |x - r|^2 + e^2 |x|^2,
 *
 * so |x - r| and |x| exceed them by at most the factor STORED. Float32 arithmetic adds a unit of rounding (2^-24) for
 * each addition of a lane of n / 16 terms, for each of the rotation's 74 steps, and for the operations after them;
 * arithmetic() times the sizes of all terms is a few times that. Rounding also leaves x - r not quite orthogonal to r:
 * the measured |x|^2 - |r|^2 may be off by that share of |x|^2 (code_distance).
 */
#include "scan/margins/bounds.h"

#include "scan/margins/unbias.h"

#include "scan/segment.h"

#include <math.h>

static const double SHORTEST = 0x1p-99; /* vectors shorter than half of this have no code */
static const double BFLOAT16 = 0x1p-8;
static const double STORED = 1 + 0x1p-7;
static const double UNIT = 0x1p-24;
static const double SMALLEST = 0x1p-140; /* products underflow float32 below this, per dimension */
static const double ROTATING = 96;

static double dims(const thr_scan_corpus *corpus) {
    return (double)corpus->quantiser->n_dims;
}

/* Relative rounding error of a sum of n_dims products. */
static double summing(const thr_scan_corpus *corpus) {
    return thr_score_rounding(corpus->quantiser->n_dims);
}

/* Relative rounding error of all operations on a query, a row and their product. */
static double arithmetic(const thr_scan_corpus *corpus) {
    return (dims(corpus) / 16 + 128) * 4 * UNIT;
}

double thr_scan_longest_residual(const thr_scan_corpus *corpus) {
    const thr_code_errors *errors = &corpus->errors;
    const double length = thr_is_nested(corpus) ? fmin((double)errors->lead_length, (double)errors->full_length)
                                                : (double)errors->full_length;
    return length * STORED * (1 + arithmetic(corpus));
}

/* The largest |o|, or without origins |c|. */
static double longest_origin(const thr_scan_corpus *corpus, const thr_kernels *kernels) {
    const thr_quantiser *quantiser = corpus->quantiser;
    if (corpus->origins != NULL)
        return corpus->origins->longest;
    return quantiser->centre == NULL ? 0 : sqrt(kernels->sum_squares(quantiser->centre, quantiser->n_dims));
}

/* ------------------------------------------------------------------------------------------------ a query */

/* Sums over the dimensions of p and of its two codes: b~ is compared with leading planes, b^ with the other planes. */
typedef struct part_sums {
    double square, fourth; /* squares and fourth powers of p's components */
    double lead, rest;     /* <p, b~> and <p, b^> */
    int64_t lead_square, rest_square;
} part_sums;

/* One loop for all sums: an addition waits only for the previous one of the same sum, so different sums overlap. */
static part_sums sums_of(const thr_scan_query *query, const float *part, const int8_t *rest) {
    const int half = 1 << query->code.query_bits;
    part_sums sums = {0};
    for (uint32_t d = 0; d < query->code.n_dims; d++) {
        const double x = (double)part[d], square = x * x;
        const int b = 2 * query->code.levels[d] + 1 - half, r = rest == NULL ? 0 : rest[d];
        sums.square += square;
        sums.fourth += square * square;
        sums.lead += x * b;
        sums.rest += x * r;
        sums.lead_square += b * b;
        sums.rest_square += r * r;
    }
    return sums;
}

/* |p - length b / |b||: the distance of p from its code b, scaled to the given length. */
static double distance_to_code(double square, double length, double product, int64_t code_square) {
    return sqrt(fmax(square + length * length - 2 * length * product / sqrt((double)code_square), 0));
}

void thr_scan_query_measure(thr_scan_query *query, const float *part, double length) {
    const thr_scan_corpus *corpus = query->corpus;
    const bool nested = thr_is_nested(corpus);
    const part_sums sums = sums_of(query, part, nested ? query->rest.digits : NULL);
    query->geometry = (thr_query_geometry){
        .query_length = corpus->metric == THR_METRIC_COSINE ? 1 : (double)query->norm,
        .origin_length = longest_origin(corpus, query->kernels),
        .part_length = length,
        .lead_distance = distance_to_code(sums.square, length, sums.lead, sums.lead_square),
        .rest_distance = nested ? distance_to_code(sums.square, length, sums.rest, sums.rest_square) : 0,
        /* |p|^4 / the sum of p's fourth powers: n of n equal components, 1 of a single one */
        .effective_dims = sums.fourth > 0 ? sums.square * sums.square / sums.fourth : dims(corpus)};
}

double thr_scan_least_true_score(const thr_scan_query *query, double score, double kept_error) {
    const thr_scan_corpus *corpus = query->corpus;
    const thr_query_geometry *e = &query->geometry;
    const double rounding = summing(corpus), lost = dims(corpus) * SMALLEST;
    const double longest = e->origin_length + thr_scan_longest_residual(corpus) + kept_error;
    switch (corpus->metric) {
    case THR_METRIC_COSINE: {
        if (kept_error == 0)
            return score - 2 * rounding;
        const double distance = sqrt(fmax(2 - 2 * (score - 2 * rounding), 0)) + kept_error;
        return 1 - distance * distance / 2 - 2 * rounding;
    }
    case THR_METRIC_IP:
        return score - e->query_length * (rounding * longest + kept_error) - lost;
    default: {
        const double distance = sqrt(fmax(-score, 0) * (1 + 4 * rounding) + lost) + kept_error;
        return -distance * distance;
    }
    }
}

/*
 * The sum of the sizes of all terms of a score and its estimate. code_length: length of the vector that codes
 * represent.
 */
static double sum_of_sizes(const thr_scan_query *query, double code_length) {
    const thr_query_geometry *e = &query->geometry;
    const double residual = thr_scan_longest_residual(query->corpus);
    const thr_corpus_origins *origins = query->corpus->origins;
    if (origins != NULL)
        return (1 + (double)query->offset_weight) *
               (2 * (e->part_length + origins->farthest) * code_length +
                e->farthest_origin * (e->farthest_origin + residual) + residual * (residual + origins->longest) +
                e->query_length * origins->longest);
    if (query->corpus->metric == THR_METRIC_L2)
        return 2 * e->part_length * code_length + residual * residual + e->part_length * e->part_length;
    return (e->part_length + e->query_length) * (code_length + e->origin_length) +
           fabs((double)query->offset_weight) * residual;
}

double thr_scan_largest_offset(const thr_scan_query *query) {
    const thr_corpus_origins *origins = query->corpus->origins;
    const double residual = thr_scan_longest_residual(query->corpus);
    if (origins != NULL) { /* |x| is at most `code`, by the leading planes and by all */
        const thr_code_errors *errors = &query->corpus->errors;
        const double code = STORED * (double)fmaxf(errors->lead_length, errors->full_length);
        return query->corpus->metric == THR_METRIC_L2
                   ? residual * residual + 2 * code * origins->farthest
                   : (double)query->offset_weight * (residual * origins->longest + code * origins->farthest);
    }
    if (query->corpus->metric == THR_METRIC_L2)
        return residual * residual;
    return query->corpus->quantiser->centre != NULL ? fabs((double)query->offset_weight) * residual : 0;
}

/*
 * The minimum of <r, p> / |r| for cosine with a centre c. An item's direction u = a c / |c| + v, v orthogonal to the
 * centre, has <r, p> = <v, p> >= score - a w (w: the query's weight) and |r|^2 = 1 - 2 a |c| + |c|^2. Its angle to the
 * centre is within acos(score) of the query's, phi. Over these a the quotient is least at an end of the interval or
 * where its derivative is 0. Rows without direction have score 0. slack: the rounding error of u - c.
 */
static double least_centred_quotient(const thr_scan_query *query, double score, double slack) {
    const double w = (double)query->offset_weight, c = query->geometry.origin_length;
    if (score <= 0)
        return 0;
    const double theta = acos(fmin(1, score)), phi = acos(fmin(1, fmax(-1, w)));
    const double low = cos(fmin(acos(-1), phi + theta)), high = cos(fmax(0, phi - theta));
    const double turn = w != 0 ? (w * (1 + c * c) - c * score) / (w * c) : low;
    const double extremes[] = {low, high, fmin(high, fmax(low, turn))};
    double least = INFINITY;
    for (size_t i = 0; i < sizeof extremes / sizeof *extremes; i++)
        least = fmin(least, (score - extremes[i] * w) / sqrt(fmax(1 - 2 * extremes[i] * c + c * c, SMALLEST)));
    const double shortest = sqrt(fmax(1 - 2 * high * c + c * c, 0));
    return least * shortest / (shortest + slack);
}

double thr_scan_largest_sine(const thr_scan_query *query, double score) {
    const thr_scan_corpus *corpus = query->corpus;
    const double length = query->geometry.part_length, residual = thr_scan_longest_residual(corpus);
    if (!(length > 0 && residual > 0))
        return 1;
    if (corpus->metric == THR_METRIC_L2)
        return fmin(1, sqrt(fmax(-score, 0)) / length * (1 + 4 * UNIT) + 4 * UNIT);
    const double slack = arithmetic(corpus) * sum_of_sizes(query, residual), product = score - slack;
    double quotient = (product - (double)query->bias - thr_scan_largest_offset(query)) / residual;
    if (corpus->metric == THR_METRIC_COSINE && corpus->quantiser->centre != NULL)
        quotient = fmax(quotient, least_centred_quotient(query, product, slack));
    const double cosine = fmin(1, fmax(0, quotient / length));
    return sqrt(1 - cosine * cosine);
}

double thr_scan_largest_across(const thr_scan_query *query, double score) {
    const double rounding = 4 * summing(query->corpus);
    if (query->corpus->origins == NULL)
        return thr_scan_largest_sine(query, score);
    switch (query->corpus->metric) {
    case THR_METRIC_L2:
        return 2 * sqrt(fmax(-score, 0)) * (1 + rounding);
    case THR_METRIC_COSINE: /* the squared distance of unit vectors is 2 - 2 cosine */
        return sqrt(fmax(2 - 2 * score, 0) + 8 * rounding);
    default: { /* |q - w x|^2 = |q|^2 - 2 w score + w^2 |x|^2 */
        const double residual = thr_scan_longest_residual(query->corpus);
        if (!(residual > 0)) /* flat codes: no length of an item is known */
            return (double)INFINITY;
        const double weight = (double)query->offset_weight, length = query->geometry.query_length;
        const double item = weight * (query->corpus->origins->longest + residual);
        const double sum = length * length + item * item;
        return sqrt(fmax(sum - 2 * weight * score, 0) + 2 * rounding * sum);
    }
    }
}

double thr_scan_to_collector(const thr_scan_query *query, double score) {
    return (score - (double)query->bias) / (thr_has_factors(query->corpus) ? 1 : (double)query->code.gain);
}

/* An upper bound of |p| sine, or with origins of |a|. Unlike thr_scan_largest_across, not doubled for L2. */
static double longest_across(const thr_scan_query *query, double score) {
    const double times = query->corpus->metric == THR_METRIC_L2 ? 2 : 1;
    if (query->corpus->origins == NULL)
        return query->geometry.part_length * thr_scan_largest_sine(query, score);
    return fmin(query->geometry.farthest_origin, thr_scan_largest_across(query, score)) / times;
}

/* |p - p~|. If the query is unbiased, it is |p| tan s. */
static double lead_distance(const thr_scan_query *query) {
    const thr_query_geometry *e = &query->geometry;
    return query->is_unbiased ? e->part_length * thr_scan_code_tangent(e->part_length, e->lead_distance)
                              : e->lead_distance;
}

/* |p - p^|, likewise. */
static double rest_distance(const thr_scan_query *query) {
    const thr_query_geometry *e = &query->geometry;
    return query->is_unbiased ? e->part_length * thr_scan_code_tangent(e->part_length, e->rest_distance)
                              : e->rest_distance;
}

/* An upper bound of |x - r|, including the rounding errors of the measured error and length. */
static double code_distance(const thr_scan_corpus *corpus, double error, double length) {
    const double rounding = summing(corpus) + (corpus->quantiser->rotation != NULL ? ROTATING * UNIT : 0);
    return STORED * sqrt(error * error + 8 * rounding * length * length) + SHORTEST;
}

/*
 * A lower bound of the estimate of an item with this true score, in the collector's units. length, error: of x and x -
 * r. code_length: length of the vector that all codes represent. code_error: bound of the terms with p - p~ and p - p^.
 * relative: relative rounding error of factors and offsets.
 */
static double least_estimate(const thr_scan_query *query, double score, double length, double error, double code_length,
                             double code_error, double relative) {
    const thr_scan_corpus *corpus = query->corpus;
    /* Flat cosine codes give no estimate for rows without direction, whose score is 0. */
    if (!(length > 0) || !isfinite(score) || (!thr_has_factors(corpus) && score <= 0))
        return (double)-INFINITY;
    const double times = corpus->metric == THR_METRIC_L2 ? 2 : 1;
    const double p = fmax(query->geometry.part_length, query->geometry.farthest_origin / times);
    const double product = code_distance(corpus, error, length) * longest_across(query, score) + code_error +
                           relative * (length * p + code_error);
    const double slack = arithmetic(corpus) * (sum_of_sizes(query, code_length) + fabs(score));
    const double least = score - times * product - relative * thr_scan_largest_offset(query) - slack;
    /* Codes without factors are divided by their own length |b| = |x| / factor; |x| is at least |r|, which is 1. */
    const double divisor = !thr_has_factors(corpus) && least > 0 ? length * (1 + arithmetic(corpus)) : 1;
    return thr_scan_to_collector(query, least / divisor);
}

double thr_scan_screen_bound(const thr_scan_query *query, float score, double kept_error) {
    const thr_code_errors *errors = &query->corpus->errors;
    const double least_truth = thr_scan_least_true_score(query, (double)score, kept_error);
    const bool nested = thr_is_nested(query->corpus);
    const double length = STORED * (double)(nested ? errors->lead_length : errors->full_length);
    const double error = (double)(nested ? errors->lead_error : errors->full_error);
    return least_estimate(query, least_truth, length, error, length, length * lead_distance(query),
                          nested ? BFLOAT16 : 0);
}

double thr_scan_largest_factor(const thr_scan_corpus *corpus, const thr_candidate *items, size_t n) {
    const thr_record_shape shape = thr_record_shape_of(corpus->quantiser->n_dims, corpus->quantiser->item_bits,
                                                       corpus->lead, corpus->segments->lead_offsets);
    const size_t size = thr_record_size(shape);
    float largest = 0;
    for (size_t i = 0; i < n; i++) {
        const thr_segment *segment = thr_scan_segment_of(corpus, items[i].row);
        float factor, offset;
        thr_code_record_read_head(shape, segment->records + (items[i].row - segment->first_row) * size, &factor,
                                  &offset);
        largest = fmaxf(largest, factor);
    }
    return (double)largest * (1 + 2 * BFLOAT16); /* undo the rounding to bfloat16, upwards */
}

double thr_scan_rescore_bound(const thr_scan_query *query, float score, double kept_error, double largest_factor) {
    const thr_scan_corpus *corpus = query->corpus;
    const thr_code_errors *errors = &corpus->errors;
    const uint32_t n_rest = corpus->quantiser->item_bits - corpus->lead;
    const double plane_length = largest_factor * sqrt(dims(corpus)), top = (double)(1u << n_rest);
    const double length = STORED * (double)errors->full_length, rest = plane_length * (top - 1);
    const double lead = fmin(plane_length * top * (double)((1u << corpus->lead) - 1), length + rest);
    return least_estimate(query, thr_scan_least_true_score(query, (double)score, kept_error), length,
                          (double)errors->full_error, lead + rest,
                          lead * lead_distance(query) + rest * rest_distance(query),
                          corpus->quantiser->item_bits > 4 ? 0 : BFLOAT16);
}
