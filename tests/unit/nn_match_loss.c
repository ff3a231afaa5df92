/* SPDX-License-Identifier: Apache-2.0 */
/* nn_match_loss.c - the loss and its gradients beside a naive model in double. */
#include "nn/match_loss.h"

#include "nn_support.h"

typedef struct batch {
    thr_match_loss loss;
    size_t n, n_dims;
    float *queries, *items;
    float *teacher[2]; /* queries and items of it, or NULL */
    /* what a context answered first; NULL before */
    float *cosines, *d_queries, *d_items;
    double mean;
} batch;

static double cosine(const double *a, const double *b, size_t n) {
    double ab = 0, aa = 0, bb = 0;
    for (size_t d = 0; d < n; d++) {
        ab += a[d] * b[d];
        aa += a[d] * a[d];
        bb += b[d] * b[d];
    }
    return aa == 0 || bb == 0 ? 0 : ab / sqrt(aa * bb);
}

static double teacher_cosine(const batch *b, size_t query, size_t item) {
    const size_t n_dims = b->loss.n_teacher_dims;
    double *rows = test_new(2 * n_dims, sizeof *rows);
    for (size_t d = 0; d < n_dims; d++) {
        rows[d] = (double)b->teacher[0][query * n_dims + d];
        rows[n_dims + d] = (double)b->teacher[1][item * n_dims + d];
    }
    const double c = cosine(rows, rows + n_dims, n_dims);
    return c;
}

static double row_loss(const batch *b, const double *queries, const double *items, size_t i) {
    const double gamma = (double)b->loss.gamma, *query = queries + i * b->n_dims;
    const double pair = cosine(query, items + i * b->n_dims, b->n_dims);
    double sum = 1;
    for (size_t j = 0; j < b->loss.n_negatives; j++) {
        const size_t item = (i + b->loss.shift + j) % b->n;
        sum += exp(gamma * (cosine(query, items + item * b->n_dims, b->n_dims) - pair));
    }
    if (b->loss.teacher_share == 0)
        return log(sum);
    const double share = (double)b->loss.teacher_share;
    double targets = 0, products = 0;
    for (size_t j = 0; j <= b->loss.n_negatives; j++) { /* 0 is the pair */
        const size_t item = j == 0 ? i : (i + b->loss.shift + j - 1) % b->n;
        const double t = exp((double)b->loss.teacher_gamma * teacher_cosine(b, i, item));
        targets += t;
        products += t * gamma * (cosine(query, items + item * b->n_dims, b->n_dims) - pair);
    }
    return log(sum) - share * products / targets;
}

static double naive_loss(const batch *b, const double *queries, const double *items) {
    double sum = 0;
    for (size_t i = 0; i < b->n; i++)
        sum += row_loss(b, queries, items, i);
    return sum / (double)b->n;
}

static double *widened(const float *values, size_t n) {
    double *wide = test_new(n, sizeof *wide);
    for (size_t i = 0; i < n; i++)
        wide[i] = (double)values[i];
    return wide;
}

static batch make_batch(size_t n, size_t n_dims, uint32_t shift, uint32_t n_negatives, uint64_t *rng) {
    return (batch){.loss = {.gamma = 10, .shift = shift, .n_negatives = n_negatives},
                   .n = n,
                   .n_dims = n_dims,
                   .queries = nn_long_vectors(n, n_dims, rng),
                   .items = nn_long_vectors(n, n_dims, rng),
                   .cosines = test_new(n, sizeof(float)),
                   .d_queries = test_new(n * n_dims, sizeof(float)),
                   .d_items = test_new(n * n_dims, sizeof(float))};
}

/* Memory that was used before: its contents must not count. */
static float *dirty(size_t n) {
    float *values = test_new(n, sizeof *values);
    memset(values, 0xff, n * sizeof *values);
    return values;
}

static void run(thr_context *context, batch *b) {
    float *scratch = dirty(thr_nn_match_loss_scratch(&b->loss, b->n, b->n_dims));
    memset(b->d_queries, 0xff, b->n * b->n_dims * sizeof(float));
    memset(b->d_items, 0xff, b->n * b->n_dims * sizeof(float));
    const thr_match_batch all = {b->queries,   b->items,   b->n,          b->n_dims,    b->cosines,
                                 b->d_queries, b->d_items, b->teacher[0], b->teacher[1]};
    b->mean = thr_nn_match_loss_run(context, &b->loss, &all, scratch);
}

static void check_same(thr_context *context, void *arg) {
    const batch *b = arg;
    batch again = *b;
    again.cosines = dirty(b->n);
    again.d_queries = dirty(b->n * b->n_dims);
    again.d_items = dirty(b->n * b->n_dims);
    run(context, &again);
    assert_true(again.mean == b->mean);
    assert_same_floats(again.cosines, b->cosines, b->n, "cosines");
    assert_same_floats(again.d_queries, b->d_queries, b->n * b->n_dims, "d_queries");
    assert_same_floats(again.d_items, b->d_items, b->n * b->n_dims, "d_items");
    float *scratch = dirty(thr_nn_match_loss_scratch(&b->loss, b->n, b->n_dims));
    const thr_match_batch without = {.queries = b->queries,
                                     .items = b->items,
                                     .n_rows = b->n,
                                     .n_dims = b->n_dims,
                                     .teacher_queries = b->teacher[0],
                                     .teacher_items = b->teacher[1]};
    assert_true(thr_nn_match_loss_run(context, &b->loss, &without, scratch) == b->mean);
}

