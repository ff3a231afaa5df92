/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_match.c - the loss over in-batch negatives on an emulated GPU beside room nn's, whose sums are in another order:
 * within 1e-6 gamma of the losses, and 1e-5 gamma / n of the gradients, for rows of length 1/2 and more.
 */
#include "cuda_support.h"

#include "nn/match_loss.h"

typedef struct batch {
    thr_match_loss loss;
    size_t n, n_dims;
    float *queries, *items;
    float *d_queries, *d_items; /* the device's */
    double *losses;
} batch;

static batch make_batch(size_t n, size_t n_dims, uint32_t shift, uint32_t n_negatives, uint64_t *rng) {
    return (batch){.loss = {.gamma = 10, .shift = shift, .n_negatives = n_negatives},
                   .n = n,
                   .n_dims = n_dims,
                   .queries = nn_long_vectors(n, n_dims, rng),
                   .items = nn_long_vectors(n, n_dims, rng)};
}

static thr_match_op put_batch(const batch *b) {
    const size_t n_values = b->n * b->n_dims;
    return (thr_match_op){.queries = gpu_floats(b->queries, n_values),
                          .items = gpu_floats(b->items, n_values),
                          .n_rows = (uint32_t)b->n,
                          .n_dims = (uint32_t)b->n_dims,
                          .n_negatives = b->loss.n_negatives,
                          .shift = b->loss.shift,
                          .gamma = b->loss.gamma,
                          .losses = gpu_put(NULL, b->n * sizeof(double)),
                          .d_queries = gpu_floats(NULL, n_values),
                          .d_items = gpu_floats(NULL, n_values),
                          .scratch = gpu_floats(NULL, b->n * (2 * b->n_dims + b->loss.n_negatives + 3))};
}

static void run(batch *b) {
    const size_t n_values = b->n * b->n_dims;
    const thr_match_op op = put_batch(b);
    gpu_do(match, &op);
    b->d_queries = gpu_get(op.d_queries, n_values * sizeof *b->d_queries);
    b->d_items = gpu_get(op.d_items, n_values * sizeof *b->d_items);
    b->losses = gpu_get(op.losses, b->n * sizeof *b->losses);
    gpu_forget();
}

static void assert_near(const float *got, const float *right, size_t n, double most, const char *what) {
    for (size_t i = 0; i < n; i++)
        assert_case(fabs((double)got[i] - (double)right[i]) <= most, "seed %llu: %s %zu is %.9g, should be %.9g",
                    (unsigned long long)test_seed(), what, i, (double)got[i], (double)right[i]);
}

/* The mean loss and the gradients are the CPU's. */
static void check_run(batch *b) {
    const size_t n_values = b->n * b->n_dims;
    float *d_queries = test_new(n_values, sizeof *d_queries), *d_items = test_new(n_values, sizeof *d_items);
    float *scratch = test_new(thr_nn_match_loss_scratch(&b->loss, b->n, b->n_dims), sizeof *scratch);
    const double gamma = (double)b->loss.gamma;
    double mean = 0;
    const thr_match_batch all = {.queries = b->queries,
                                 .items = b->items,
                                 .n_rows = b->n,
                                 .n_dims = b->n_dims,
                                 .d_queries = d_queries,
                                 .d_items = d_items};
    const double right = thr_nn_match_loss_run(gpu.context, &b->loss, &all, scratch);
    run(b);
    for (size_t i = 0; i < b->n; i++)
        mean += b->losses[i] / (double)b->n;
    assert_case(fabs(mean - right) <= 1e-6 * gamma, "seed %llu: loss %.9g, should be %.9g",
                (unsigned long long)test_seed(), mean, right);
    assert_near(b->d_queries, d_queries, n_values, 1e-5 * gamma / (double)b->n, "d_queries");
    assert_near(b->d_items, d_items, n_values, 1e-5 * gamma / (double)b->n, "d_items");
}

static double cosine(const batch *b, size_t query, size_t item) {
    double ab = 0, aa = 0, bb = 0;
    for (size_t d = 0; d < b->n_dims; d++) {
        const double x = (double)b->queries[query * b->n_dims + d], y = (double)b->items[item * b->n_dims + d];
        ab += x * y;
        aa += x * x;
        bb += y * y;
    }
    return aa == 0 || bb == 0 ? 0 : ab / sqrt(aa * bb);
}

