/* SPDX-License-Identifier: Apache-2.0 */
/* code_quantiser.c - calibrated ranges keep more of the angle than naive ones, and bad samples are refused. */
#include "owned.h"

#include "code/encode.h"
#include "code/rotate.h"

enum { ROWS = 500, DIMS = 64 };

/* Mean cosine between rows and the integers of their codes. */
static double mean_cosine(thr_context *context, const thr_quantiser *quantiser, const float *rows) {
    const thr_matrix matrix = thr_matrix_f32(rows, ROWS, DIMS);
    uint8_t *codes = test_new(thr_code_size(quantiser, ROWS), 1);
    expect_ok(thr_code_quantiser_encode(context, quantiser, &matrix, codes, NULL, &err));
    double total = 0;
    for (uint32_t r = 0; r < ROWS; r++) {
        double product = 0, x_square = 0, v_square = 0;
        for (uint32_t d = 0; d < DIMS; d++) {
            const double x = (double)rows[r * DIMS + d];
            const int v = test_code_value(codes, DIMS, quantiser->item_bits, r, d);
            product += x * v;
            x_square += x * x;
            v_square += v * v;
        }
        total += product / sqrt(x_square * v_square);
    }
    return total / ROWS;
}

/* The paper's own rule: no component is larger than the range. */
static float largest_component(const float *rows) {
    float largest = 0;
    for (uint32_t r = 0; r < ROWS; r++) {
        double square = 0;
        for (uint32_t d = 0; d < DIMS; d++)
            square += (double)rows[r * DIMS + d] * (double)rows[r * DIMS + d];
        for (uint32_t d = 0; d < DIMS; d++)
            largest = fmaxf(largest, (float)(fabs((double)rows[r * DIMS + d]) / sqrt(square)));
    }
    return largest;
}

TEST(calibrated_ranges_beat_the_largest_component_on_gaussian_rows) {
    uint64_t rng = test_seed();
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    float *rows = test_new((size_t)ROWS * DIMS, sizeof *rows);
    test_gaussian(&rng, rows, (size_t)ROWS * DIMS);
    const thr_matrix sample = thr_matrix_f32(rows, ROWS, DIMS);
    /* What is lost of the cosine must at least fall by this factor; one bit has no range to choose, and
     * from seven on the largest component is about the best. */
    const double factors[THR_MAX_BITS] = {1.0001, 0.6, 0.6, 0.8, 0.9, 1, 1.05, 1.05};
    double before = 0;
    for (uint32_t bits = 1; bits <= THR_MAX_BITS; bits++) {
        thr_quantiser quantiser, naive;
        expect_ok(thr_code_quantiser_train(context, &sample, bits, THR_QUANTISER_UNIT, &quantiser, &err));
        naive = quantiser;
        naive.ranges[bits - 1] = largest_component(rows);
        const double cosine = mean_cosine(context, &quantiser, rows);
        const double naive_cosine = mean_cosine(context, &naive, rows);
        assert_case(1 - cosine <= (1 - naive_cosine) * factors[bits - 1],
                    "seed %llu: %u bits: mean cosine %.6f, with the naive range %.6f", (unsigned long long)test_seed(),
                    bits, cosine, naive_cosine);
        assert_case(cosine > before, "seed %llu: %u bits: mean cosine %.6f, less than with a bit less: %.6f",
                    (unsigned long long)test_seed(), bits, cosine, before);
        before = cosine;
        thr_code_quantiser_free(context, &quantiser);
    }
    /* Lloyd-Max limits for gaussian components: 1 bit .798, 2 bits .940, 3 bits .982; uniform cells come close. */
    thr_quantiser quantiser;
    const double wanted[] = {0.79, 0.93, 0.975, 0.99};
    for (uint32_t bits = 1; bits <= 4; bits++) {
        expect_ok(thr_code_quantiser_train(context, &sample, bits, THR_QUANTISER_UNIT, &quantiser, &err));
        const double cosine = mean_cosine(context, &quantiser, rows);
        assert_case(cosine >= wanted[bits - 1], "seed %llu: %u bits: mean cosine %.6f", (unsigned long long)test_seed(),
                    bits, cosine);
    }
}

