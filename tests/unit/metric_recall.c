/* SPDX-License-Identifier: Apache-2.0 */
/* metric_recall.c - recall@k by hand, and against a naive count over random rows. */
#include "test.h"

#include <thresher/metric.h>

#define NO THR_NO_ID

static double recall_of(const uint64_t *truth, const float *scores, size_t truth_stride, const uint64_t *result,
                        size_t result_stride, size_t n_queries, size_t k) {
    double recall = -1;
    const thr_recall_rows right = {truth, scores, truth_stride}, found = {result, NULL, result_stride};
    expect_ok(thr_recall(&right, &found, n_queries, k, &recall, &err));
    return recall;
}

static void assert_close(double a, double b) {
    if (!(fabs(a - b) < 1e-12))
        fail_msg("%.17g is not %.17g", a, b);
}

TEST(the_share_found_is_averaged_over_queries) {
    uint64_t truth[] = {1, 2, 3, 4, /* */ 5, 6, 7, 8}, result[] = {3, 9, 1, 2, 99, /* */ 8, 7, 6, 5, 99};
    assert_close(recall_of(truth, NULL, 4, result, 5, 2, 1), 0);
    assert_close(recall_of(truth, NULL, 4, result, 5, 2, 2), (0 + 0) / 4.0);
    assert_close(recall_of(truth, NULL, 4, result, 5, 2, 3), (2 + 2) / 6.0);
    assert_close(recall_of(truth, NULL, 4, result, 5, 2, 4), (3 + 4) / 8.0);
    assert_close(recall_of(truth, NULL, 4, result, 5, 1, 4), 0.75);
}

TEST(a_repeated_id_counts_once) {
    uint64_t truth[] = {1, 2, 3}, result[] = {1, 1, 1};
    assert_close(recall_of(truth, NULL, 3, result, 3, 1, 3), 1 / 3.0);
}

TEST(missing_ids_are_not_found_and_not_looked_up) {
    uint64_t truth[] = {1, 2, NO, NO}, result[] = {2, NO, NO, 1}, none[] = {NO, NO, NO, NO};
    assert_close(recall_of(truth, NULL, 4, result, 4, 1, 4), 1);
    assert_close(recall_of(truth, NULL, 4, result, 4, 1, 3), 0.5);
    assert_close(recall_of(truth, NULL, 4, none, 4, 1, 4), 0);
    assert_close(recall_of(none, NULL, 4, none, 4, 1, 4), 1);
    /* A query without any true id does not count; the other decides. */
    uint64_t truths[] = {NO, NO, /* */ 1, 2}, results[] = {1, 2, /* */ 1, 3};
    assert_close(recall_of(truths, NULL, 2, results, 2, 2, 2), 0.5);
}

TEST(ties_with_the_kth_score_count_as_found) {
    uint64_t truth[] = {1, 2, 3, 4, 5};
    float scores[] = {9, 7, 7, 7, 6};
    uint64_t result[] = {1, 4}, worse[] = {1, 5}, both[] = {3, 4};
    assert_close(recall_of(truth, scores, 5, result, 2, 1, 2), 1);
    assert_close(recall_of(truth, NULL, 5, result, 2, 1, 2), 0.5);
    assert_close(recall_of(truth, scores, 5, worse, 2, 1, 2), 0.5);
    assert_close(recall_of(truth, scores, 5, both, 2, 1, 2), 1); /* as big-ann counts */
    assert_close(recall_of(truth, scores, 5, both, 2, 1, 1), 0);
    float nan[] = {NAN, NAN, NAN, NAN, NAN};
    assert_close(recall_of(truth, nan, 5, result, 2, 1, 2), 0.5);
}

TEST(impossible_arguments_are_refused) {
    uint64_t ids[4] = {0};
    const thr_recall_rows two = {ids, NULL, 2}, four = {ids, NULL, 4}, too_many = {ids, NULL, SIZE_MAX};
    double recall = 0;
    assert_int_equal(thr_recall(&four, &four, 1, 0, &recall, &err), THR_EINVAL);
    assert_int_equal(thr_recall(&four, &four, 0, 1, &recall, &err), THR_EINVAL);
    assert_int_equal(thr_recall(&two, &four, 1, 3, &recall, &err), THR_EINVAL);
    assert_int_equal(thr_recall(&four, &two, 1, 3, &recall, &err), THR_EINVAL);
    assert_int_equal(thr_recall(&too_many, &four, 1, 3, &recall, &err), THR_ENOMEM);
    assert_int_equal(thr_recall(&four, &two, 1, 3, &recall, NULL), THR_EINVAL);
}

/* One query, k by k comparisons. */
static double naive(const uint64_t *truth, const float *scores, size_t stride, const uint64_t *result, size_t k) {
    size_t n_true = 0, found = 0;
    for (size_t i = 0; i < k; i++)
        n_true += truth[i] != NO;
    for (size_t j = 0; j < k; j++) {
        bool counts = false, before = false;
        for (size_t i = 0; i < j; i++)
            before = before || result[i] == result[j];
        for (size_t i = 0; i < stride; i++)
            counts = counts || (truth[i] == result[j] && truth[i] != NO &&
                                (i < k || (scores != NULL && truth[k - 1] != NO && scores[i] == scores[k - 1])));
        found += counts && !before;
    }
    return (double)found / (double)n_true;
}

TEST(random_rows_agree_with_the_naive_count) {
    enum { STRIDE = 24, N_RUNS = 20000 };
    uint64_t seed = 1;
    for (int run = 0; run < N_RUNS; run++) {
        uint64_t before = seed, truth[STRIDE], result[STRIDE];
        float scores[STRIDE];
        size_t n_true = 1 + thr_rng_below(&seed, STRIDE), k = 1 + thr_rng_below(&seed, STRIDE);
        for (size_t i = 0; i < STRIDE; i++) {
            truth[i] = i < n_true ? i * 7 % 31 : NO; /* each id once */
            scores[i] = 100.0f - (float)(i / (1 + n_true % 4));
            result[i] = thr_rng_below(&seed, 8) == 0 ? NO : thr_rng_below(&seed, 40);
        }
        const float *use = run % 2 == 0 ? scores : NULL;
        double expected = naive(truth, use, STRIDE, result, k);
        double got = recall_of(truth, use, STRIDE, result, STRIDE, 1, k);
        if (fabs(got - expected) > 1e-12)
            fail_msg("seed %llu: %g is not %g", (unsigned long long)before, got, expected);
    }
}
