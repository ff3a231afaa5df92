/* SPDX-License-Identifier: Apache-2.0 */
/* lists_query.c - what a query adds to items beside a naive sum in double, in any order and any windows. */
#include "hits_support.h"

#include "lists/add_up.h"

static unsigned long long seed(void) {
    return (unsigned long long)test_seed();
}

/* All sums, in passes of n_windows that each look up where they begin, on the best level or the scalar one. */
static int32_t *add_up(thr_context *context, const thr_lists_query *query, uint32_t n_windows) {
    const thr_kernels *kernels = thr_kernels_get(n_windows % 2 == 0 ? THR_ISA_SCALAR : thr_kernel_isa_best());
    const uint32_t n = thr_lists_n_windows(query->lists);
    int32_t *sums = test_new((size_t)n * THR_LISTS_WINDOW, sizeof *sums);
    thr_lists_pass *pass = test_new(1, sizeof *pass);
    for (uint32_t window = 0; window < n; window++) {
        if (window % n_windows == 0)
            expect_ok(thr_lists_pass_start(context, pass, query, &err));
        memcpy(sums + (size_t)window * THR_LISTS_WINDOW, thr_lists_pass_window(kernels, pass, window),
               sizeof pass->sums);
    }
    thr_lists_pass_free(context, pass);
    return sums;
}

static double naive_sum(const hits_problem *p, uint64_t item) {
    const hits_catalogue *c = &p->catalogue;
    double sum = 0;
    for (size_t i = 0; i < p->n; i++)
        if (p->features[i] % HITS_STEP == 0 && c->has[item * c->n_features + p->features[i] / HITS_STEP] != 0)
            sum += p->weights == NULL ? 1 : (double)p->weights[i];
    return sum;
}

static const struct {
    uint64_t n_items;
    uint32_t n_features;
} SHAPES[] = {{1, 1}, {255, 9}, {256, 16}, {3000, 40}, {140000, 17}};
enum { N_SHAPES = COUNT_OF(SHAPES) };

TEST(sums_are_the_naive_ones_to_half_a_unit_a_feature) {
    uint64_t rng = test_seed();
    for (size_t s = 0; s < N_SHAPES; s++) {
        hits_problem p = hits_make_problem(*state, SHAPES[s].n_items, SHAPES[s].n_features, &rng);
        thr_lists_query query = {0};
        double total = 0;
        expect_ok(thr_lists_query_make(*state, &p.built.lists, p.features, p.weights, p.n, &query, &err));
        for (size_t i = 0; i < p.n; i++)
            total += fabs((double)p.weights[i]);
        assert_true(query.unit <= ldexp(total, -29));
        assert_true(query.n_unknown >= 3);
        int32_t *sums = add_up(*state, &query, 1);
        for (uint64_t i = 0; i < SHAPES[s].n_items; i++) {
            const double sum = (double)sums[i] * query.unit, right = naive_sum(&p, i);
            assert_case(fabs(sum - right) <= query.unit * (double)p.n * 0.51, "seed %llu: item %llu: %.12g, not %.12g",
                        seed(), (unsigned long long)i, sum, right);
        }
        thr_lists_query_free(*state, &query);
        hits_free_problem(*state, &p);
    }
}

TEST(windows_and_the_order_of_features_change_nothing) {
    uint64_t rng = test_seed() + 1;
    hits_problem p = hits_make_problem(*state, 200000, 33, &rng);
    thr_lists_query query = {0};
    expect_ok(thr_lists_query_make(*state, &p.built.lists, p.features, p.weights, p.n, &query, &err));
    int32_t *sums = add_up(*state, &query, 1);
    for (uint32_t window = 2; window < 7; window++) {
        for (size_t i = p.n - 1; i > 0; i--) {
            const size_t j = (size_t)thr_rng_below(&rng, i + 1);
            const uint32_t feature = p.features[i];
            const float weight = p.weights[i];
            p.features[i] = p.features[j];
            p.weights[i] = p.weights[j];
            p.features[j] = feature;
            p.weights[j] = weight;
        }
        expect_ok(thr_lists_query_make(*state, &p.built.lists, p.features, p.weights, p.n, &query, &err));
        int32_t *again = add_up(*state, &query, window);
        assert_memory_equal(again, sums, 200000 * sizeof *sums);
    }
    thr_lists_query_free(*state, &query);
    hits_free_problem(*state, &p);
}

