/* SPDX-License-Identifier: Apache-2.0 */
/* code_fixed.c - vectors that are codes give their planes back, and products with queries that are codes are true. */
#include "owned.h"

#include "code/fixed.h"

#include "code/encode.h"
#include "code/query.h"
#include "kernel/kernel.h"

enum { ROWS = 70, DIMS = 67, BLOCKS = 2 };

/* A sign for each plane, and their sum with weights 1, 1/2, 1/4, ... (RBE (11)). */
static void random_code(uint64_t *rng, uint32_t n_planes, unsigned *signs, float *x) {
    for (uint32_t d = 0; d < DIMS; d++) {
        x[d] = 0;
        for (uint32_t p = 0; p < n_planes; p++) {
            signs[d * THR_MAX_BITS + p] = (unsigned)thr_rng_below(rng, 2);
            x[d] += (signs[d * THR_MAX_BITS + p] ? 1 : -1) * ldexpf(1, -(int)p);
        }
    }
}

static thr_quantiser fixed_quantiser(thr_context *context, uint32_t bits) {
    thr_quantiser quantiser;
    const thr_matrix none = thr_matrix_f32(NULL, 0, DIMS);
    expect_ok(
        thr_code_quantiser_train(context, &none, bits, THR_QUANTISER_UNIT | THR_QUANTISER_FIXED, &quantiser, &err));
    for (int b = 0; b < THR_MAX_BITS; b++)
        assert_true(quantiser.ranges[b] == 2);
    assert_true(quantiser.fixed && quantiser.centre == NULL && quantiser.rotation == NULL);
    return quantiser;
}

/* ROWS random codes, and blocks of their planes. */
typedef struct bench {
    thr_quantiser quantiser;
    unsigned signs[ROWS][DIMS * THR_MAX_BITS];
    float rows[ROWS * DIMS];
    uint8_t *codes;
} bench;

static bench *make_bench(thr_context *context, uint64_t *rng, uint32_t bits) {
    bench *b = test_new(1, sizeof *b);
    float norms[ROWS];
    b->quantiser = fixed_quantiser(context, bits);
    for (size_t r = 0; r < ROWS; r++)
        random_code(rng, bits, b->signs[r], b->rows + r * DIMS);
    const thr_matrix matrix = thr_matrix_f32(b->rows, ROWS, DIMS);
    b->codes = test_new(thr_code_size(&b->quantiser, ROWS), 1);
    expect_ok(thr_code_quantiser_encode(context, &b->quantiser, &matrix, b->codes, norms, &err));
    return b;
}

TEST(the_planes_are_the_signs_that_a_vector_is_the_sum_of) {
    uint64_t rng = test_seed();
    for (int isa = THR_ISA_SCALAR; isa <= THR_ISA_LAST; isa++) {
        if (!thr_kernel_isa_has((thr_isa)isa))
            continue;
        OWNED(thr_context, context) = test_context(2, (thr_isa)isa, NULL);
        for (uint32_t bits = 1; bits <= THR_MAX_BITS; bits++) {
            bench *b = make_bench(context, &rng, bits);
            for (uint32_t r = 0; r < ROWS; r++) {
                float back[DIMS];
                thr_code_read(b->codes, DIMS, bits, r, back);
                assert_memory_equal(back, b->rows + (size_t)r * DIMS, sizeof back);
            }
            for (uint32_t r = 0; r < ROWS; r++)
                for (uint32_t d = 0; d < DIMS; d++)
                    for (uint32_t p = 0; p < bits; p++)
                        assert_case(test_code_bit(b->codes, DIMS, bits, r, d, p) == b->signs[r][d * THR_MAX_BITS + p],
                                    "seed %llu: %u planes, row %u, dimension %u: plane %u is not its sign",
                                    (unsigned long long)test_seed(), bits, r, d, p);
        }
    }
}

/* All other types that hold such numbers, too. */
TEST(codes_are_taken_from_rows_of_other_types) {
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    thr_quantiser quantiser = fixed_quantiser(context, 1);
    int8_t rows[DIMS];
    uint8_t codes[64 * (DIMS + 7) / 8 + 64];
    for (size_t d = 0; d < DIMS; d++)
        rows[d] = d % 3 == 0 ? 1 : -1;
    const thr_matrix matrix = {rows, 1, DIMS, THR_DTYPE_I8, DIMS};
    expect_ok(thr_code_quantiser_encode(context, &quantiser, &matrix, codes, NULL, &err));
    for (uint32_t d = 0; d < DIMS; d++)
        assert_int_equal(test_code_bit(codes, DIMS, 1, 0, d, 0), d % 3 == 0);
}

