/* SPDX-License-Identifier: Apache-2.0 */
#include "naive.h"

#include "test.h"

#include "base/half.h"
#include "code/nested.h"
#include "code/rotate.h"
#include "kernel/kernel.h"
#include "scan/job.h"
#include "run_scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

float *test_tied_rows(uint64_t *rng, uint32_t n_items, uint32_t n_dims, bool mean) {
    float *rows = test_new((size_t)n_items * n_dims, sizeof *rows);
    test_gaussian(rng, rows, (size_t)n_items * n_dims);
    for (size_t i = 0; mean && i < (size_t)n_items * n_dims; i++)
        rows[i] += 1.5f;
    for (uint32_t i = 8; i < n_items; i += 8) {
        const size_t size = n_dims * sizeof *rows;
        if (thr_rng_below(rng, 4) == 0)
            memset(rows + (size_t)i * n_dims, 0, size);
        else
            memcpy(rows + (size_t)i * n_dims, rows + (size_t)thr_rng_below(rng, i) * n_dims, size);
    }
    return rows;
}

float *test_queries(uint64_t *rng, uint64_t n, uint32_t n_dims) {
    float *queries = test_new((size_t)n * n_dims, sizeof *queries);
    test_gaussian(rng, queries, (size_t)n * n_dims);
    if (n > 3) {
        memset(queries + 2 * n_dims, 0, n_dims * sizeof *queries);
        memcpy(queries + (n - 1) * n_dims, queries, n_dims * sizeof *queries);
    }
    return queries;
}

uint64_t *test_filter(uint64_t *rng, uint32_t n_items, uint64_t one_in) {
    uint64_t *filter = test_new((n_items + 63) / 64, sizeof *filter);
    for (uint32_t i = 0; i < n_items; i++)
        if (thr_rng_below(rng, one_in) == 0)
            filter[i / 64] |= UINT64_C(1) << i % 64;
    return filter;
}

