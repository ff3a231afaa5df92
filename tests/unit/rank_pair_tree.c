/* SPDX-License-Identifier: Apache-2.0 */
/* rank_pair_tree.c - sums and counts over active pairs against going over pairs, for labels and scores of all kinds. */
#include "test.h"

#include "rank/solver/pair_tree.h"

enum { ROUNDS = 400, LONGEST = 150 };

/* A query: labels that ascend, scores and values. */
typedef struct query {
    thr_pair_tree tree;
    uint32_t *levels;
    double *scores, *values, *low, *high, *both, *prefixes;
    thr_scored_row *rows, *spare;
    thr_pair_counts *counts;
    bool all;
} query;

/* All of one level, few levels, many, or each row its own; one level may have most rows. */
static void draw_levels(uint64_t *rng, uint32_t n, uint32_t *levels) {
    static const uint32_t share[] = {1, 2, 5, 40, 1000};
    const uint32_t kind = (uint32_t)thr_rng_below(rng, 5);
    const bool one_is_large = thr_rng_below(rng, 4) == 0;
    levels[0] = 0;
    for (uint32_t u = 1; u < n; u++) {
        const bool within = one_is_large && u > n / 8 && u < n - n / 8;
        levels[u] = levels[u - 1] + (!within && thr_rng_below(rng, 1000) < share[kind] * 1000 / share[4] + kind * 30);
    }
}

static query make(uint64_t *rng, uint32_t n, double spread) {
    query q = {.levels = test_new(n, sizeof(uint32_t))};
    q.scores = test_new(n, sizeof(double));
    q.values = test_new(n, sizeof(double));
    q.low = test_new(n, sizeof(double));
    q.high = test_new(n, sizeof(double));
    q.both = test_new(n, sizeof(double));
    q.prefixes = test_new(n + 2, sizeof(double));
    q.rows = test_new(n, sizeof *q.rows);
    q.spare = test_new(n, sizeof *q.spare);
    q.counts = test_new(n, sizeof *q.counts);
    draw_levels(rng, n, q.levels);
    for (uint32_t u = 0; u < n; u++) {
        q.scores[u] = spread * (double)test_normal(rng);
        if (thr_rng_below(rng, 3) == 0) /* equal ones, and differences of just 1 */
            q.scores[u] = round(q.scores[u]);
        q.values[u] = (double)test_normal(rng);
    }
    size_t n_ranks = 0;
    const size_t n_nodes = thr_rank_pair_tree_shape(q.levels, n, NULL, &n_ranks);
    thr_pair_node *nodes = test_new(n_nodes + 1, sizeof *nodes);
    assert_int_equal(thr_rank_pair_tree_shape(q.levels, n, nodes, NULL), n_nodes);
    q.tree = (thr_pair_tree){.n = n,
                             .levels = q.levels,
                             .n_nodes = n_nodes,
                             .nodes = nodes,
                             .ranks = test_new(n_ranks + 1, sizeof(uint16_t)),
                             .masks = test_new(n, 1)};
    return q;
}

static void order(query *q, double margin) {
    q->tree.all = &q->all;
    for (uint32_t u = 0; u < q->tree.n; u++)
        q->rows[u] = (thr_scored_row){.score = q->scores[u], .row = u};
    thr_rank_pair_tree_order(&q->tree, q->rows, q->spare, margin, q->counts);
    thr_rank_pair_tree_sums(&q->tree, q->values, q->low, q->high, q->prefixes);
    thr_rank_pair_tree_sums(&q->tree, q->values, q->both, q->both, q->prefixes);
}

