/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds.h"

#include "test.h"

#include "naive.h"
#include "run_scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const thr_metric TEST_METRICS[3] = {THR_METRIC_COSINE, THR_METRIC_IP, THR_METRIC_L2};
const thr_dtype TEST_KEEPS[4] = {THR_DTYPE_F32, THR_DTYPE_F16, THR_DTYPE_I8, THR_DTYPE_NONE};

test_shape test_any_shape(uint64_t *rng, uint32_t bits, uint32_t n_items) {
    test_shape shape = {.n_items = n_items, .bits = bits, .n_dims = 1 + (uint32_t)thr_rng_below(rng, 75)};
    shape.metric = TEST_METRICS[thr_rng_below(rng, 3)];
    shape.keep = TEST_KEEPS[thr_rng_below(rng, 4)];
    shape.segment_items = thr_rng_below(rng, 2) == 0 ? 0 : 64 * (1 + (uint32_t)thr_rng_below(rng, 3));
    shape.centre = thr_rng_below(rng, 2) == 0;
    shape.lead = thr_rng_below(rng, 2) == 0 || bits == 1 ? 0 : 1 + (uint32_t)thr_rng_below(rng, bits - 1);
    return shape;
}

float *test_equal_rows(uint64_t *rng, uint32_t n_items, uint32_t n_dims) {
    float *rows = test_new((size_t)n_items * n_dims, sizeof *rows);
    test_gaussian(rng, rows, n_dims);
    for (uint32_t i = 1; i < n_items; i++)
        memcpy(rows + (size_t)i * n_dims, rows, n_dims * sizeof *rows);
    return rows;
}

void test_all_searches(thr_context *context, const test_corpus *corpus, uint64_t n_queries, uint64_t *rng) {
    const uint64_t n = corpus->shape.n_items;
    const uint32_t n_dims = corpus->shape.n_dims;
    float *queries = test_queries(rng, n_queries, n_dims);
    for (uint32_t d = 0; d < n_dims && corpus->shape.keep != THR_DTYPE_NONE; d++)
        queries[d] = 3 * test_kept_value(corpus, n / 2, d);
    uint64_t *filter = test_filter(rng, corpus->shape.n_items, 3), *none = test_new((n + 63) / 64, sizeof *none);
    thr_search_options options = test_counts(30, 12);
    options.query_bits = 1 + (uint32_t)thr_rng_below(rng, 8);
    test_search_equals_naive(context, corpus, queries, 1, 5, &options, "one query");
    test_search_equals_naive(context, corpus, queries, n_queries, 5, &options, "a batch");
    test_search_equals_naive(context, corpus, queries, 2, 1 + thr_rng_below(rng, n), &options, "any k");
    test_search_equals_naive(context, corpus, queries, 2, n + 3, &options, "k > n");
    options = test_counts(20, 10);
    options.filter = filter;
    options.filter_bits = n;
    test_search_equals_naive(context, corpus, queries, n_queries, 7, &options, "filter");
    options.filter = none;
    test_search_equals_naive(context, corpus, queries, n_queries, 7, &options, "nothing allowed");
}

thr_status test_search(thr_context *context, const test_corpus *corpus, const float *queries, uint64_t n_queries,
                       uint64_t k, const thr_search_options *options, uint64_t *rows, float *scores, thr_error *error) {
    const thr_matrix matrix = thr_matrix_f32(queries, n_queries, corpus->shape.n_dims);
    thr_scan *scan = NULL;
    assert_ok(thr_scan_create(context, &scan, error), error);
    const thr_status status =
        test_run_scan(scan, &corpus->scan, &matrix, options,
                      &(thr_answers){.k = k, .ids = rows, .scores = scores, .certified = options->certified}, error);
    thr_scan_free(scan);
    return status;
}

thr_status test_search_once(thr_context *context, const test_corpus *corpus, const float *queries, uint64_t n_queries,
                            thr_error *error) {
    enum { K = 5 };
    uint64_t *rows = test_new((size_t)n_queries * K, sizeof *rows);
    const thr_search_options options = test_counts(20, 10);
    const thr_status status = test_search(context, corpus, queries, n_queries, K, &options, rows, NULL, error);
    return status;
}
