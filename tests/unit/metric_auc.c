/* SPDX-License-Identifier: Apache-2.0 */
/* metric_auc.c - AUC by hand, against all pairs, and of scores that have none. */
#include "test.h"

#include <thresher/metric.h>

static double auc_of(const float *scores, const uint8_t *labels, size_t n) {
    double auc = -1;
    expect_ok(thr_auc(scores, labels, n, &auc, &err));
    return auc;
}

static void assert_equal(double a, double b) {
    if (a != b)
        fail_msg("%.17g is not %.17g", a, b);
}

TEST(pairs_in_order_count_and_equal_ones_count_half) {
    const uint8_t labels[] = {0, 1, 0, 1, 1};
    const float right[] = {1, 3, 2, 4, 5}, wrong[] = {5, 1, 4, 2, 3}, equal[] = {7, 7, 7, 7, 7};
    assert_equal(auc_of(right, labels, 5), 1);
    assert_equal(auc_of(wrong, labels, 5), 0);
    assert_equal(auc_of(equal, labels, 5), 0.5);
    const float some[] = {2, 2, 1, 3, 0}; /* pairs in order: 2 = 2, 2 > 1, 3 > 2, 3 > 1; 0 is below both */
    assert_equal(auc_of(some, labels, 5), 3.5 / 6);
    const float zeros[] = {0.0f, -0.0f};
    assert_equal(auc_of(zeros, labels, 2), 0.5);
    const float infinite[] = {-INFINITY, INFINITY, -1e38f, 1e-45f, -1e-45f};
    assert_equal(auc_of(infinite, labels, 5), 1);
}

TEST(what_has_no_auc_is_refused) {
    const float scores[] = {1, NAN, 3};
    const uint8_t mixed[] = {0, 1, 1}, good[] = {1, 1, 1}, bad[] = {0, 0, 0}, odd[] = {0, 2, 1};
    double auc = -1;
    expect_error(thr_auc(scores, mixed, 3, &auc, &err), THR_ERANGE, "score 1 is not a number");
    const float numbers[] = {1, 2, 3};
    expect_error(thr_auc(numbers, good, 3, &auc, &err), THR_EINVAL, "3 positives and 0 negatives");
    assert_int_equal(thr_auc(numbers, bad, 3, &auc, &err), THR_EINVAL);
    expect_error(thr_auc(numbers, odd, 3, &auc, &err), THR_EINVAL, "label 1 is 2");
    assert_int_equal(thr_auc(numbers, good, 0, &auc, NULL), THR_EINVAL);
    assert_int_equal(thr_auc(numbers, good, SIZE_MAX, &auc, &err), THR_ENOMEM);
    assert_equal(auc, -1);
}

RANDOM_TEST(random_scores_agree_with_all_pairs) {
    enum { MOST = 60 };
    rng = 1;
    for (int run = 0; run < 3000; run++) {
        const uint64_t seed = rng, n_values = 1 + thr_rng_below(&rng, 50);
        const size_t n = 2 + thr_rng_below(&rng, MOST - 1);
        float scores[MOST];
        uint8_t labels[MOST];
        double above = 0, pairs = 0;
        for (size_t i = 0; i < n; i++) {
            scores[i] = ((float)thr_rng_below(&rng, n_values) - 20) / 3;
            labels[i] = i == 0 || (i != 1 && thr_rng_below(&rng, 3) == 0);
        }
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                if (labels[i] == 1 && labels[j] == 0) {
                    pairs++;
                    above += scores[i] > scores[j] ? 1 : scores[i] == scores[j] ? 0.5 : 0;
                }
        const double got = auc_of(scores, labels, n);
        if (got != above / pairs)
            fail_msg("seed %llu: %g is not %g", (unsigned long long)seed, got, above / pairs);
    }
}