static void check_row(const query *q, double margin, uint32_t u) {
    double low = 0, high = 0, size = 0;
    thr_pair_counts counts = {0, 0};
    for (uint32_t v = 0; v < q->tree.n; v++) {
        const double *s = q->scores;
        size += fabs(q->values[v]);
        if (q->levels[v] < q->levels[u] && s[u] - s[v] < margin) {
            low += q->values[v];
            counts.low++;
        } else if (q->levels[v] > q->levels[u] && s[v] - s[u] < margin) {
            high += q->values[v];
            counts.high++;
        }
    }
    assert_case(q->counts[u].low == counts.low && q->counts[u].high == counts.high,
                "row %u of %u: %u and %u pairs, not %u and %u", u, q->tree.n, q->counts[u].low, q->counts[u].high,
                counts.low, counts.high);
    assert_case(fabs(q->low[u] - low) <= 1e-14 * size && fabs(q->high[u] - high) <= 1e-14 * size,
                "row %u of %u: %.17g and %.17g, not %.17g and %.17g", u, q->tree.n, q->low[u], q->high[u], low, high);
    assert_case(fabs(q->both[u] - (low + high)) <= 1e-14 * size, "row %u: %.17g together", u, q->both[u]);
}

RANDOM_TEST(sums_are_those_over_pairs) {
    static const double spreads[] = {0, 0.2, 1, 5}, margins[] = {1, 1, 0x1p-1074};
    for (unsigned round = 0; round < ROUNDS; round++) {
        const uint32_t n = 1 + (uint32_t)thr_rng_below(&rng, round % 3 == 0 ? 12 : LONGEST);
        query q = make(&rng, n, spreads[round % 4]);
        const double margin = margins[round % 3];
        order(&q, margin);
        assert_false(q.all);
        for (uint32_t u = 0; u < n; u++)
            check_row(&q, margin, u);
    }
}

/* Without an order, where no score is a margin above another one. */
RANDOM_TEST(all_pairs_are_sums_by_level) {
    for (unsigned round = 0; round < ROUNDS; round++) {
        const uint32_t n = 1 + (uint32_t)thr_rng_below(&rng, LONGEST);
        query q = make(&rng, n, 0);
        q.tree.all = &q.all;
        thr_rank_pair_tree_set_all_active(&q.tree, q.counts);
        assert_true(q.all);
        thr_rank_pair_tree_sums(&q.tree, q.values, q.low, q.high, q.prefixes);
        thr_rank_pair_tree_sums(&q.tree, q.values, q.both, q.both, q.prefixes);
        for (uint32_t u = 0; u < n; u++)
            check_row(&q, 1, u);
    }
}

/* Differences of infinite scores are no numbers: which pairs there are is senseless then, and nothing worse. */
RANDOM_TEST(infinite_scores_stay_within_bounds) {
    for (unsigned round = 0; round < ROUNDS; round++) {
        const uint32_t n = 1 + (uint32_t)thr_rng_below(&rng, LONGEST);
        query q = make(&rng, n, 1);
        for (uint32_t u = 0; u < n; u++)
            if (round % 2 == 0 || thr_rng_below(&rng, 3) == 0)
                q.scores[u] = thr_rng_below(&rng, 2) == 0 ? INFINITY : -INFINITY;
        order(&q, 1);
        for (uint32_t u = 0; u < n; u++)
            assert_true(q.counts[u].low <= u && q.counts[u].high < n - u);
    }
}

/* Nodes of more than 65,536 rows have wider ranks. Some rows are looked at. */
RANDOM_TEST(long_queries_have_wide_ranks) {
    const uint32_t n = 150000;
    query q = make(&rng, n, 1);
    for (unsigned kind = 0; kind < 2; kind++) {
        if (kind == 1) { /* three levels, one of them large */
            for (uint32_t u = 0; u < n; u++)
                q.levels[u] = u < 5000 ? 0 : u < 80000 ? 1 : 2;
            size_t n_ranks = 0;
            q.tree.n_nodes = thr_rank_pair_tree_shape(q.levels, n, NULL, &n_ranks);
            thr_pair_node *nodes = test_new(q.tree.n_nodes, sizeof *nodes);
            (void)thr_rank_pair_tree_shape(q.levels, n, nodes, NULL);
            q.tree.nodes = nodes;
            q.tree.ranks = test_new(n_ranks, sizeof(uint16_t));
        }
        order(&q, 1);
        for (unsigned i = 0; i < 60; i++)
            check_row(&q, 1, (uint32_t)thr_rng_below(&rng, n));
    }
}