TEST(lengths_of_sample_rows_do_not_matter) {
    uint64_t rng = test_seed();
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    float *rows = test_new((size_t)ROWS * DIMS, sizeof *rows);
    test_gaussian(&rng, rows, (size_t)ROWS * DIMS);
    const thr_matrix sample = thr_matrix_f32(rows, ROWS, DIMS);
    thr_quantiser quantiser, scaled;
    expect_ok(thr_code_quantiser_train(context, &sample, 3, THR_QUANTISER_UNIT, &quantiser, &err));
    for (uint32_t r = 0; r < ROWS; r++)
        for (uint32_t d = 0; d < DIMS; d++)
            rows[r * DIMS + d] *= ldexpf(1, (int)(r % 40) - 20);
    expect_ok(thr_code_quantiser_train(context, &sample, 3, THR_QUANTISER_UNIT, &scaled, &err));
    assert_memory_equal(quantiser.ranges, scaled.ranges, sizeof quantiser.ranges);
    for (size_t b = 0; b < THR_MAX_BITS; b++)
        assert_true(quantiser.ranges[b] > 0 && quantiser.ranges[b] <= 1);
}

TEST(a_sample_without_direction_gets_ranges_of_one) {
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    const float zeros[2 * DIMS] = {0};
    for (uint64_t n = 0; n <= 2; n++) {
        const thr_matrix sample = thr_matrix_f32(zeros, n, DIMS);
        thr_quantiser quantiser;
        expect_ok(thr_code_quantiser_train(context, &sample, 2, THR_QUANTISER_UNIT, &quantiser, &err));
        assert_int_equal(quantiser.n_dims, DIMS);
        assert_int_equal(quantiser.item_bits, 2);
        for (size_t b = 0; b < THR_MAX_BITS; b++)
            assert_true(quantiser.ranges[b] == 1);
        thr_code_quantiser_free(context, &quantiser);
        expect_ok(
            thr_code_quantiser_train(context, &sample, 2, THR_QUANTISER_UNIT | THR_QUANTISER_CENTRE, &quantiser, &err));
        assert_null(quantiser.centre);
        thr_code_quantiser_free(context, &quantiser);
    }
    thr_code_quantiser_free(context, NULL);
}

TEST(bad_bits_dimensions_and_rows_are_refused) {
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    float rows[20 * 4];
    for (size_t i = 0; i < 80; i++)
        rows[i] = (float)i;
    thr_matrix sample = thr_matrix_f32(rows, 20, 4);
    thr_quantiser quantiser;
    expect_error(thr_code_quantiser_train(context, &sample, 0, THR_QUANTISER_UNIT, &quantiser, &err), THR_EINVAL,
                 "0 bits");
    expect_error(thr_code_quantiser_train(context, &sample, 9, THR_QUANTISER_UNIT, &quantiser, &err), THR_EINVAL,
                 "9 bits");
    expect_error(thr_code_quantiser_train(context, &sample, 3, 32, &quantiser, &err), THR_EINVAL, "32 is not a sum");
    sample.n_dims = 0;
    expect_error(thr_code_quantiser_train(context, &sample, 3, THR_QUANTISER_UNIT, &quantiser, &err), THR_EDIM,
                 "0 dimensions");
    sample.n_dims = THR_MAX_DIMS + 1;
    expect_error(thr_code_quantiser_train(context, &sample, 3, THR_QUANTISER_UNIT, &quantiser, &err), THR_EDIM,
                 "32769");
    sample.n_dims = 4;
    rows[13 * 4 + 2] = NAN;
    expect_error(thr_code_quantiser_train(context, &sample, 3, THR_QUANTISER_UNIT, &quantiser, &err), THR_ERANGE,
                 "row 13");
    rows[13 * 4 + 2] = -INFINITY;
    expect_error(thr_code_quantiser_train(context, &sample, 3, THR_QUANTISER_UNIT, &quantiser, &err), THR_ERANGE,
                 "row 13");
    expect_error(thr_code_quantiser_train(context, &sample, 3, THR_QUANTISER_CENTRE, &quantiser, &err), THR_ERANGE,
                 "row 13");
}