int test_candidate_order(const void *a, const void *b) {
    const thr_candidate *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* The odd integers of a vector's code, and 1 / its length. */
static float code_of(const test_corpus *corpus, const float *vector, double length, uint32_t bits, int16_t *values) {
    const float half = (float)(1u << (bits - 1));
    const float scale = (float)((double)half / (length * (double)corpus->quantiser.ranges[bits - 1]));
    uint64_t square = 0;
    for (uint32_t d = 0; d < corpus->shape.n_dims; d++) {
        const int v = 2 * (int)fminf(fmaxf(floorf(vector[d] * scale), -half), half - 1) + 1;
        square += (uint64_t)(v * v);
        values[d] = (int16_t)v;
    }
    return (float)(1 / sqrt((double)square));
}

/* The query's vector, of length 1 for cosine. Returns its product with the centre. */
static double set_vector(test_query *query, const test_corpus *corpus, const float *vector) {
    const uint32_t n_dims = corpus->shape.n_dims;
    const float *centre = corpus->quantiser.centre;
    double shared = 0;
    query->norm = sqrt(thr_kernels_get(THR_ISA_SCALAR)->sum_squares(vector, n_dims));
    query->norm = query->norm < 0x1p-100 ? 0 : query->norm;
    query->vector = test_array(n_dims, sizeof(float));
    for (uint32_t d = 0; d < n_dims; d++) {
        query->vector[d] = vector[d];
        if (corpus->shape.metric == THR_METRIC_COSINE && query->norm > 0)
            query->vector[d] = (float)((double)vector[d] / query->norm);
        if (centre != NULL)
            shared += (double)centre[d] * (double)query->vector[d];
    }
    return shared;
}

void test_query_make(test_query *query, const test_corpus *corpus, const float *vector, uint32_t query_bits) {
    const thr_metric metric = corpus->shape.metric;
    const thr_kernels *kernels = thr_kernels_get(THR_ISA_SCALAR);
    const uint32_t n_dims = corpus->shape.n_dims;
    const float *centre = corpus->quantiser.centre;
    const double shared = set_vector(query, corpus, vector);
    float *residual = test_array(n_dims, sizeof(float));
    memcpy(residual, query->vector, n_dims * sizeof(float));
    double along = 1, weight = 1;
    if (centre != NULL && metric != THR_METRIC_L2) {
        const double centre_length = sqrt(kernels->sum_squares(centre, n_dims));
        along = shared / centre_length / centre_length;
        weight = shared / centre_length;
    }
    for (uint32_t d = 0; centre != NULL && d < n_dims; d++)
        residual[d] = (float)((double)query->vector[d] - along * (double)centre[d]);
    double length = metric == THR_METRIC_COSINE ? query->norm > 0 : query->norm;
    if (centre != NULL)
        length = sqrt(kernels->sum_squares(residual, n_dims));
    if (corpus->quantiser.rotation != NULL)
        thr_code_rotation_apply(corpus->quantiser.rotation, residual);
    const double divisor = length > 0x1p-100 ? length : 1;
    const double scale = length * (metric == THR_METRIC_L2 ? 2 : 1);
    query->values = test_array(n_dims, sizeof(int16_t));
    query->rest_values = test_array(n_dims, sizeof(int16_t));
    query->code_gain =
        code_of(corpus, residual, divisor, query_bits != 0 ? query_bits : THR_DEFAULT_QUERY_BITS, query->values);
    query->rest_gain = (float)(scale * (double)code_of(corpus, residual, divisor, THR_REST_BITS, query->rest_values));
    query->scale = scale;
    query->gain = (float)(length * (double)query->code_gain * (metric == THR_METRIC_L2 ? 2 : 1));
    query->weight = (float)weight;
    query->bias = (float)(metric == THR_METRIC_L2 ? -length * length : shared);
    free(residual);
}

void test_query_free(test_query *query) {
    free(query->values);
    free(query->rest_values);
    free(query->vector);
}

static float leads_number(const test_corpus *corpus, uint64_t item, bool offset) {
    const bool pairs = corpus->shape.metric == THR_METRIC_L2 || corpus->quantiser.centre != NULL;
    if (offset && !pairs)
        return 0;
    return thr_bf16_to_f32(corpus->leads[pairs ? 2 * item + offset : item]);
}

/* v = 2^m v_lead + v_rest: the integer products of a query with both parts of an item's code. */
static void nested_products(const test_corpus *corpus, const test_query *query, uint64_t item, int32_t *lead,
                            int32_t *rest) {
    const int16_t *values = corpus->values + item * corpus->shape.n_dims;
    const int m = (int)(corpus->shape.bits - corpus->shape.lead), top = 1 << corpus->shape.bits;
    *lead = *rest = 0;
    for (uint32_t d = 0; d < corpus->shape.n_dims; d++) {
        const int u = (values[d] - 1 + top) / 2, high = u >> m, low = u & ((1 << m) - 1);
        *lead += (2 * high + 1 - (1 << corpus->shape.lead)) * query->values[d];
        *rest += (2 * low + 1 - (1 << m)) * query->rest_values[d];
    }
}

float test_lead_estimate(const test_corpus *corpus, const test_query *query, uint64_t item) {
    int32_t lead, rest;
    nested_products(corpus, query, item, &lead, &rest);
    const float score = ((float)lead * leads_number(corpus, item, false)) * query->gain;
    const float offset = leads_number(corpus, item, true) * query->weight;
    return corpus->segments->lead_offsets ? score - offset : score;
}

static float nested_estimate(const test_corpus *corpus, const test_query *query, uint64_t item) {
    int32_t lead, rest;
    nested_products(corpus, query, item, &lead, &rest);
    const bool wide = corpus->shape.bits > 4;
    const float factor = corpus->factors[item], offset = leads_number(corpus, item, true);
    const float lead_gain = (float)((double)query->scale * (double)query->code_gain *
                                    (double)(1 << (corpus->shape.bits - corpus->shape.lead)));
    const float product = (float)lead * lead_gain + (float)rest * query->rest_gain;
    return product * (wide ? factor : thr_bf16_to_f32(thr_bf16_from_f32(factor))) -
           (wide ? (corpus->segments->lead_offsets ? corpus->offsets[item] : 0) : offset) * query->weight;
}

float test_estimate(const test_corpus *corpus, const test_query *query, uint64_t item) {
    const int16_t *values = corpus->values + item * corpus->shape.n_dims;
    int32_t product = 0, square = 0;
    for (uint32_t d = 0; d < corpus->shape.n_dims; d++) {
        product += values[d] * query->values[d];
        square += values[d] * values[d];
    }
    if (test_is_nested(&corpus->shape))
        return nested_estimate(corpus, query, item);
    if (!test_has_factors(corpus))
        return (float)product / sqrtf((float)square);
    return ((float)product * corpus->factors[item]) * query->gain - corpus->offsets[item] * query->weight;
}

/* |query - gain x|^2 */
static float square_distance(const test_corpus *corpus, const test_query *query, uint64_t item, float gain) {
    const uint32_t n_dims = corpus->shape.n_dims;
    float *values = test_array(n_dims, sizeof(float)), square;
    for (uint32_t d = 0; d < n_dims; d++)
        values[d] = gain * test_kept_value(corpus, item, d);
    thr_kernels_get(THR_ISA_SCALAR)->l2_f32(&square, query->vector, values, 0, 1, n_dims);
    free(values);
    return square;
}

/* 1 - |q - x|^2 / 2 from the product of q and x, which is `scaled`. */
static float cosine_of_scaled(const test_corpus *corpus, const test_query *query, uint64_t item, float product) {
    double square = 0;
    for (uint32_t d = 0; d < corpus->shape.n_dims; d++)
        square += (double)query->vector[d] * (double)query->vector[d];
    const float cosine = (product - corpus->halves[item]) + (float)(1 - square / 2);
    return corpus->halves[item] < 0 || !(square > 0) ? 0 : cosine;
}

float test_exact(const test_corpus *corpus, const test_query *query, uint64_t item) {
    const thr_kernels *kernels = thr_kernels_get(THR_ISA_SCALAR);
    const uint32_t n_dims = corpus->shape.n_dims;
    const size_t size = n_dims * thr_dtype_size(corpus->shape.keep);
    const char *row = (const char *)corpus->vectors + item * size;
    float score = 0;
    if (corpus->shape.metric == THR_METRIC_L2)
        return 0 - square_distance(corpus, query, item, 1);
    if (corpus->shape.keep == THR_DTYPE_F32)
        kernels->dot_f32(&score, query->vector, row, size, 1, n_dims);
    else if (corpus->shape.keep == THR_DTYPE_F16)
        kernels->dot_f16(&score, query->vector, row, size, 1, n_dims);
    else
        kernels->dot_i8(&score, query->vector, row, size, 1, n_dims);
    if (thr_keep_is_scaled(corpus->shape.keep))
        score *= corpus->scales[item];
    if (corpus->shape.metric == THR_METRIC_IP)
        return score;
    const bool scaled = thr_keep_is_scaled(corpus->shape.keep);
    const float gain = scaled ? 1 : corpus->inverse_norms[item];
    score = scaled ? cosine_of_scaled(corpus, query, item, score) : score * gain;
    if (score >= (float)(1 - (n_dims / 16.0 + 16) * 0x1p-24))
        return 1 - square_distance(corpus, query, item, gain) / 2;
    return score < -1 ? -1 : score;
}

float test_shown(const test_corpus *corpus, float score) {
    if (corpus->shape.keep != THR_DTYPE_NONE || corpus->shape.metric == THR_METRIC_IP)
        return score;
    return corpus->shape.metric == THR_METRIC_L2 ? fminf(0, score) : fmaxf(-1, fminf(1, score));
}

/* Each of n additions and multiplications may be wrong by 2^-24 of the sum so far of absolute values. */
double test_exact_double(const test_corpus *corpus, const test_query *query, uint64_t item, double *bound) {
    double dot = 0, size = 0, square = 0, distance = 0;
    for (uint32_t d = 0; d < corpus->shape.n_dims; d++) {
        const double q = (double)query->vector[d], x = (double)test_kept_value(corpus, item, d);
        dot += q * x;
        size += fabs(q * x);
        square += x * x;
        distance += (q - x) * (q - x);
    }
    const double unit = (double)(corpus->shape.n_dims + 8) * 0x1p-24;
    const double inverse = square > 0 ? 1 / sqrt(square) : 0;
    switch (corpus->shape.metric) {
    case THR_METRIC_COSINE:
        *bound = unit * size * inverse;
        return dot * inverse;
    case THR_METRIC_IP:
        *bound = unit * size;
        return dot;
    default:
        *bound = 2 * unit * distance;
        return -distance;
    }
}

/* The candidates in order, as many as are refined or returned. */
static size_t screen(const test_corpus *corpus, const test_query *query, uint64_t k, const thr_search_options *options,
                     bool exact, thr_candidate *items) {
    size_t n = 0;
    const bool nested = test_is_nested(&corpus->shape);
    for (uint64_t i = 0; i < corpus->shape.n_items; i++)
        if (options->filter == NULL || (options->filter[i / 64] >> i % 64 & 1) != 0)
            items[n++] = (thr_candidate){.row = i,
                                         .score = exact    ? test_exact(corpus, query, i)
                                                  : nested ? test_lead_estimate(corpus, query, i)
                                                           : test_estimate(corpus, query, i)};
    qsort(items, n, sizeof *items, test_candidate_order);
    if (exact)
        return n;
    uint64_t wanted = options->n_candidates > k ? options->n_candidates : k;
    if (corpus->shape.keep == THR_DTYPE_NONE)
        wanted = k;
    if (!nested)
        return wanted < n ? wanted : n;
    const uint64_t survivors = options->n_survivors > wanted ? options->n_survivors : wanted;
    n = survivors < n ? survivors : n;
    for (size_t i = 0; i < n; i++)
        items[i].score = test_estimate(corpus, query, items[i].row);
    qsort(items, n, sizeof *items, test_candidate_order);
    return wanted < n ? wanted : n;
}

static float shown(const test_corpus *corpus, const test_query *query, float score) {
    return score * (test_has_factors(corpus) || test_is_nested(&corpus->shape) ? 1 : query->code_gain) + query->bias;
}

void test_naive_search(const test_corpus *corpus, const float *vector, uint64_t k, const thr_search_options *options,
                       uint64_t *rows, float *scores) {
    test_query query;
    test_query_make(&query, corpus, vector, options->query_bits);
    thr_candidate *items = test_array(corpus->shape.n_items, sizeof *items);
    size_t n = 0, n_allowed = 0;
    for (uint64_t i = 0; i < corpus->shape.n_items; i++)
        n_allowed += options->filter == NULL || (options->filter[i / 64] >> i % 64 & 1) != 0;
    const bool exact = options->exact || thr_scan_rows_are_cheaper(&corpus->scan, options->filter, n_allowed);
    if (query.norm == 0 && corpus->shape.metric != THR_METRIC_L2) {
        for (uint64_t i = 0; i < corpus->shape.n_items; i++)
            if (options->filter == NULL || (options->filter[i / 64] >> i % 64 & 1) != 0)
                items[n++] = (thr_candidate){.row = i};
    } else {
        n = screen(corpus, &query, k, options, exact, items);
        for (size_t i = 0; i < n && !exact; i++)
            items[i].score = corpus->shape.keep == THR_DTYPE_NONE ? shown(corpus, &query, items[i].score)
                                                                  : test_exact(corpus, &query, items[i].row);
        qsort(items, n, sizeof *items, test_candidate_order);
    }
    for (uint64_t i = 0; i < k; i++) {
        rows[i] = i < n ? items[i].row : THR_NO_ID;
        scores[i] = i < n ? test_shown(corpus, items[i].score) : -INFINITY;
    }
    free(items);
    test_query_free(&query);
}

void test_search_equals_naive(thr_context *context, const test_corpus *corpus, const float *queries, uint64_t n_queries,
                              uint64_t k, const thr_search_options *options, const char *what) {
    const test_shape *shape = &corpus->shape;
    const size_t places = (size_t)(n_queries * k);
    uint64_t *rows = test_array(places, sizeof *rows), *wanted_rows = test_array((size_t)k, sizeof *rows);
    float *scores = test_array(places, sizeof *scores), *wanted_scores = test_array((size_t)k, sizeof *scores);
    const thr_matrix matrix = thr_matrix_f32(queries, n_queries, shape->n_dims);
    thr_scan *scan = NULL;
    assert_ok(thr_scan_create(context, &scan, &err), &err);
    assert_ok(test_run_scan(scan, &corpus->scan, &matrix, options,
                            &(thr_answers){.k = k, .ids = rows, .scores = scores, .certified = options->certified},
                            &err),
              &err);
    thr_scan_free(scan);
    for (uint64_t q = 0; q < n_queries; q++) {
        test_naive_search(corpus, queries + q * shape->n_dims, k, options, wanted_rows, wanted_scores);
        for (uint64_t i = 0; i < k; i++)
            if (rows[q * k + i] != wanted_rows[i] || scores[q * k + i] != wanted_scores[i])
                fail_msg(
                    "%s: seed %llu: %u items x %u dims, %u bits x %u, metric %s, keep %s, k %llu, candidates %llu, "
                    "exact %d: query %llu place %llu is row %llu score %.9g, not row %llu score %.9g",
                    what, (unsigned long long)test_seed(), shape->n_items, shape->n_dims, shape->bits,
                    options->query_bits, thr_metric_name(shape->metric), thr_dtype_name(shape->keep),
                    (unsigned long long)k, (unsigned long long)options->n_candidates, options->exact,
                    (unsigned long long)q, (unsigned long long)i, (unsigned long long)rows[q * k + i],
                    (double)scores[q * k + i], (unsigned long long)wanted_rows[i], (double)wanted_scores[i]);
    }
    free(rows);
    free(scores);
    free(wanted_rows);
    free(wanted_scores);
}
