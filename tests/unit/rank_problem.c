/* SPDX-License-Identifier: Apache-2.0 */
/* rank_problem.c - RankSVM's function, gradient and products without pairs against sums over all pairs. */
#include "test.h"

#include "pairs.h"

#include "rank/solver/problem.h"

TEST_OWNABLE(thr_rank_problem)

enum { ROUNDS = 60 };

/* |a - b| is small beside the largest number of either. */
static void assert_close(const double *a, const double *b, uint32_t n, double relative, const char *what) {
    double largest = 0;
    for (uint32_t d = 0; d < n; d++)
        largest = fmax(largest, fmax(fabs(a[d]), fabs(b[d])));
    for (uint32_t d = 0; d < n; d++)
        assert_case(fabs(a[d] - b[d]) <= relative * largest, "%s %u: %.17g is not %.17g (largest %g)", what, d, a[d],
                    b[d], largest);
}

static double *random_vector(uint64_t *rng, uint32_t n, double scale) {
    double *v = test_new(n, sizeof *v);
    for (uint32_t d = 0; d < n; d++)
        v[d] = scale * (double)test_normal(rng);
    return v;
}

typedef struct scene {
    test_ranking *ranking;
    thr_rank_problem *problem;
    double *w, *v, *a, *b;
    uint32_t n;
} scene;

/* Some w are 0, where all scores are equal, and some large, where few pairs are active. */
static scene make_scene(thr_context *context, uint64_t *rng, test_labels labels, bool sparse) {
    scene s = {.n = 1 + (uint32_t)thr_rng_below(rng, 19)};
    do {
        const uint32_t longest = 2 + (uint32_t)thr_rng_below(rng, 130);
        const uint64_t n_queries = 1 + thr_rng_below(rng, 12);
        s.ranking = test_ranking_make(rng, n_queries, longest, s.n, labels, sparse);
    } while (test_pairs_count(s.ranking) == 0);
    expect_ok(thr_rank_problem_create(context, &s.ranking->view, NULL, &s.problem, &err));
    for (uint64_t q = 0; q < s.ranking->view.n_queries; q++)
        s.problem->costs[q] = (double)thr_rng_below(rng, 5) * 0.25;
    static const double scales[] = {0, 0.01, 0.1, 3};
    s.w = random_vector(rng, s.n, scales[thr_rng_below(rng, 4)]);
    s.v = random_vector(rng, s.n, 1);
    s.a = test_new(s.n, sizeof(double));
    s.b = test_new(s.n, sizeof(double));
    return s;
}

static void free_scene(scene *s) {
    thr_rank_problem_free(s->problem);
}

static void sweep(thr_rank_problem *problem, bool on) {
    expect_ok(thr_rank_problem_sweep(problem, on, &err));
}

static void check_scene(scene *s) {
    const double *costs = s->problem->costs;
    double diagonal[20];
    const double value = thr_rank_evaluate(s->problem, s->w, s->a, diagonal);
    const double wanted = test_pairs_value(s->ranking, costs, s->w);
    assert_case(fabs(value - wanted) <= 1e-11 * wanted, "value %.17g is not %.17g", value, wanted);
    test_pairs_gradient(s->ranking, costs, s->w, s->b);
    assert_close(s->a, s->b, s->n, 1e-10, "gradient");
    thr_rank_product(s->problem, s->v, s->a);
    test_pairs_product(s->ranking, costs, s->w, s->v, s->b);
    assert_close(s->a, s->b, s->n, 1e-10, "product");
    test_pairs_diagonal(s->ranking, costs, s->w, s->b);
    for (uint32_t d = 0; d < s->n; d++)
        assert_case(s->b[d] <= 2 * diagonal[d] * (1 + 1e-9) && diagonal[d] >= 1, "diagonal %u: %g for %g", d,
                    diagonal[d], s->b[d]);
    uint64_t n_pairs = 0;
    assert_int_equal(thr_rank_right_pairs(s->problem, s->w, NULL, &n_pairs), test_pairs_right(s->ranking, s->w));
    assert_int_equal(n_pairs, test_pairs_count(s->ranking));
}

/* By trees and by sweeps, which are set and unset between evaluations. */
RANDOM_TEST(all_is_what_sums_over_pairs_are) {
    thr_context *context = test_new_context(2);
    for (unsigned round = 0; round < ROUNDS; round++) {
        const test_labels labels = (test_labels)(round % TEST_LABELS_KINDS);
        if (labels == TEST_LABELS_EQUAL)
            continue;
        scene s = make_scene(context, &rng, labels, round / TEST_LABELS_KINDS % 2 != 0);
        for (unsigned i = 0; i < 3; i++) {
            sweep(s.problem, i == 1);
            check_scene(&s);
        }
        free_scene(&s);
    }
}