/* Rows that share a large mean: the centre is found, and codes of the residuals lose less. */
TEST(rows_with_a_common_part_get_a_centre_and_others_do_not) {
    uint64_t rng = test_seed();
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    float *rows = test_new((size_t)ROWS * DIMS, sizeof *rows);
    test_gaussian(&rng, rows, (size_t)ROWS * DIMS);
    const thr_matrix sample = thr_matrix_f32(rows, ROWS, DIMS);
    thr_quantiser quantiser;
    for (int unit = 0; unit < 2; unit++) {
        expect_ok(thr_code_quantiser_train(
            context, &sample, 3, THR_QUANTISER_CENTRE | ((unit != 0) ? THR_QUANTISER_UNIT : 0u), &quantiser, &err));
        assert_null(quantiser.centre);
        thr_code_quantiser_free(context, &quantiser);
    }
    for (size_t i = 0; i < (size_t)ROWS * DIMS; i++)
        rows[i] += 2;
    expect_ok(thr_code_quantiser_train(context, &sample, 3, THR_QUANTISER_CENTRE, &quantiser, &err));
    assert_non_null(quantiser.centre);
    for (uint32_t d = 0; d < DIMS; d++)
        assert_true(fabsf(quantiser.centre[d] - 2) < 0.3f);
    thr_code_quantiser_free(context, &quantiser);
    assert_null(quantiser.centre);
}

static void assert_rotated(thr_context *context, const thr_matrix *sample, uint32_t bits) {
    thr_quantiser quantiser;
    expect_ok(thr_code_quantiser_train(context, sample, bits, THR_QUANTISER_ROTATE, &quantiser, &err));
    assert_non_null(quantiser.rotation);
    thr_code_quantiser_free(context, &quantiser);
}

/* Components of uneven size: a rotation reduces the codes' loss by a tenth or more. */
static void assert_more_accurate_rotated(thr_context *context, const thr_matrix *sample, uint32_t bits) {
    thr_quantiser quantiser, plain;
    expect_ok(thr_code_quantiser_train(context, sample, bits, THR_QUANTISER_ROTATE, &quantiser, &err));
    expect_ok(thr_code_quantiser_train(context, sample, bits, 0, &plain, &err));
    assert_non_null(quantiser.rotation);
    assert_true(quantiser.rotation_seed != 0);
    float turned[ROWS * DIMS];
    memcpy(turned, sample->data, sizeof turned);
    for (size_t r = 0; r < ROWS; r++)
        thr_code_rotation_apply(quantiser.rotation, turned + r * DIMS);
    const double before = mean_cosine(context, &plain, sample->data);
    thr_quantiser turning = quantiser;
    turning.rotation = NULL;
    const double after = mean_cosine(context, &turning, turned);
    assert_case(1 - after <= 0.9 * (1 - before), "seed %llu: %u bits: mean cosine %.4f, rotated %.4f",
                (unsigned long long)test_seed(), bits, before, after);
    thr_code_quantiser_free(context, &quantiser);
    assert_null(quantiser.rotation);
}

