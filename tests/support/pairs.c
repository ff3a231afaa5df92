/* SPDX-License-Identifier: Apache-2.0 */
#include "pairs.h"

/* ------------------------------------------------------------------------------------------------ rankings */

static double label_of(uint64_t *rng, test_labels labels, uint32_t row) {
    switch (labels) {
    case TEST_LABELS_FEW:
        return (double)thr_rng_below(rng, 3);
    case TEST_LABELS_MANY:
        return (double)thr_rng_below(rng, 100) * 0.5 - 20;
    case TEST_LABELS_ALL:
        return (double)thr_rng_next(rng) + row;
    default:
        return 4;
    }
}

static float value_of(uint64_t *rng, uint32_t feature) {
    if (thr_rng_below(rng, 3) == 0)
        return 0;
    const float x = test_normal(rng);
    return feature % 4 == 1 ? 30 * x + 100 : feature % 4 == 2 ? 0.01f * x : x;
}

/* Draw a row's features, dense and sparse, which begin at entry `entry`. Returns where the next row's begin. */
static uint64_t draw_row(uint64_t *rng, test_ranking *ranking, uint64_t row, uint32_t n_features, uint64_t entry) {
    const bool copy = row > 0 && thr_rng_below(rng, 6) == 0; /* equal scores */
    for (uint32_t d = 0; d < n_features; d++) {
        const float x = copy ? ranking->dense[(row - 1) * n_features + d] : value_of(rng, d);
        ranking->dense[row * n_features + d] = x;
        ranking->columns[entry] = d;
        ranking->values[entry] = x;
        entry += x != 0;
    }
    return entry;
}

test_ranking *test_ranking_make(uint64_t *rng, uint64_t n_queries, uint32_t longest, uint32_t n_features,
                                test_labels labels, bool sparse) {
    test_ranking *ranking = test_new(1, sizeof *ranking);
    const size_t most = (size_t)n_queries * longest;
    ranking->offsets = test_new(n_queries + 1, sizeof(uint64_t));
    ranking->queries = test_new(n_queries, sizeof(uint64_t));
    ranking->labels = test_new(most, sizeof(double));
    ranking->dense = test_new(most * n_features, sizeof(float));
    ranking->starts = test_new(most + 1, sizeof(uint64_t));
    ranking->columns = test_new(most * n_features, sizeof(uint32_t));
    ranking->values = test_new(most * n_features, sizeof(float));
    uint64_t row = 0, entry = 0;
    for (uint64_t q = 0; q < n_queries; q++) {
        const test_labels kind =
            labels == TEST_LABELS_MIXED ? (test_labels)thr_rng_below(rng, TEST_LABELS_MIXED) : labels;
        const bool one = labels == TEST_LABELS_MIXED && thr_rng_below(rng, 5) == 0;
        const uint64_t n = one ? 1 : longest - thr_rng_below(rng, longest / 2 + 1);
        ranking->queries[q] = q;
        for (uint64_t end = row + n; row < end; row++) {
            ranking->labels[row] = label_of(rng, kind, (uint32_t)row);
            entry = draw_row(rng, ranking, row, n_features, entry);
            ranking->starts[row + 1] = entry;
        }
        ranking->offsets[q + 1] = row;
    }
    ranking->view = (thr_ranking_view){.n_rows = row,
                                       .n_queries = n_queries,
                                       .n_features = n_features,
                                       .has_queries = true,
                                       .offsets = ranking->offsets,
                                       .queries = ranking->queries,
                                       .labels = ranking->labels};
    if (sparse)
        ranking->view.sparse = (thr_csr){.starts = ranking->starts,
                                         .columns = ranking->columns,
                                         .values = ranking->values,
                                         .n_rows = row,
                                         .n_columns = n_features};
    else
        ranking->view.dense = ranking->dense;
    return ranking;
}

double test_feature(const test_ranking *ranking, uint64_t row, uint32_t feature) {
    return (double)ranking->dense[row * ranking->view.n_features + feature];
}

/* ------------------------------------------------------------------------------------------------ pairs */

typedef struct pair {
    uint64_t better, worse;
    double cost, slack; /* 1 - w (x_i - x_j) */
} pair;

static double difference(const test_ranking *ranking, const pair *p, const double *v) {
    double sum = 0;
    for (uint32_t d = 0; d < ranking->view.n_features; d++)
        sum += v[d] * (test_feature(ranking, p->better, d) - test_feature(ranking, p->worse, d));
    return sum;
}

/* fn for every pair of costs above 0, and its slack; costs NULL: 1. */
typedef void (*pair_fn)(const test_ranking *ranking, const pair *p, void *arg);
static void over_pairs(const test_ranking *ranking, const double *costs, const double *w, pair_fn fn, void *arg) {
    const thr_ranking_view *view = &ranking->view;
    for (uint64_t q = 0; q < view->n_queries; q++)
        for (uint64_t i = view->offsets[q]; i < view->offsets[q + 1]; i++)
            for (uint64_t j = view->offsets[q]; j < view->offsets[q + 1]; j++) {
                pair p = {.better = i, .worse = j, .cost = costs != NULL ? costs[q] : 1};
                if (!(view->labels[i] > view->labels[j]) || !(p.cost > 0))
                    continue;
                p.slack = 1 - difference(ranking, &p, w);
                fn(ranking, &p, arg);
            }
}