/* Where no pair changes sides between both points: f is a parabola there, and its differences are exact. */
RANDOM_TEST(gradients_and_products_are_differences) {
    thr_context *context = test_new_context(1);
    for (unsigned round = 0; round < ROUNDS; round++) {
        scene s = make_scene(context, &rng, TEST_LABELS_MIXED, round % 2 != 0);
        const double h = 1e-6;
        double slope = 0;
        double *there = test_new(s.n, sizeof *there);
        const double here = thr_rank_evaluate(s.problem, s.w, s.a, NULL);
        for (uint32_t d = 0; d < s.n; d++) {
            there[d] = s.w[d] + h * s.v[d];
            slope += s.a[d] * s.v[d];
        }
        thr_rank_product(s.problem, s.v, s.b);
        double bend = 0, size = 1;
        for (uint32_t d = 0; d < s.n; d++)
            bend += s.b[d] * s.v[d];
        const double moved = thr_rank_evaluate(s.problem, there, s.a, NULL);
        size = fmax(size, fabs(here));
        /* f(w + h v) = f + h slope + h^2 / 2 bend; a pair that turned active or not adds less than h^2 (x v)^2. */
        const double rest = moved - here - h * slope - 0.5 * h * h * bend;
        assert_case(fabs(rest) <= 1e-12 * size + h * h * fabs(bend), "rest %g of slope %g, bend %g, f %g", rest, slope,
                    bend, here);
        free_scene(&s);
    }
}

RANDOM_TEST(threads_do_not_change_bits) {
    thr_context *one = test_context(1, THR_ISA_BEST, NULL), *three = test_context(3, THR_ISA_SCALAR, NULL);
    for (unsigned round = 0; round < 6; round++) {
        test_ranking *ranking = test_ranking_make(&rng, 150, 40, 9, TEST_LABELS_MIXED, round % 2 != 0);
        double *w = random_vector(&rng, 9, 0.1), *v = random_vector(&rng, 9, 1);
        double gradients[2][9], products[2][9], diagonals[2][9], values[2];
        uint64_t n_pairs = 0, right[2];
        for (unsigned i = 0; i < 2; i++) {
            thr_rank_problem *problem;
            expect_ok(thr_rank_problem_create(i == 0 ? one : three, &ranking->view, NULL, &problem, &err));
            assert_true(problem->n_chunks > 8);
            sweep(problem, round >= 4);
            values[i] = thr_rank_evaluate(problem, w, gradients[i], diagonals[i]);
            thr_rank_product(problem, v, products[i]);
            right[i] = thr_rank_right_pairs(problem, w, NULL, &n_pairs);
            thr_rank_problem_free(problem);
        }
        assert_memory_equal(&values[0], &values[1], sizeof values[0]);
        assert_memory_equal(gradients[0], gradients[1], sizeof gradients[0]);
        assert_memory_equal(diagonals[0], diagonals[1], sizeof diagonals[0]);
        assert_memory_equal(products[0], products[1], sizeof products[0]);
        assert_int_equal(right[0], right[1]);
    }
    thr_context_free(one);
    thr_context_free(three);
}

/* One query of 3,000 rows: deep trees, and levels of a thousand rows. */
RANDOM_TEST(long_queries_are_summed_right) {
    thr_context *context = test_new_context(1);
    for (unsigned kind = TEST_LABELS_FEW; kind <= TEST_LABELS_ALL; kind++) {
        test_ranking *ranking = test_ranking_make(&rng, 1, 4500, 2, (test_labels)kind, false);
        OWNED(thr_rank_problem, problem) = NULL;
        double w[2] = {0.3, 0.01}, v[2] = {1, -1}, got[2], wanted[2];
        expect_ok(thr_rank_problem_create(context, &ranking->view, NULL, &problem, &err));
        assert_true(ranking->view.n_rows > 2048);
        sweep(problem, kind == TEST_LABELS_MANY);
        const double value = thr_rank_evaluate(problem, w, got, NULL), by_pairs = test_pairs_value(ranking, NULL, w);
        assert_case(fabs(value - by_pairs) <= 1e-11 * by_pairs, "value %.17g is not %.17g", value, by_pairs);
        test_pairs_gradient(ranking, NULL, w, wanted);
        assert_close(got, wanted, 2, 1e-10, "gradient");
        thr_rank_product(problem, v, got);
        test_pairs_product(ranking, NULL, w, v, wanted);
        assert_close(got, wanted, 2, 1e-10, "product");
    }
}

RANDOM_TEST(what_has_no_pairs_is_refused) {
    thr_context *context = test_new_context(1);
    thr_rank_problem *problem = NULL;
    test_ranking *equal = test_ranking_make(&rng, 3, 5, 2, TEST_LABELS_EQUAL, false);
    expect_error(thr_rank_problem_create(context, &equal->view, NULL, &problem, &err), THR_EINVAL,
                 "in each of the 3 queries");
    assert_null(problem);
    test_ranking *lonely = test_ranking_make(&rng, 7, 1, 2, TEST_LABELS_ALL, false);
    expect_error(thr_rank_problem_create(context, &lonely->view, NULL, &problem, &err), THR_EINVAL,
                 "each of the 7 queries has one row");
}

RANDOM_TEST(every_allocation_may_fail) {
    test_memory memory = {0};
    thr_context *context = test_context(2, THR_ISA_BEST, &memory);
    test_ranking *ranking = test_ranking_make(&rng, 5, 9, 4, TEST_LABELS_ALL, false);
    test_oom oom = test_oom_start(&memory);
    while (test_oom_next(&oom)) {
        thr_rank_problem *problem = NULL;
        test_oom_arm(&oom);
        thr_status status = thr_rank_problem_create(context, &ranking->view, NULL, &problem, &err);
        if (status == THR_OK)
            status = thr_rank_problem_sweep(problem, true, &err);
        (void)test_oom_check(&oom, status, &err, NULL);
        assert_true(status == THR_OK || problem == NULL || !problem->sweeps);
        thr_rank_problem_free(problem);
    }
    thr_context_free(context);
}
