/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan_sampled.c - collections large enough for a sampled first threshold (more than 16,384 rows), and rows arranged
 * to mislead the sample.
 */
#include "owned.h"

#include "naive.h"

#include "scan/job.h"

enum { ITEMS = 140000, DIMS = 8 };

static thr_search_options defaults(void) {
    thr_search_options options = {.recall = 0.99f};
    options.recall = 0; /* the counts decide */
    options.n_candidates = 100;
    return options;
}

static void make(test_corpus *corpus, thr_metric metric, thr_dtype keep, const float *rows) {
    const test_shape shape = {ITEMS, DIMS, 3, metric, keep, 0, false, 0, false};
    test_target_make(corpus, &shape, rows);
}

TEST(large_collections_equal_the_naive_answer) {
    uint64_t rng = test_seed();
    float *rows = test_new((size_t)ITEMS * DIMS, sizeof *rows), queries[4 * DIMS];
    uint64_t *filter = test_new((ITEMS + 63) / 64, sizeof *filter);
    OWNED(thr_context, context) = test_context(3, THR_ISA_BEST, NULL);
    test_gaussian(&rng, rows, (size_t)ITEMS * DIMS);
    test_gaussian(&rng, queries, 4 * DIMS);
    for (int metric = THR_METRIC_COSINE; metric <= THR_METRIC_L2; metric++) {
        test_corpus corpus;
        make(&corpus, (thr_metric)metric, metric == THR_METRIC_IP ? THR_DTYPE_NONE : THR_DTYPE_F16, rows);
        thr_search_options options = defaults();
        test_search_equals_naive(context, &corpus, queries, 4, 10, &options, "large");
        test_search_equals_naive(context, &corpus, queries, 1, 10, &options, "large, one query");
        options.n_candidates = 30000;
        test_search_equals_naive(context, &corpus, queries, 1, 500, &options, "large, many candidates");
        options = defaults();
        for (uint64_t one_in = 3; one_in <= 3000; one_in *= 31) {
            memset(filter, 0, (ITEMS + 63) / 64 * sizeof *filter);
            for (uint64_t i = 0; i < ITEMS; i++)
                if (thr_rng_below(&rng, one_in) == 0)
                    filter[i / 64] |= UINT64_C(1) << i % 64;
            options.filter = filter;
            options.filter_bits = ITEMS;
            test_search_equals_naive(context, &corpus, queries, 1, 10, &options, "large, filter");
        }
        test_target_free(&corpus);
    }
}

/* Only the sampled blocks hold good rows: the threshold from them is far too high for everything else. */
TEST(a_sample_of_only_high_scores_does_not_lose_rows) {
    uint64_t rng = test_seed();
    const uint64_t n_blocks = (ITEMS + 63) / 64;
    float *rows = test_new((size_t)ITEMS * DIMS, sizeof *rows), query[DIMS];
    OWNED(thr_context, context) = test_context(2, THR_ISA_BEST, NULL);
    test_gaussian(&rng, rows, (size_t)ITEMS * DIMS);
    test_gaussian(&rng, query, DIMS);
    for (uint64_t s = 0; s < thr_sample_blocks(n_blocks); s++) {
        const uint64_t block = thr_select_sample_place(s, thr_sample_blocks(n_blocks), n_blocks);
        for (uint64_t i = 64 * block; i < 64 * block + 64 && i < ITEMS; i++)
            for (uint64_t d = 0; d < DIMS; d++)
                rows[i * DIMS + d] = query[d] + 0.1f * rows[i * DIMS + d];
    }
    for (int metric = THR_METRIC_COSINE; metric <= THR_METRIC_L2; metric++) {
        test_corpus corpus;
        make(&corpus, (thr_metric)metric, THR_DTYPE_F32, rows);
        thr_search_options options = defaults();
        const uint64_t candidates[] = {100, 1000, 20000};
        for (size_t c = 0; c < 3; c++) {
            options.n_candidates = candidates[c];
            test_search_equals_naive(context, &corpus, query, 1, 20, &options, "high sample");
        }
        test_target_free(&corpus);
    }
}

TEST(rising_falling_and_equal_rows_equal_the_naive_answer) {
    uint64_t rng = test_seed();
    float *rows = test_new((size_t)ITEMS * DIMS, sizeof *rows), query[DIMS], noise[DIMS];
    OWNED(thr_context, context) = test_context(2, THR_ISA_BEST, NULL);
    test_gaussian(&rng, query, DIMS);
    test_gaussian(&rng, noise, DIMS);
    for (int order = 0; order < 3; order++) {
        for (uint64_t i = 0; i < ITEMS; i++) {
            const float share = order == 0 ? (float)i / ITEMS : order == 1 ? 1 - (float)i / ITEMS : 0.5f;
            for (uint64_t d = 0; d < DIMS; d++)
                rows[i * DIMS + d] = share * query[d] + (1 - share) * noise[d];
        }
        test_corpus corpus;
        make(&corpus, THR_METRIC_COSINE, THR_DTYPE_F32, rows);
        thr_search_options options = defaults();
        test_search_equals_naive(context, &corpus, query, 1, 10, &options, "ordered rows");
        options.n_candidates = 5000;
        test_search_equals_naive(context, &corpus, query, 1, 5000, &options, "ordered rows, many");
        test_target_free(&corpus);
    }
}
