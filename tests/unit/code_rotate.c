/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_rotate.c - rotations keep products, spread every direction over all components, and have the same bits always.
 */
#include "owned.h"

#include "code/rotate.h"

enum { MOST_DIMS = 300 };

static thr_rotation *make(thr_context *context, uint32_t n_dims, uint64_t seed) {
    thr_rotation *rotation = NULL;
    expect_ok(thr_code_rotation_create(context, n_dims, seed, &rotation, &err));
    return rotation;
}

static double product(const float *x, const float *y, uint32_t n_dims) {
    double sum = 0;
    for (uint32_t d = 0; d < n_dims; d++)
        sum += (double)x[d] * (double)y[d];
    return sum;
}

/* Row i of matrix: the i-th unit vector, rotated. */
static float *rotated_units(const thr_rotation *rotation, uint32_t n_dims) {
    float *matrix = test_new((size_t)n_dims * n_dims, sizeof *matrix);
    memset(matrix, 0, (size_t)n_dims * n_dims * sizeof *matrix);
    for (uint32_t i = 0; i < n_dims; i++) {
        matrix[(size_t)i * n_dims + i] = 1;
        thr_code_rotation_apply(rotation, matrix + (size_t)i * n_dims);
    }
    return matrix;
}

TEST(lengths_and_products_stay_at_every_number_of_dimensions) {
    uint64_t rng = test_seed();
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    for (uint32_t n_dims = 1; n_dims <= MOST_DIMS; n_dims++) {
        float x[MOST_DIMS], y[MOST_DIMS];
        test_gaussian(&rng, x, n_dims);
        test_gaussian(&rng, y, n_dims);
        const double xx = product(x, x, n_dims), yy = product(y, y, n_dims), xy = product(x, y, n_dims);
        thr_rotation *rotation = make(context, n_dims, thr_rng_next(&rng));
        thr_code_rotation_apply(rotation, x);
        thr_code_rotation_apply(rotation, y);
        const double most = 2e-6 * sqrt(xx * yy);
        assert_case(fabs(product(x, x, n_dims) - xx) <= 2e-6 * xx && fabs(product(x, y, n_dims) - xy) <= most,
                    "seed %llu: %u dims: |x|^2 %.9g became %.9g, <x, y> %.9g became %.9g",
                    (unsigned long long)test_seed(), n_dims, xx, product(x, x, n_dims), xy, product(x, y, n_dims));
        thr_code_rotation_free(context, rotation);
    }
}

TEST(rotated_unit_vectors_are_an_orthonormal_basis) {
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    const uint32_t dims[] = {1, 2, 3, 4, 5, 7, 8, 31, 33, 64, 100, 127, 200};
    for (size_t k = 0; k < COUNT_OF(dims); k++) {
        const uint32_t n = dims[k];
        thr_rotation *rotation = make(context, n, test_seed());
        float *matrix = rotated_units(rotation, n);
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t j = 0; j <= i; j++) {
                const double p = product(matrix + (size_t)i * n, matrix + (size_t)j * n, n);
                assert_case(fabs(p - (i == j)) <= 1e-6, "seed %llu: %u dims: <r%u, r%u> = %.9g",
                            (unsigned long long)test_seed(), n, i, j, p);
            }
        thr_code_rotation_free(context, rotation);
    }
}

/*
 * What a dense random rotation does: no component of a rotated unit vector is large, the fourth moment is about the
 * normal's 3, and half of the components hold half of every vector, even where 2^k leaves little overlap (127, 255).
 */
TEST(unit_vectors_are_spread_over_all_components) {
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    const uint32_t dims[] = {64, 100, 127, 128, 129, 200, 255, 256, 300};
    for (size_t k = 0; k < COUNT_OF(dims); k++) {
        const uint32_t n = dims[k];
        thr_rotation *rotation = make(context, n, 1);
        float *matrix = rotated_units(rotation, n);
        double largest = 0, worst_moment = 0, worst_half = 0;
        for (uint32_t i = 0; i < n; i++) {
            double moment = 0, half = 0;
            for (uint32_t d = 0; d < n; d++) {
                const double square = (double)matrix[(size_t)i * n + d] * (double)matrix[(size_t)i * n + d];
                largest = fmax(largest, square * n);
                moment += square * square * n;
                half += d < n / 2 ? square : 0;
            }
            worst_moment = fmax(worst_moment, moment);
            worst_half = fmax(worst_half, fabs(half * 2 - 1));
        }
        /*
         * A normal sample of n^2 values reaches about 4 log n; moments scatter by sqrt(96 / n), halves by 2 / sqrt(n).
         */
        assert_case(largest <= 6 * log(n) && worst_moment <= 3 + 5 * sqrt(96.0 / n) && worst_half <= 10 / sqrt(n),
                    "%u dims: largest square %.2f, fourth moment %.2f, half %.3f", n, largest, worst_moment,
                    worst_half);
        thr_code_rotation_free(context, rotation);
    }
}