/* Central differences of the naive loss by some numbers of one side. */
static void check_gradient(const batch *b, double *queries, double *items, double *side, const float *gradient,
                           uint64_t *rng) {
    for (int probe = 0; probe < 12; probe++) {
        const size_t at = (size_t)thr_rng_below(rng, b->n * b->n_dims);
        const double h = 1e-5, x = side[at];
        side[at] = x + h;
        const double above = naive_loss(b, queries, items);
        side[at] = x - h;
        const double below = naive_loss(b, queries, items);
        side[at] = x;
        const double want = (above - below) / (2 * h);
        /* A number's gradient is gamma / (n length) times a sum of unit vectors' numbers, by weights of at most 2
         * together, with some roundings each; the differences themselves are good to 1e-10. */
        const double tolerance = 8e-6 * (double)b->loss.gamma / (double)b->n + 1e-9;
        assert_case(fabs((double)gradient[at] - want) <= tolerance,
                    "%zu x %zu, shift %u, %u negatives: gradient %zu is %.9g, should be %.9g", b->n, b->n_dims,
                    b->loss.shift, b->loss.n_negatives, at, (double)gradient[at], want);
    }
}

static void check_batch(batch *b, uint64_t *rng) {
    thr_context *context = test_new_context(1);
    run(context, b);
    double *queries = widened(b->queries, b->n * b->n_dims), *items = widened(b->items, b->n * b->n_dims);
    const double want = naive_loss(b, queries, items);
    assert_case(fabs(b->mean - want) <= 4e-6 * (1 + want), "loss %.9g, should be %.9g", b->mean, want);
    for (size_t i = 0; i < b->n; i++)
        assert_true(fabs((double)b->cosines[i] - cosine(queries + i * b->n_dims, items + i * b->n_dims, b->n_dims)) <=
                    1e-6);
    check_gradient(b, queries, items, queries, b->d_queries, rng);
    check_gradient(b, queries, items, items, b->d_items, rng);
    nn_each_context(check_same, b);
}

RANDOM_TEST(loss_and_gradients_are_the_naive_models) {
    static const struct {
        size_t n, n_dims;
        uint32_t shift, n_negatives;
    } cases[] = {{2, 1, 1, 1},     {3, 5, 1, 2},    {3, 5, 2, 1},    {5, 64, 1, 4},   {24, 33, 1, 10},
                 {25, 64, 3, 10},  {60, 16, 1, 23}, {60, 16, 1, 24}, {70, 8, 1, 69},  {70, 8, 40, 30},
                 {101, 4, 1, 100}, {100, 4, 2, 96}, {130, 3, 1, 60}, {90, 100, 5, 7}, {300, 2, 1, 299}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        batch b = make_batch(cases[i].n, cases[i].n_dims, cases[i].shift, cases[i].n_negatives, &rng);
        check_batch(&b, &rng);
    }
}

RANDOM_TEST(a_teacher_shares_the_targets) {
    static const struct {
        size_t n, n_dims, n_teacher_dims;
        uint32_t shift, n_negatives;
        float share, gamma;
    } cases[] = {{5, 8, 3, 1, 4, 1, 20}, {60, 16, 40, 1, 59, 0.3f, 5}, {101, 4, 10, 2, 30, 1, 10}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        batch b = make_batch(cases[i].n, cases[i].n_dims, cases[i].shift, cases[i].n_negatives, &rng);
        b.loss.teacher_share = cases[i].share;
        b.loss.teacher_gamma = cases[i].gamma;
        b.loss.n_teacher_dims = cases[i].n_teacher_dims;
        for (size_t side = 0; side < 2; side++)
            b.teacher[side] = nn_long_vectors(cases[i].n, cases[i].n_teacher_dims, &rng);
        check_batch(&b, &rng);
    }
}

RANDOM_TEST(zero_vectors_have_cosine_0_and_no_gradient) {
    batch b = make_batch(20, 8, 1, 6, &rng);
    memset(b.queries + 3 * 8, 0, 8 * sizeof(float));
    memset(b.items + 7 * 8, 0, 8 * sizeof(float));
    thr_context *context = test_new_context(1);
    run(context, &b);
    double *queries = widened(b.queries, 20 * 8), *items = widened(b.items, 20 * 8);
    assert_true(fabs(b.mean - naive_loss(&b, queries, items)) <= 1e-5);
    assert_true(b.cosines[3] == 0.0f && b.cosines[7] == 0.0f);
    for (size_t d = 0; d < 8; d++) {
        assert_true(b.d_queries[3 * 8 + d] == 0.0f);
        assert_true(b.d_items[7 * 8 + d] == 0.0f);
    }
    for (size_t i = 0; i < 20 * 8; i++)
        assert_true(isfinite(b.d_queries[i]) && isfinite(b.d_items[i]));
}

/* Large gammas make terms that float cannot hold, unless the largest cosine is taken off first. */
RANDOM_TEST(large_gammas_stay_finite) {
    batch b = make_batch(30, 4, 1, 20, &rng);
    b.loss.gamma = 1000;
    thr_context *context = test_new_context(1);
    run(context, &b);
    double *queries = widened(b.queries, 30 * 4), *items = widened(b.items, 30 * 4);
    const double want = naive_loss(&b, queries, items);
    assert_case(fabs(b.mean - want) <= 1e-6 * want + 1e-3, "loss %.9g, should be %.9g", b.mean, want);
    for (size_t i = 0; i < 30 * 4; i++)
        assert_true(isfinite(b.d_queries[i]) && isfinite(b.d_items[i]));
}

RANDOM_TEST(a_number_that_is_none_makes_a_loss_that_is_none) {
    batch b = make_batch(10, 4, 1, 5, &rng);
    b.items[17] = NAN;
    thr_context *context = test_new_context(1);
    run(context, &b);
    assert_true(!isfinite(b.mean));
}
