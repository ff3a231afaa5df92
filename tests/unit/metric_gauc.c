/* SPDX-License-Identifier: Apache-2.0 */
/* metric_gauc.c - GAUC and the recall of the best ad, by hand and beside naive models. */
#include "test.h"
#include "metric/gauc.h"

#include <thresher/metric.h>

static void assert_close(double a, double b) {
    if (!(fabs(a - b) <= 1e-12))
        fail_msg("%.17g is not %.17g", a, b);
}

static double gauc_of(const thr_ranked *ranked) {
    double gauc = -1;
    expect_ok(thr_metric_gauc(ranked, &gauc, &err));
    return gauc;
}

static double recall_of(const thr_ranked *ranked, size_t g, double *by_value) {
    double recall = -1;
    expect_ok(thr_metric_top_recall(ranked, g, &recall, by_value, &err));
    return recall;
}

TEST(the_best_ad_against_the_others_of_its_request) {
    const uint64_t offsets[] = {0, 4, 7, 8, 8};
    const float scores[] = {3, 1, 4, 2, /* two of three below */ 5, 5, 5, /* equal */ 9 /* alone; then none */};
    const float values[] = {2, 0, 0, 0, 6, 1, 1, 100};
    const thr_ranked ranked = {.n_requests = 4, .offsets = offsets, .scores = scores, .values = values};
    double by_value = -1;
    assert_close(gauc_of(&ranked), (2.0 / 3 + 0.5) / 2);
    assert_close(recall_of(&ranked, 1, &by_value), (0 + 1.0 / 3) / 2);
    assert_close(by_value, (0 * 2 + 6.0 / 3) / 8);
    assert_close(recall_of(&ranked, 2, &by_value), (1 + 2.0 / 3) / 2);
    assert_close(by_value, (2 + 4.0) / 8);
    assert_close(recall_of(&ranked, 3, NULL), 1);
    assert_close(recall_of(&ranked, 1000, NULL), 1);
}

TEST(the_order_of_the_list_helps_nobody) {
    enum { N = 30 };
    const uint64_t offsets[] = {0, N};
    const float scores[N] = {0};
    const thr_ranked ranked = {.n_requests = 1, .offsets = offsets, .scores = scores};
    assert_close(gauc_of(&ranked), 0.5);
    assert_close(recall_of(&ranked, 5, NULL), 5.0 / N);
}

TEST(several_best_ads_share_a_request) {
    const uint64_t offsets[] = {0, 4};
    const uint32_t n_best[] = {2};
    const float scores[] = {4, 1, 2, 3}, values[] = {1, 3, 0, 0}, none[4] = {0};
    thr_ranked ranked = {.n_requests = 1, .offsets = offsets, .scores = scores, .n_best = n_best, .values = values};
    double by_value = -1;
    assert_close(gauc_of(&ranked), 0.5); /* one above both others, one below both */
    assert_close(recall_of(&ranked, 1, &by_value), 0.5);
    assert_close(by_value, 0.25);
    ranked.values = none;
    assert_close(recall_of(&ranked, 1, &by_value), 0.5);
    assert_true(isnan(by_value));
}

