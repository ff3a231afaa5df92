/* SPDX-License-Identifier: Apache-2.0 */
/* hits_search.c - the best items by features, bids and filters are those of a naive model, to the bit. */
#include "hits_naive.h"

static unsigned long long seed(void) {
    return (unsigned long long)test_seed();
}

static void check(thr_context *context, const hits_problem *p, const thr_lists_corpus *target) {
    static const size_t ks[] = {1, 10, 300, 100000};
    const size_t n_items = (size_t)p->catalogue.items.n_items;
    thr_candidate *all = test_new(n_items, sizeof *all);
    const size_t n_all = hits_naive_search(context, p, target, all);
    thr_lists_search *search = NULL;
    expect_ok(thr_lists_search_create(context, &search, &err));
    for (size_t i = 0; i < COUNT_OF(ks); i++) {
        thr_lists_found found = {.n = 0};
        expect_ok(hits_search_problem(search, target, p, ks[i], &found, &err));
        const size_t n = found.n;
        assert_int_equal(n, ks[i] < n_all ? ks[i] : n_all);
        assert_true(found.n_unknown >= 3);
        for (size_t j = 0; j < n; j++)
            assert_case(found.items[j].row == all[j].row && hits_same_bits(found.items[j].score, all[j].score),
                        "seed %llu, k %zu: number %zu is row %llu with %.9g, should be %llu with %.9g", seed(), ks[i],
                        j, (unsigned long long)found.items[j].row, (double)found.items[j].score,
                        (unsigned long long)all[j].row, (double)all[j].score);
    }
    thr_lists_search_free(search);
}

static const struct {
    uint64_t n_items;
    uint32_t n_features;
} SHAPES[] = {{1, 1}, {63, 9}, {257, 16}, {3000, 40}, {300000, 9}};
enum { N_SHAPES = COUNT_OF(SHAPES) };

TEST(the_best_are_the_naive_ones) {
    uint64_t rng = test_seed();
    for (size_t s = 0; s < N_SHAPES; s++) {
        OWNED(thr_context, context) = test_context((uint32_t)s % 3 + 1, THR_ISA_BEST, NULL);
        hits_problem p = hits_make_problem(context, SHAPES[s].n_items, SHAPES[s].n_features, &rng);
        hits_numbers x = hits_draw_numbers(SHAPES[s].n_items, &rng);
        for (int kind = 0; kind < 16; kind += s < 4 ? 1 : 5) {
            const thr_lists_corpus target = {.lists = &p.built.lists,
                                             .value = (kind & 1) != 0 ? THR_HITS_VALUE_SIGMOID : THR_HITS_VALUE_SUM,
                                             .multipliers = (kind & 2) != 0 ? x.multipliers : NULL,
                                             .offsets = (kind & 4) != 0 ? x.offsets : NULL,
                                             .filter = (kind & 8) != 0 ? x.filter : NULL};
            check(context, &p, &target);
        }
        hits_free_problem(context, &p);
    }
}

TEST(a_value_that_is_not_finite_is_refused) {
    uint64_t rng = test_seed() + 1;
    hits_problem p = hits_make_problem(*state, 3000, 8, &rng);
    hits_numbers x = hits_draw_numbers(3000, &rng);
    thr_lists_corpus target = {.lists = &p.built.lists, .multipliers = x.multipliers};
    thr_lists_search *search = NULL;
    thr_lists_found found = {.n = 0};
    x.multipliers[2000] = NAN;
    x.multipliers[1234] = INFINITY;
    x.filter[1234 / 64] |= UINT64_C(1) << 1234 % 64;
    expect_ok(thr_lists_search_create(*state, &search, &err));
    p.weights[0] = 5; /* all items have it */
    expect_error(hits_search_problem(search, &target, &p, 5, &found, &err), THR_ERANGE,
                 "the value of row 1234 is not finite");
    target.filter = x.filter;
    x.filter[1234 / 64] &= ~(UINT64_C(1) << 1234 % 64);
    x.filter[2000 / 64] &= ~(UINT64_C(1) << 2000 % 64);
    expect_ok(hits_search_problem(search, &target, &p, 5, &found, &err));
    assert_int_equal(found.n, 5);
    thr_lists_search_free(search);
    hits_free_problem(*state, &p);
}

TEST(nothing_is_allocated_after_the_first_search) {
    uint64_t rng = test_seed() + 2;
    test_memory memory = {0};
    thr_context *context = test_context(2, THR_ISA_BEST, &memory);
    hits_problem p = hits_make_problem(context, 50000, 16, &rng);
    const thr_lists_corpus target = {.lists = &p.built.lists};
    thr_lists_search *search = NULL;
    thr_lists_found found;
    size_t calls = 0;
    expect_ok(thr_lists_search_create(context, &search, &err));
    for (int times = 0; times < 4; times++) {
        calls = atomic_load(&memory.calls);
        expect_ok(hits_search_problem(search, &target, &p, 50, &found, &err));
        assert_true(times == 0 || atomic_load(&memory.calls) == calls);
    }
    thr_lists_search_free(search);
    hits_free_problem(context, &p);
    thr_context_free(context);
    assert_int_equal(atomic_load(&memory.live), 0);
}

TEST_IN_CONTEXT(3, NULL)