/* With as many bits as the query has planes, and with more: total - 2 D is the product of the planes' integers. */
TEST(products_with_queries_that_are_codes_are_the_true_ones) {
    uint64_t rng = test_seed();
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    unsigned signs[DIMS * THR_MAX_BITS];
    void *memory = test_new_aligned(thr_code_query_size(DIMS));
    for (uint32_t bits = 1; bits <= THR_MAX_BITS; bits++) {
        bench *b = make_bench(context, &rng, bits);
        for (uint32_t planes = 1; planes <= THR_MAX_BITS; planes++)
            for (uint32_t query_bits = planes; query_bits <= THR_MAX_BITS; query_bits++) {
                float query[DIMS];
                uint32_t distances[BLOCKS * 64], scratch[BLOCKS * 64];
                thr_query_code code;
                random_code(&rng, planes, signs, query);
                thr_code_query_make(&code, &b->quantiser, bits, query,
                                    thr_code_fixed_query_length(query, DIMS, query_bits), query_bits, memory);
                thr_code_query_distances(&code, context->kernels->distance_xor, b->codes, BLOCKS, distances, scratch);
                for (size_t r = 0; r < ROWS; r++) {
                    double product = 0;
                    for (size_t d = 0; d < DIMS; d++)
                        product += (double)query[d] * (double)b->rows[r * DIMS + d];
                    product = ldexp(product, (int)(planes - 1 + bits - 1));
                    assert_case((double)(code.total - 2 * (int32_t)distances[r]) == product,
                                "seed %llu: %u planes, a query of %u in %u bits: row %zu: %d instead of %g",
                                (unsigned long long)test_seed(), bits, planes, query_bits, r,
                                (int)(code.total - 2 * (int32_t)distances[r]), product);
                }
            }
    }
}

/* The largest component meets the edge, so that 8 bits keep nearly all of the angle. */
TEST(other_queries_are_coded_by_their_own_largest_component) {
    uint64_t rng = test_seed();
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    const thr_quantiser quantiser = fixed_quantiser(context, 2);
    void *memory = test_new_aligned(thr_code_query_size(DIMS));
    for (int scale = -90; scale <= 90; scale += 30) {
        float query[DIMS], largest = 0;
        thr_query_code code;
        double product = 0, q_square = 0, v_square = 0;
        for (size_t d = 0; d < DIMS; d++) {
            query[d] = ldexpf((float)thr_rng_below(&rng, 2000) / 1000 - 1, scale);
            largest = fmaxf(largest, fabsf(query[d]));
        }
        assert_true(thr_code_fixed_query_length(query, DIMS, 8) == (double)largest / 2);
        thr_code_query_make(&code, &quantiser, 2, query, thr_code_fixed_query_length(query, DIMS, 8), 8, memory);
        for (size_t d = 0; d < DIMS; d++) {
            const double v = 2 * code.levels[d] + 1 - 256, q = (double)query[d];
            product += q * v;
            q_square += q * q;
            v_square += v * v;
        }
        assert_true(product / sqrt(q_square * v_square) > 0.9999);
    }
    const float zeros[DIMS] = {0};
    assert_true(thr_code_fixed_query_length(zeros, DIMS, 8) == 1);
}

TEST(what_is_no_code_is_refused_by_row_and_dimension) {
    static const float wrong[] = {0, 0.5f, 1.25f, 2, 2.5f, -2.5f, 0.999999f, 1e30f, 0x1p-120f, 3.5f};
    uint64_t rng = test_seed();
    OWNED(thr_context, context) = test_context(2, THR_ISA_BEST, NULL);
    bench *b = make_bench(context, &rng, 1);
    const thr_matrix matrix = thr_matrix_f32(b->rows, ROWS, DIMS);
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        const float was = b->rows[66 * DIMS + 5];
        b->rows[66 * DIMS + 5] = b->rows[68 * DIMS] = wrong[i];
        assert_false(thr_code_is_fixed(b->rows + (size_t)66 * DIMS, DIMS, 1));
        expect_error(thr_code_quantiser_encode(context, &b->quantiser, &matrix, b->codes, NULL, &err), THR_EMISMATCH,
                     "row 66, dimension 5 is ");
        b->rows[66 * DIMS + 5] = was;
    }
    b->rows[68 * DIMS] = NAN;
    expect_error(thr_code_quantiser_encode(context, &b->quantiser, &matrix, b->codes, NULL, &err), THR_ERANGE,
                 "row 68, dimension 0 is not a number");
    memset(b->rows, 0, sizeof b->rows);
    expect_error(thr_code_quantiser_encode(context, &b->quantiser, &matrix, b->codes, NULL, &err), THR_EMISMATCH,
                 "row 0, dimension 0 is 0");
    expect_error(
        thr_code_quantiser_train(context, &matrix, 2, THR_QUANTISER_FIXED | THR_QUANTISER_CENTRE, &b->quantiser, &err),
        THR_EINVAL, "centred");
}