TEST(what_cannot_be_judged_is_refused) {
    const uint64_t offsets[] = {0, 2}, back[] = {2, 0}, alone[] = {0, 1};
    const uint32_t too_many[] = {3}, none[] = {0}, all[] = {2};
    const float scores[] = {1, 2}, odd[] = {1, NAN}, values[] = {1, -1}, huge[] = {INFINITY, 1};
    double out = -1;
#define REFUSED(status, words, ...)                                                                                    \
    do {                                                                                                               \
        const thr_ranked ranked = {.n_requests = 1, __VA_ARGS__};                                                      \
        assert_int_equal(thr_metric_gauc(&ranked, &out, &err), status);                                                \
        assert_non_null(strstr(err.text, words));                                                                      \
        assert_int_equal(thr_metric_top_recall(&ranked, 1, &out, NULL, &err), status);                                 \
    } while (0)
    REFUSED(THR_EINVAL, "none of 1 requests", .offsets = alone, .scores = scores);
    REFUSED(THR_EINVAL, "none of 1 requests", .offsets = offsets, .scores = scores, .n_best = all);
    REFUSED(THR_EINVAL, "before its first", .offsets = back, .scores = scores);
    REFUSED(THR_EINVAL, "3 best ads of 2", .offsets = offsets, .scores = scores, .n_best = too_many);
    REFUSED(THR_EINVAL, "0 best ads of 2", .offsets = offsets, .scores = scores, .n_best = none);
    REFUSED(THR_ERANGE, "score 1 is not a number", .offsets = offsets, .scores = odd);
    REFUSED(THR_ERANGE, "value 1 is -1", .offsets = offsets, .scores = scores, .values = values);
    REFUSED(THR_ERANGE, "value 0 is inf", .offsets = offsets, .scores = scores, .values = huge);
    const thr_ranked good = {.n_requests = 1, .offsets = offsets, .scores = scores};
    assert_int_equal(thr_metric_top_recall(&good, 0, &out, NULL, &err), THR_EINVAL);
    const thr_ranked empty = {.n_requests = 0, .offsets = offsets, .scores = scores};
    assert_int_equal(thr_metric_gauc(&empty, &out, NULL), THR_EINVAL);
    assert_close(out, -1);
}

/* All pairs; and for the recall all places that ads of equal scores may have. */
static double naive_auc(const float *scores, size_t n, size_t n_best) {
    double sum = 0;
    for (size_t i = 0; i < n_best; i++)
        for (size_t j = n_best; j < n; j++)
            sum += scores[i] > scores[j] ? 1 : scores[i] == scores[j] ? 0.5 : 0;
    return sum / (double)(n_best * (n - n_best));
}

static double naive_chance(const float *scores, size_t n, size_t i, size_t g) {
    size_t first = 0, equal = 0, inside = 0;
    for (size_t j = 0; j < n; j++) {
        first += scores[j] > scores[i];
        equal += scores[j] == scores[i];
    }
    for (size_t place = first; place < first + equal; place++)
        inside += place < g;
    return (double)inside / (double)equal;
}

RANDOM_TEST(random_requests_agree_with_naive_models) {
    enum { REQUESTS = 40, MOST = 12 };
    rng = 1;
    for (int run = 0; run < 300; run++) {
        const uint64_t seed = rng;
        uint64_t offsets[REQUESTS + 1] = {0};
        uint32_t n_best[REQUESTS];
        float scores[REQUESTS * MOST], values[REQUESTS * MOST];
        double auc = 0, recall = 0, value = 0, all_value = 0;
        const size_t g = 1 + (size_t)thr_rng_below(&rng, MOST);
        for (size_t r = 0; r < REQUESTS; r++) {
            const size_t n = 2 + (size_t)thr_rng_below(&rng, MOST - 1), first = (size_t)offsets[r];
            n_best[r] = 1 + (uint32_t)thr_rng_below(&rng, n - 1);
            offsets[r + 1] = first + n;
            for (size_t i = first; i < first + n; i++) {
                scores[i] = (float)thr_rng_below(&rng, 6);
                values[i] = (float)thr_rng_below(&rng, 4);
            }
            auc += naive_auc(scores + first, n, n_best[r]) / REQUESTS;
            for (size_t i = 0; i < n_best[r]; i++) {
                const double share = 1.0 / n_best[r], chance = naive_chance(scores + first, n, i, g);
                recall += share * chance / REQUESTS;
                value += share * (double)values[first + i] * chance;
                all_value += share * (double)values[first + i];
            }
        }
        const thr_ranked ranked = {REQUESTS, offsets, scores, n_best, values};
        double by_value = -1;
        if (fabs(gauc_of(&ranked) - auc) > 1e-12 || fabs(recall_of(&ranked, g, &by_value) - recall) > 1e-12 ||
            (all_value > 0 && fabs(by_value - value / all_value) > 1e-12))
            fail_msg("seed %llu: other than the naive models", (unsigned long long)seed);
    }
}