TEST(without_weights_hits_are_counted) {
    uint64_t rng = test_seed() + 2;
    hits_problem p = hits_make_problem(*state, 3000, 12, &rng);
    thr_lists_query query = {0};
    p.weights = NULL;
    expect_ok(thr_lists_query_make(*state, &p.built.lists, p.features, NULL, p.n, &query, &err));
    int32_t *sums = add_up(*state, &query, 2);
    for (uint64_t i = 0; i < 3000; i++)
        assert_true((double)sums[i] * query.unit == naive_sum(&p, i));
    thr_lists_query_free(*state, &query);
    hits_free_problem(*state, &p);
}

/* The largest and the smallest numbers there are, and all of them at once, fit the integers. */
TEST(weights_of_any_size_fit) {
    uint64_t rng = test_seed() + 3;
    static const float sizes[] = {3.4e38f, 1e-45f, 1.0f};
    hits_problem p = hits_make_problem(*state, 600, 24, &rng);
    for (size_t s = 0; s < COUNT_OF(sizes); s++) {
        thr_lists_query query = {0};
        for (size_t i = 0; i < p.n; i++)
            p.weights[i] = sizes[s];
        expect_ok(thr_lists_query_make(*state, &p.built.lists, p.features, p.weights, p.n, &query, &err));
        int32_t *sums = add_up(*state, &query, 3);
        for (uint64_t i = 0; i < 600; i++)
            assert_true(fabs((double)sums[i] * query.unit / naive_sum(&p, i) - 1) < 1e-6);
        thr_lists_query_free(*state, &query);
    }
    hits_free_problem(*state, &p);
}

TEST(a_query_of_nothing_adds_nothing) {
    uint64_t rng = test_seed() + 4;
    hits_problem p = hits_make_problem(*state, 300, 4, &rng);
    thr_lists_query query = {0};
    const uint32_t features[] = {1, 0};
    const float zeros[] = {0, 0};
    expect_ok(thr_lists_query_make(*state, &p.built.lists, features, zeros, 0, &query, &err));
    assert_true(thr_lists_query_n_terms(&query) == 0 && query.n_unknown == 0);
    expect_ok(thr_lists_query_make(*state, &p.built.lists, features, zeros, 2, &query, &err));
    assert_true(thr_lists_query_n_terms(&query) == 0 && query.n_unknown == 1);
    thr_lists_query_free(*state, &query);
    hits_free_problem(*state, &p);
}

TEST(what_is_no_weight_is_refused) {
    uint64_t rng = test_seed() + 5;
    hits_problem p = hits_make_problem(*state, 300, 4, &rng);
    thr_lists_query query = {0};
    p.weights[2] = NAN;
    expect_error(thr_lists_query_make(*state, &p.built.lists, p.features, p.weights, p.n, &query, &err), THR_ERANGE,
                 "feature 6 of a query weighs");
    p.weights[2] = -INFINITY;
    expect_error(thr_lists_query_make(*state, &p.built.lists, p.features, p.weights, p.n, &query, &err), THR_ERANGE,
                 "weighs -inf");
    expect_error(
        thr_lists_query_make(*state, &p.built.lists, p.features, NULL, THR_HITS_MAX_FEATURES + 1, &query, &err),
        THR_EINVAL, "a query has 1048577 features");
    hits_free_problem(*state, &p);
}

TEST_IN_CONTEXT(3, NULL)
