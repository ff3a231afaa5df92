/* SPDX-License-Identifier: Apache-2.0 */
/* nn_rank_loss.c - LambdaRank's loss and gradients beside a naive model in double, and the lists that make no pair. */
#include "nn/rank_loss.h"

#include "nn_support.h"

enum { MOST = 40 };

static const thr_kernels *kernels;

typedef struct problem {
    thr_rank_loss loss;
    thr_rank_list list;
    uint32_t levels[MOST];
    float values[MOST], scores[MOST], gradient[MOST];
    double discounts[MOST];
} problem;

/* ------------------------------------------------------------------------------------------------ naive model */

static size_t rank_of(const double *scores, size_t n, size_t i) {
    size_t rank = 0;
    for (size_t j = 0; j < n; j++)
        if (scores[j] > scores[i] || (scores[j] == scores[i] && j < i))
            rank++;
    return rank;
}

/* 2^p - 1, as the paper has it: lists are short. */
static double naive_gain(const problem *p, size_t i) {
    size_t worse = 0;
    for (size_t j = 0; j < p->list.n; j++)
        worse += p->levels[j] > p->levels[i];
    return pow(2, (double)worse) - 1;
}

static double naive_weight(const problem *p, const double *scores, size_t i, size_t j) {
    const size_t n = p->list.n;
    double dcg = 0, value = 0;
    for (size_t k = 0; k < n; k++) {
        dcg += naive_gain(p, k) / log2((double)k + 2);
        value = fmax(value, (double)p->values[k]);
    }
    const double places =
        fabs(1 / log2((double)rank_of(scores, n, i) + 2) - 1 / log2((double)rank_of(scores, n, j) + 2));
    const double ndcg = fabs(naive_gain(p, i) - naive_gain(p, j)) * places / dcg;
    double worth = value == 0 ? 0 : fabs((double)p->values[i] - (double)p->values[j]) / value;
    if (p->loss.value == THR_DUAL_VALUE_SWAP)
        worth *= places;
    return p->loss.loss == THR_DUAL_LOSS_NDCG ? ndcg : p->loss.loss == THR_DUAL_LOSS_SUM ? ndcg + worth : ndcg * worth;
}

/* weights: those at some scores, frozen. */
static double naive_loss(const problem *p, const double *weights, const double *scores) {
    double sum = 0;
    for (size_t i = 0; i < p->list.n; i++)
        for (size_t j = 0; j < p->list.n; j++)
            if (p->levels[i] < p->levels[j])
                sum += log1p(exp(-(scores[i] - scores[j]))) * weights[i * MOST + j];
    return sum;
}

/* ------------------------------------------------------------------------------------------------ the same */

static void make(problem *p, size_t n, uint64_t ties, uint64_t *rng) {
    thr_nn_rank_discounts(p->discounts, MOST);
    p->list = (thr_rank_list){n, p->levels, p->values};
    p->loss.discounts = p->discounts;
    for (size_t i = 0; i < n; i++) {
        p->levels[i] = i == 0 ? 0 : p->levels[i - 1] + (thr_rng_below(rng, 100) >= ties);
        p->values[i] = (float)thr_rng_below(rng, 300);
        p->scores[i] = thr_rng_below(rng, 4) == 0 && i > 0 ? p->scores[i - 1] : 3 * test_normal(rng);
    }
}

static double run(problem *p) {
    double scratch[6 * MOST];
    assert_true(thr_nn_rank_loss_scratch(p->list.n) <= COUNT_OF(scratch));
    memset(scratch, 0xff, sizeof scratch);
    memset(p->gradient, 0xff, sizeof p->gradient);
    const double loss = thr_nn_rank_loss_run(kernels, &p->loss, &p->list, p->scores, p->gradient, scratch);
    memset(scratch, 0xff, sizeof scratch);
    assert_true(thr_nn_rank_loss_run(kernels, &p->loss, &p->list, p->scores, NULL, scratch) == loss || isnan(loss));
    return loss;
}

static void check(problem *p) {
    static double weights[MOST * MOST];
    double scores[MOST], total = 0;
    for (size_t i = 0; i < p->list.n; i++)
        scores[i] = (double)p->scores[i];
    for (size_t i = 0; i < p->list.n; i++)
        for (size_t j = 0; j < p->list.n; j++)
            if (p->levels[i] < p->levels[j]) {
                weights[i * MOST + j] = naive_weight(p, scores, i, j);
                total += weights[i * MOST + j];
            }
    const double want = naive_loss(p, weights, scores), got = run(p);
    assert_case(fabs(got - want) <= 1e-6 * want + 1e-12, "seed %llu: loss %.12g, should be %.12g",
                (unsigned long long)test_seed(), got, want);
    double sum = 0;
    for (size_t i = 0; i < p->list.n; i++) {
        const double h = 1e-6, x = scores[i];
        scores[i] = x + h;
        const double above = naive_loss(p, weights, scores);
        scores[i] = x - h;
        const double below = naive_loss(p, weights, scores);
        scores[i] = x;
        const double slope = (above - below) / (2 * h);
        assert_case(fabs((double)p->gradient[i] - slope) <= 1e-6 * total + 1e-8,
                    "seed %llu: gradient %zu of %zu is %.9g, should be %.9g", (unsigned long long)test_seed(), i,
                    p->list.n, (double)p->gradient[i], slope);
        sum += (double)p->gradient[i];
    }
    assert_true(fabs(sum) <= 1e-6 * total + 1e-12); /* what one ad gains others lose */
}