typedef struct sums {
    double value;
    const double *v;
    double *out;
    uint64_t n, n_right;
} sums;

static void add_value(const test_ranking *ranking, const pair *p, void *arg) {
    (void)ranking;
    sums *s = arg;
    if (p->slack > 0)
        s->value += p->cost * p->slack * p->slack;
}

static void add_gradient(const test_ranking *ranking, const pair *p, void *arg) {
    sums *s = arg;
    for (uint32_t d = 0; d < ranking->view.n_features && p->slack > 0; d++)
        s->out[d] -=
            2 * p->cost * p->slack * (test_feature(ranking, p->better, d) - test_feature(ranking, p->worse, d));
}

static void add_product(const test_ranking *ranking, const pair *p, void *arg) {
    sums *s = arg;
    const double along = p->slack > 0 ? 2 * p->cost * difference(ranking, p, s->v) : 0;
    for (uint32_t d = 0; d < ranking->view.n_features && p->slack > 0; d++)
        s->out[d] += along * (test_feature(ranking, p->better, d) - test_feature(ranking, p->worse, d));
}

static void add_diagonal(const test_ranking *ranking, const pair *p, void *arg) {
    sums *s = arg;
    for (uint32_t d = 0; d < ranking->view.n_features && p->slack > 0; d++) {
        const double x = test_feature(ranking, p->better, d) - test_feature(ranking, p->worse, d);
        s->out[d] += 2 * p->cost * x * x;
    }
}

static void count(const test_ranking *ranking, const pair *p, void *arg) {
    sums *s = arg;
    (void)ranking;
    s->n++;
    s->n_right += p->slack < 1;
}

double test_pairs_value(const test_ranking *ranking, const double *costs, const double *w) {
    sums s = {.value = 0};
    for (uint32_t d = 0; d < ranking->view.n_features; d++)
        s.value += 0.5 * w[d] * w[d];
    over_pairs(ranking, costs, w, add_value, &s);
    return s.value;
}

void test_pairs_gradient(const test_ranking *ranking, const double *costs, const double *w, double *gradient) {
    memcpy(gradient, w, ranking->view.n_features * sizeof *w);
    over_pairs(ranking, costs, w, add_gradient, &(sums){.out = gradient});
}

void test_pairs_product(const test_ranking *ranking, const double *costs, const double *w, const double *v,
                        double *product) {
    memcpy(product, v, ranking->view.n_features * sizeof *v);
    over_pairs(ranking, costs, w, add_product, &(sums){.out = product, .v = v});
}

void test_pairs_diagonal(const test_ranking *ranking, const double *costs, const double *w, double *diagonal) {
    for (uint32_t d = 0; d < ranking->view.n_features; d++)
        diagonal[d] = 1;
    over_pairs(ranking, costs, w, add_diagonal, &(sums){.out = diagonal});
}

uint64_t test_pairs_count(const test_ranking *ranking) {
    double *w = test_new(ranking->view.n_features, sizeof *w);
    sums s = {.n = 0};
    over_pairs(ranking, NULL, w, count, &s);
    return s.n;
}

uint64_t test_pairs_right(const test_ranking *ranking, const double *w) {
    sums s = {.n = 0};
    over_pairs(ranking, NULL, w, count, &s);
    return s.n_right;
}

/* ------------------------------------------------------------------------------------------------ the least */

/* H x = b for a positive definite H, n x n; H and b are overwritten, by its factor and by x. */
static void solve(double *h, double *b, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j <= i; j++) {
            double sum = h[i * n + j];
            for (uint32_t k = 0; k < j; k++)
                sum -= h[i * n + k] * h[j * n + k];
            h[i * n + j] = i == j ? sqrt(sum) : sum / h[j * n + j];
        }
        for (uint32_t j = 0; j < i; j++)
            b[i] -= h[i * n + j] * b[j];
        b[i] /= h[i * n + i];
    }
    for (uint32_t i = n; i-- > 0;) {
        for (uint32_t j = i + 1; j < n; j++)
            b[i] -= h[j * n + i] * b[j];
        b[i] /= h[i * n + i];
    }
}

double test_pairs_solve(const test_ranking *ranking, const double *costs, double *w) {
    const uint32_t n = ranking->view.n_features;
    double *h = test_new((size_t)n * n, sizeof *h), *step = test_new(n, sizeof *step);
    double *unit = test_new(n, sizeof *unit), *moved = test_new(n, sizeof *moved);
    double value = test_pairs_value(ranking, costs, w);
    bool better = true;
    while (better) {
        test_pairs_gradient(ranking, costs, w, step);
        for (uint32_t d = 0; d < n; d++) {
            memset(unit, 0, n * sizeof *unit);
            unit[d] = 1;
            test_pairs_product(ranking, costs, w, unit, h + (size_t)d * n);
        }
        solve(h, step, n);
        better = false;
        for (double length = 1; length > 1e-10 && !better; length /= 2) {
            for (uint32_t d = 0; d < n; d++)
                moved[d] = w[d] - length * step[d];
            const double there = test_pairs_value(ranking, costs, moved);
            if (there < value * (1 - 1e-14)) {
                memcpy(w, moved, n * sizeof *w);
                value = there;
                better = true;
            }
        }
    }
    return value;
}