/* Rows are rotated; where few components hold most of them, one-bit codes then keep more. A cube's corners are not. */
TEST(components_are_rotated_and_a_cube_is_not) {
    enum { MANY = 6000 };
    uint64_t rng = test_seed();
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    float *rows = test_new((size_t)MANY * DIMS, sizeof *rows);
    const thr_matrix sample = thr_matrix_f32(rows, MANY, DIMS);
    thr_quantiser quantiser, plain;
    for (int bits = 1; bits <= 4; bits++) {
        /* On a cube's corners every component is worth the same, and a code of one bit is exact. */
        for (size_t i = 0; i < (size_t)MANY * DIMS; i++)
            rows[i] = thr_rng_below(&rng, 2) == 0 ? 1 : -1;
        expect_ok(thr_code_quantiser_train(context, &sample, (uint32_t)bits, THR_QUANTISER_ROTATE, &quantiser, &err));
        expect_ok(thr_code_quantiser_train(context, &sample, (uint32_t)bits, 0, &plain, &err));
        assert_null(quantiser.rotation);
        assert_true(quantiser.rotation_seed == 0);
        assert_memory_equal(quantiser.ranges, plain.ranges, sizeof plain.ranges);
        test_gaussian(&rng, rows, (size_t)MANY * DIMS);
        assert_rotated(context, &sample, (uint32_t)bits);
        for (size_t i = 0; i < (size_t)MANY * DIMS; i++)
            rows[i] *= 1 / (1 + (float)(i % DIMS) / 4);
        assert_more_accurate_rotated(context, &sample, (uint32_t)bits);
    }
}

TEST(rotated_means_always_and_a_seed_brings_a_rotation_back) {
    uint64_t rng = test_seed();
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    float *rows = test_new((size_t)ROWS * DIMS, sizeof *rows);
    test_gaussian(&rng, rows, (size_t)ROWS * DIMS);
    thr_quantiser quantiser, again;
    for (uint64_t n_rows = 0; n_rows <= ROWS; n_rows += ROWS) {
        const thr_matrix sample = thr_matrix_f32(rows, n_rows, DIMS);
        expect_ok(thr_code_quantiser_train(context, &sample, 2, THR_QUANTISER_ROTATED, &quantiser, &err));
        assert_non_null(quantiser.rotation);
        again = quantiser;
        again.rotation = NULL;
        expect_ok(thr_code_quantiser_rotate(context, &again, quantiser.rotation_seed, &err));
        const size_t size = thr_code_size(&quantiser, ROWS);
        uint8_t *wanted = test_new(size, 1), *codes = test_new(size, 1);
        const thr_matrix all = thr_matrix_f32(rows, ROWS, DIMS);
        expect_ok(thr_code_quantiser_encode(context, &quantiser, &all, wanted, NULL, &err));
        expect_ok(thr_code_quantiser_encode(context, &again, &all, codes, NULL, &err));
        assert_memory_equal(codes, wanted, size);
        expect_ok(thr_code_quantiser_rotate(context, &again, quantiser.rotation_seed + 1, &err));
        expect_ok(thr_code_quantiser_encode(context, &again, &all, codes, NULL, &err));
        assert_memory_not_equal(codes, wanted, size);
        expect_ok(thr_code_quantiser_rotate(context, &again, 0, &err));
        assert_null(again.rotation);
        assert_true(again.rotation_seed == 0);
        thr_code_quantiser_free(context, &quantiser);
    }
}

TEST(every_failing_allocation_is_enomem_and_leaves_nothing) {
    test_memory memory = {0};
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, &memory);
    float rows[20 * 4];
    for (size_t i = 0; i < 80; i++)
        rows[i] = 3 + (float)(i % 7);
    const thr_matrix sample = thr_matrix_f32(rows, 20, 4);
    test_oom oom = test_oom_start(&memory);
    while (test_oom_next(&oom)) {
        thr_quantiser quantiser;
        test_oom_arm(&oom);
        const thr_status status = thr_code_quantiser_train(
            context, &sample, 3, THR_QUANTISER_CENTRE | THR_QUANTISER_ROTATED, &quantiser, &err);
        if (test_oom_check(&oom, status, &err, "no memory"))
            thr_code_quantiser_free(context, &quantiser);
    }
    assert_true(oom.n_failed > 0);
}