/* Row by row, by a naive model in double. */
static void check_losses(const batch *b) {
    const double gamma = (double)b->loss.gamma;
    for (size_t i = 0; i < b->n; i++) {
        double sum = 1;
        for (size_t j = 0; j < b->loss.n_negatives; j++)
            sum += exp(gamma * (cosine(b, i, (i + b->loss.shift + j) % b->n) - cosine(b, i, i)));
        assert_case(fabs(b->losses[i] - log(sum)) <= 1e-6 * gamma, "seed %llu: loss %zu is %.9g, should be %.9g",
                    (unsigned long long)test_seed(), i, b->losses[i], log(sum));
    }
}

RANDOM_TEST(losses_and_gradients_are_the_cpus) {
    static const struct {
        size_t n, n_dims;
        uint32_t shift, n_negatives;
    } cases[] = {{2, 1, 1, 1},    {3, 5, 2, 1},   {5, 64, 1, 4},     {24, 33, 1, 10},
                 {25, 64, 3, 10}, {70, 8, 1, 69}, {70, 100, 40, 30}, {258, 2, 1, 257}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        batch b = make_batch(cases[i].n, cases[i].n_dims, cases[i].shift, cases[i].n_negatives, &rng);
        check_run(&b);
        check_losses(&b);
    }
}

/* The emulator takes threads and blocks in another order every time. */
RANDOM_TEST(a_second_run_has_the_same_bits) {
    rng += 1;
    batch b = make_batch(40, 24, 1, 30, &rng);
    run(&b);
    batch again = b;
    run(&again);
    assert_same_floats(again.d_queries, b.d_queries, b.n * b.n_dims, "d_queries");
    assert_same_floats(again.d_items, b.d_items, b.n * b.n_dims, "d_items");
    assert_memory_equal(again.losses, b.losses, b.n * sizeof *b.losses);
}

/* And rows that are too short for 1 / length to be a float. */
RANDOM_TEST(zero_vectors_have_no_gradient) {
    enum { DIMS = 8 };
    rng += 2;
    batch b = make_batch(20, DIMS, 1, 6, &rng);
    memset(b.queries + 3 * DIMS, 0, DIMS * sizeof(float));
    memset(b.items + 7 * DIMS, 0, DIMS * sizeof(float));
    for (size_t d = 0; d < DIMS; d++)
        b.queries[12 * DIMS + d] = 1e-40f;
    check_run(&b);
    for (size_t d = 0; d < DIMS; d++) {
        assert_true(b.d_queries[3 * DIMS + d] == 0.0f);
        assert_true(b.d_queries[12 * DIMS + d] == 0.0f);
        assert_true(b.d_items[7 * DIMS + d] == 0.0f);
    }
}

RANDOM_TEST(large_gammas_stay_finite) {
    rng += 3;
    batch b = make_batch(30, 4, 1, 20, &rng);
    b.loss.gamma = 300;
    run(&b);
    check_losses(&b);
    for (size_t i = 0; i < b.n * b.n_dims; i++)
        assert_true(isfinite(b.d_queries[i]) && isfinite(b.d_items[i]));
}

RANDOM_TEST(a_number_that_is_none_makes_losses_that_are_none) {
    rng += 4;
    batch b = make_batch(10, 4, 1, 3, &rng);
    b.items[5 * 4] = NAN;
    run(&b);
    for (size_t i = 0; i < b.n; i++) /* 5 is an item of its own query's row, and of the three before */
        assert_case(isfinite(b.losses[i]) == (i < 2 || i > 5), "loss %zu is %g", i, b.losses[i]);
}

/* By the operation itself, or by who waits for it. */
RANDOM_TEST(a_failed_launch_is_an_error) {
    static const char *const failures[] = {"launch 1", "launch 2", "launch 3"};
    rng += 5;
    batch b = make_batch(5, 3, 1, 2, &rng);
    for (size_t i = 0; i < COUNT_OF(failures); i++) {
        const thr_match_op op = put_batch(&b);
        gpu.emulator.let_fail(failures[i]);
        thr_status status = gpu.backend->match(gpu.stream, &op, &err);
        if (status == THR_OK)
            status = gpu.backend->wait(gpu.stream, &err);
        gpu.emulator.let_fail("none");
        expect_error(status, THR_EDEVICE, "an illegal memory access");
        gpu_forget();
    }
    check_run(&b);
}