/* The same computed one component at a time, in double for the stored numbers and float for the rest. */
static void rotate_naively(float *x, uint32_t n, uint64_t seed) {
    uint32_t window = 1;
    uint64_t word = 0;
    while (window * 2 <= n)
        window *= 2;
    for (uint32_t round = 0, drawn = 0; round <= 4; round++) {
        for (uint32_t d = 0; d < n; d++, drawn++) {
            const bool in_first = d < window, in_last = d >= n - window;
            double factor = 1;
            if (round > 0 && (round % 2 == 1 ? in_first : in_last))
                factor = 1 / sqrt(window);
            if (round == 2 && window < n && (d < n / 2 || d >= n - n / 2))
                factor *= sqrt(0.5);
            if (round < 4) {
                word = drawn % 64 == 0 ? thr_rng_next(&seed) : word >> 1;
                factor *= word % 2 == 1 ? -1 : 1;
            }
            x[d] *= (float)factor;
        }
        for (uint32_t d = 0; round == 2 && window < n && d < n / 2; d++) {
            const float a = x[d], b = x[n - n / 2 + d];
            x[d] = a + b;
            x[n - n / 2 + d] = a - b;
        }
        float *at = round % 2 == 0 ? x : x + n - window;
        for (uint32_t h = 1; round < 4 && h < window; h *= 2)
            for (uint32_t i = 0; i < window; i++)
                if ((i & h) == 0) {
                    const float a = at[i], b = at[i + h];
                    at[i] = a + b;
                    at[i + h] = a - b;
                }
    }
}

TEST(bits_are_those_of_the_written_order) {
    uint64_t rng = test_seed();
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    for (uint32_t n_dims = 1; n_dims <= MOST_DIMS; n_dims++) {
        const uint64_t seed = thr_rng_next(&rng);
        float x[MOST_DIMS], y[MOST_DIMS], z[MOST_DIMS];
        test_gaussian(&rng, x, n_dims);
        memcpy(y, x, sizeof y);
        memcpy(z, x, sizeof z);
        thr_rotation *rotation = make(context, n_dims, seed), *again = make(context, n_dims, seed);
        thr_code_rotation_apply(rotation, x);
        thr_code_rotation_apply(again, y);
        rotate_naively(z, n_dims, seed);
        assert_memory_equal(x, y, n_dims * sizeof *x);
        for (uint32_t d = 0; d < n_dims; d++)
            assert_case(x[d] == z[d], "seed %llu: %u dims, component %u is %.9g, should be %.9g",
                        (unsigned long long)test_seed(), n_dims, d, (double)x[d], (double)z[d]);
        thr_code_rotation_free(context, rotation);
        thr_code_rotation_free(context, again);
    }
}

TEST(other_seeds_rotate_otherwise) {
    enum { DIMS = 100 };
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    for (uint64_t seed = 0; seed < 20; seed++) {
        float x[DIMS] = {1}, y[DIMS] = {1};
        thr_rotation *rotation = make(context, DIMS, seed), *other = make(context, DIMS, seed + 1);
        thr_code_rotation_apply(rotation, x);
        thr_code_rotation_apply(other, y);
        assert_true(fabs(product(x, y, DIMS)) < 0.6);
        thr_code_rotation_free(context, rotation);
        thr_code_rotation_free(context, other);
    }
    thr_code_rotation_free(context, NULL);
}

/* The longest and the shortest rows that are coded, all in one component or in all. */
TEST(long_and_short_vectors_stay_finite_and_exact) {
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    const uint32_t dims[] = {1, 100, 128, 255, 32768};
    for (size_t k = 0; k < COUNT_OF(dims); k++)
        for (int exponent = -100; exponent <= 120; exponent += 220)
            for (int flat = 0; flat < 2; flat++) {
                const uint32_t n = dims[k];
                float *x = test_new(n, sizeof *x);
                for (uint32_t d = 0; d < n; d++)
                    x[d] = flat == 1 ? (float)ldexp(1 / sqrt(n), exponent) : d == n - 1 ? ldexpf(1, exponent) : 0;
                const double before = ldexp(sqrt(product(x, x, n)), -exponent);
                thr_rotation *rotation = make(context, n, 1);
                thr_code_rotation_apply(rotation, x);
                const double after = ldexp(sqrt(product(x, x, n)), -exponent);
                assert_case(fabs(after - before) <= 1e-5, "%u dims: length %.9g 2^%d became %.9g", n, before, exponent,
                            after);
                thr_code_rotation_free(context, rotation);
            }
}

TEST(without_memory_it_is_enomem) {
    test_memory memory = {0};
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, &memory);
    thr_rotation *rotation = NULL;
    memory.fail_at = memory.calls + 1;
    expect_error(thr_code_rotation_create(context, 7, 1, &rotation, &err), THR_ENOMEM, "a rotation");
    assert_null(rotation);
}
