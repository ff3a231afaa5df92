/* SPDX-License-Identifier: Apache-2.0 */
/* scan_search.c - every answer of a search, in every bit, against the search by the book (naive.h). */
#include "owned.h"

#include "naive.h"

static const thr_metric METRICS[] = {THR_METRIC_COSINE, THR_METRIC_IP, THR_METRIC_L2};
static const thr_dtype KEEPS[] = {THR_DTYPE_F32, THR_DTYPE_F16, THR_DTYPE_I8, THR_DTYPE_NONE};
static const uint32_t BITS[] = {1, 2, 3, 4, 8};
static const uint32_t QUERY_BITS[] = {1, 4, 8};

static thr_search_options defaults(uint32_t query_bits) {
    thr_search_options options = {.recall = 0.99f};
    options.recall = 0; /* the counts decide */
    options.query_bits = query_bits;
    options.n_candidates = 50;
    return options;
}

/*
 * All kinds of search of one corpus; the context has two threads, so that queries alone and queries in a crowd differ.
 */
static void check_corpus(thr_context *context, const test_corpus *corpus, uint32_t query_bits, uint64_t *rng) {
    enum { QUERIES = 3 };
    const uint64_t n = corpus->shape.n_items;
    const bool vectors = corpus->shape.keep != THR_DTYPE_NONE;
    float *queries = test_new((size_t)QUERIES * corpus->shape.n_dims, sizeof *queries);
    test_gaussian(rng, queries, (size_t)QUERIES * corpus->shape.n_dims);
    thr_search_options options = defaults(query_bits);
    test_search_equals_naive(context, corpus, queries, QUERIES, 1, &options, "k = 1");
    test_search_equals_naive(context, corpus, queries, 1, 10, &options, "one query");
    test_search_equals_naive(context, corpus, queries, 1, n, &options, "k = n");
    test_search_equals_naive(context, corpus, queries, QUERIES, n + 3, &options, "k > n");
    options.n_candidates = n;
    test_search_equals_naive(context, corpus, queries, 1, 1 + n / 3, &options, "all candidates");
    options = defaults(query_bits);
    uint64_t *filter = test_filter(rng, corpus->shape.n_items, 5);
    options.filter = filter;
    options.filter_bits = n;
    test_search_equals_naive(context, corpus, queries, QUERIES, 10, &options, "filter");
    options.exact = vectors;
    test_search_equals_naive(context, corpus, queries, QUERIES, 10, &options, "exact and filter");
    options.filter = NULL;
    test_search_equals_naive(context, corpus, queries, QUERIES, n, &options, "exact");
}

TEST(all_kinds_of_targets_and_searches_equal_the_naive_answer) {
    const uint32_t sizes[] = {1, 63, 64, 65, 200, 1000};
    uint64_t rng = test_seed();
    OWNED(thr_context, context) = test_context(2, THR_ISA_BEST, NULL);
    for (size_t m = 0; m < COUNT_OF(METRICS); m++)
        for (size_t keep = 0; keep < COUNT_OF(KEEPS); keep++)
            for (size_t b = 0; b < COUNT_OF(BITS); b++)
                for (size_t s = 0; s < COUNT_OF(sizes); s++) {
                    const test_shape shape = {.n_items = sizes[s],
                                              .n_dims = 1 + (uint32_t)thr_rng_below(&rng, 50),
                                              .bits = BITS[b],
                                              .metric = METRICS[m],
                                              .keep = KEEPS[keep],
                                              .centre = thr_rng_below(&rng, 2) == 0};
                    float *rows = test_tied_rows(&rng, shape.n_items, shape.n_dims, shape.centre);
                    test_corpus corpus;
                    test_target_make(&corpus, &shape, rows);
                    for (size_t q = 0; q < COUNT_OF(QUERY_BITS); q++)
                        check_corpus(context, &corpus, QUERY_BITS[q], &rng);
                    test_target_free(&corpus);
                }
}

/* Whatever the metric and the centre, the estimate is the score of the decoded codes: here it is near the true one. */
/* The score of two vectors in double; *size: the product of their lengths. */
static double true_score(thr_metric metric, const float *query, const float *row, size_t n_dims, double *size) {
    double product = 0, q_square = 0, x_square = 0;
    for (size_t d = 0; d < n_dims; d++) {
        const double q = (double)query[d], x = (double)row[d];
        product += q * x;
        q_square += q * q;
        x_square += x * x;
    }
    *size = sqrt(q_square * x_square);
    if (metric == THR_METRIC_COSINE)
        return product / *size;
    return metric == THR_METRIC_IP ? product : 2 * product - q_square - x_square;
}

TEST(estimates_of_eight_bit_codes_are_near_the_true_scores) {
    enum { ITEMS = 300, DIMS = 60 };
    uint64_t rng = test_seed();
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    for (size_t m = 0; m < 3; m++)
        for (int centre = 0; centre < 2; centre++) {
            const test_shape shape = {
                .n_items = ITEMS, .n_dims = DIMS, .bits = 8, .metric = METRICS[m], .centre = centre != 0};
            test_corpus corpus;
            float *rows = test_tied_rows(&rng, ITEMS, DIMS, centre != 0);
            float query[DIMS], scores[ITEMS];
            uint64_t found[ITEMS];
            test_gaussian(&rng, query, DIMS);
            test_target_make(&corpus, &shape, rows);
            const thr_matrix matrix = thr_matrix_f32(query, 1, DIMS);
            const thr_search_options options = defaults(8);
            thr_scan *scan = test_scan_create(context);
            expect_ok(thr_scan_search(scan, &corpus.scan, &matrix, &options,
                                      &(thr_answers){.k = ITEMS, .ids = found, .scores = scores}, &err));
            thr_scan_free(scan);
            for (size_t i = 0; i < ITEMS; i++) {
                double size;
                const double score = true_score(shape.metric, query, rows + found[i] * DIMS, DIMS, &size);
                if (size == 0)
                    continue; /* the all-minus code has no meaning for cosine */
                const double most = shape.metric == THR_METRIC_COSINE ? 0.02 : 0.04 * size;
                assert_case(fabs((double)scores[i] - score) <= most,
                            "seed %llu: metric %s, centre %d: row %llu: estimate %g of %g",
                            (unsigned long long)test_seed(), thr_metric_name(shape.metric),
                            corpus.quantiser.centre != NULL, (unsigned long long)found[i], (double)scores[i], score);
            }
            test_target_free(&corpus);
        }
}