RANDOM_TEST(loss_and_gradients_are_the_naive_models) {
    problem p = {0};
    for (int round = 0; round < 300; round++) {
        p.loss.loss = (thr_dual_loss)(round % 3);
        p.loss.value = (thr_dual_value)(round / 3 % 2);
        make(&p, 1 + (size_t)thr_rng_below(&rng, MOST), (uint64_t)(round % 5) * 24, &rng);
        check(&p);
    }
}

TEST(discounts_are_those_of_dcg) {
    double discounts[1000];
    thr_nn_rank_discounts(discounts, 1000);
    assert_true(discounts[0] == 1.0);
    for (size_t r = 0; r < 1000; r++)
        assert_true(fabs(discounts[r] - 1 / log2((double)r + 2)) <= 1e-15);
}

RANDOM_TEST(lists_without_a_better_ad_have_no_loss) {
    problem p = {0};
    for (size_t n = 0; n <= MOST; n += 13) {
        make(&p, n, 100, &rng); /* all of one level */
        assert_true(run(&p) == 0);
        for (size_t i = 0; i < n; i++)
            assert_true(p.gradient[i] == 0);
    }
    make(&p, 1, 0, &rng);
    assert_true(run(&p) == 0 && p.gradient[0] == 0);
}

RANDOM_TEST(without_values_a_product_is_nothing_and_a_sum_is_ndcg) {
    problem p = {0};
    make(&p, 20, 30, &rng);
    const double plain = run(&p);
    p.list.values = NULL;
    for (int round = 0; round < 2; round++) {
        p.loss.loss = THR_DUAL_LOSS_PRODUCT;
        assert_true(run(&p) == 0);
        p.loss.loss = THR_DUAL_LOSS_SUM;
        assert_true(run(&p) == plain);
        memset(p.values, 0, sizeof p.values); /* zeros are as good as none */
        p.list.values = p.values;
    }
}

/* What the request's values are measured in does not matter. */
RANDOM_TEST(values_count_by_their_share_of_the_largest) {
    problem p = {.loss = {.loss = THR_DUAL_LOSS_SUM}};
    make(&p, 25, 30, &rng);
    const double loss = run(&p);
    for (size_t i = 0; i < 25; i++)
        p.values[i] *= 1024;
    assert_true(run(&p) == loss);
}

/* Gains of as many ads would be 2^3999 as the paper writes them; scores may be far apart. */
TEST(long_lists_and_large_scores_stay_finite) {
    const size_t n_ads = 4000;
    double *discounts = test_new(n_ads, sizeof *discounts),
           *scratch = test_new(thr_nn_rank_loss_scratch(n_ads), sizeof *scratch);
    uint32_t *levels = test_new(n_ads, sizeof *levels);
    float *scores = test_new(n_ads, sizeof *scores), *gradient = test_new(n_ads, sizeof *gradient);
    thr_nn_rank_discounts(discounts, n_ads);
    for (uint32_t i = 0; i < n_ads; i++) {
        levels[i] = i;
        scores[i] = (float)i * 1e3f;
    }
    const thr_rank_loss loss = {.discounts = discounts};
    const thr_rank_list list = {n_ads, levels, NULL};
    const double worst = thr_nn_rank_loss_run(kernels, &loss, &list, scores, gradient, scratch);
    assert_true(isfinite(worst) && worst > 1e3);
    assert_true(gradient[0] < 0 && gradient[n_ads - 1] > 0);
    for (size_t i = 0; i < n_ads; i++) {
        assert_true(isfinite(gradient[i]));
        scores[i] = -scores[i];
    }
    assert_true(thr_nn_rank_loss_run(kernels, &loss, &list, scores, gradient, scratch) < 1e-30);
    scores[1] = NAN;
    assert_true(!isfinite(thr_nn_rank_loss_run(kernels, &loss, &list, scores, gradient, scratch)));
    scores[1] = INFINITY;
    assert_true(!isfinite(thr_nn_rank_loss_run(kernels, &loss, &list, scores, gradient, scratch)));
}

TEST_AT_START {
    kernels = thr_kernels_get(thr_kernel_isa_best());
}