/* Scores differ from the double ones by the rounding of n_dims additions, so nothing far better is left out. */
/* The best k of an exact search: their scores are right within the bound, in order, and no better row is left out. */
static void check_exact_answer(const test_corpus *corpus, const test_query *query, const uint64_t *found,
                               const float *scores, size_t k) {
    const char *metric = thr_metric_name(corpus->shape.metric), *keep = thr_dtype_name(corpus->shape.keep);
    const unsigned long long seed = (unsigned long long)test_seed();
    bool *in_answer = test_new(corpus->shape.n_items, sizeof *in_answer);
    for (size_t i = 0; i < k; i++) {
        double bound = 0;
        const double score = test_exact_double(corpus, query, found[i], &bound);
        in_answer[found[i]] = true;
        assert_case(fabs((double)scores[i] - score) <= bound + 1e-30,
                    "seed %llu: metric %s, keep %s: row %llu: %.9g is not within %g of %.9g", seed, metric, keep,
                    (unsigned long long)found[i], (double)scores[i], bound, score);
        assert_true(i == 0 || scores[i - 1] > scores[i] || (scores[i - 1] == scores[i] && found[i - 1] < found[i]));
    }
    for (uint64_t i = 0; i < corpus->shape.n_items; i++) {
        double bound = 0;
        const double score = test_exact_double(corpus, query, i, &bound);
        assert_case(in_answer[i] || score <= (double)scores[k - 1] + bound,
                    "seed %llu: metric %s, keep %s: row %llu of score %.9g is left out, %.9g is in", seed, metric, keep,
                    (unsigned long long)i, score, (double)scores[k - 1]);
    }
}

TEST(exact_scores_and_order_hold_in_double_within_the_bound) {
    enum { ITEMS = 500, K = 40 };
    uint64_t rng = test_seed();
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    for (size_t m = 0; m < 3; m++)
        for (size_t keep = 0; keep < 3; keep++) {
            const test_shape shape = {.n_items = ITEMS,
                                      .n_dims = 1 + (uint32_t)thr_rng_below(&rng, 200),
                                      .bits = 1,
                                      .metric = METRICS[m],
                                      .keep = KEEPS[keep]};
            float *rows = test_tied_rows(&rng, ITEMS, shape.n_dims, false);
            float *vector = test_new(shape.n_dims, sizeof *vector), scores[K];
            uint64_t found[K];
            test_gaussian(&rng, vector, shape.n_dims);
            test_corpus corpus;
            test_query query;
            test_target_make(&corpus, &shape, rows);
            test_query_make(&query, &corpus, vector, 4);
            thr_search_options options = defaults(4);
            options.exact = true;
            const thr_matrix matrix = thr_matrix_f32(vector, 1, shape.n_dims);
            thr_scan *scan = test_scan_create(context);
            expect_ok(thr_scan_search(scan, &corpus.scan, &matrix, &options,
                                      &(thr_answers){.k = K, .ids = found, .scores = scores}, &err));
            thr_scan_free(scan);
            check_exact_answer(&corpus, &query, found, scores, K);
            test_query_free(&query);
            test_target_free(&corpus);
        }
}

/* The naive answers to different numbers of candidates differ, so searches do depend on the set that is refined. */
TEST(more_candidates_refine_more_until_the_answer_is_the_exact_one) {
    enum { ITEMS = 2000, DIMS = 24, K = 10 };
    uint64_t rng = test_seed();
    OWNED(thr_context, context) = test_context(2, THR_ISA_BEST, NULL);
    float *rows = test_new((size_t)ITEMS * DIMS, sizeof *rows), query[DIMS];
    test_gaussian(&rng, rows, (size_t)ITEMS * DIMS);
    test_gaussian(&rng, query, DIMS);
    for (size_t m = 0; m < 3; m++) {
        const test_shape shape = {ITEMS, DIMS, 1, METRICS[m], THR_DTYPE_F32, 0, false, 0, false};
        test_corpus corpus;
        test_target_make(&corpus, &shape, rows);
        uint64_t answers[2][K], exact[K];
        float scores[K];
        thr_search_options options = defaults(2);
        for (int step = 0; step <= 60; step++) {
            options.n_candidates = step == 60 ? ITEMS : K + (uint64_t)step;
            test_search_equals_naive(context, &corpus, query, 1, K, &options, "candidates");
            if (step == 0 || step == 60)
                test_naive_search(&corpus, query, K, &options, answers[step == 60], scores);
        }
        options.exact = true;
        test_naive_search(&corpus, query, K, &options, exact, scores);
        assert_memory_equal(answers[1], exact, sizeof exact);
        assert_memory_not_equal(answers[0], exact, sizeof exact);
        test_target_free(&corpus);
    }
}
