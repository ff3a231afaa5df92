/* SPDX-License-Identifier: Apache-2.0 */
/* code_encode.c - encoding against the recursion of XFBQ 3.2, the block layout of codes.h, and refusals. */
#include "owned.h"

#include "code/encode.h"

#include "base/half.h"
#include "code/rotate.h"
#include "kernel/kernel.h"

enum { MOST_DIMS = 80 };

/*
 * XFBQ 3.2: f_0 = 0; each next digit a is the sign of the residual, and adds a / 2^i. Planes, most significant first.
 * *margin gets how close x came to any of the borders it was compared with.
 */
static void encode_by_the_paper(double x, uint32_t bits, unsigned planes[], double *margin) {
    double sum = 0;
    *margin = 1;
    for (uint32_t i = 0; i < bits; i++) {
        *margin = fmin(*margin, fabs(x - sum));
        planes[i] = x - sum >= 0;
        sum += (planes[i] ? 1 : -1) * ldexp(1, -(int)(i + 1));
    }
}

TEST(codes_are_those_of_the_papers_recursion) {
    uint64_t rng = test_seed();
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    size_t compared = 0, near = 0;
    for (uint32_t bits = 1; bits <= THR_MAX_BITS; bits++)
        for (uint32_t n_dims = 1; n_dims <= MOST_DIMS; n_dims += 13) {
            enum { ROWS = 70 };
            thr_quantiser quantiser = {.n_dims = n_dims, .item_bits = bits};
            quantiser.ranges[bits - 1] = 0.1f + (float)thr_rng_below(&rng, 1000) / 1500;
            float rows[ROWS * MOST_DIMS], norms[ROWS];
            test_gaussian(&rng, rows, (size_t)ROWS * n_dims);
            const thr_matrix matrix = thr_matrix_f32(rows, ROWS, n_dims);
            uint8_t *codes = test_new(thr_code_size(&quantiser, ROWS), 1);
            expect_ok(thr_code_quantiser_encode(context, &quantiser, &matrix, codes, norms, &err));
            for (uint32_t r = 0; r < ROWS; r++) {
                double square = 0;
                for (uint32_t d = 0; d < n_dims; d++)
                    square += (double)rows[r * n_dims + d] * (double)rows[r * n_dims + d];
                assert_true(fabs((double)norms[r] - sqrt(square)) <= 1e-6 * sqrt(square));
                for (uint32_t d = 0; d < n_dims; d++) {
                    const double x = (double)rows[r * n_dims + d] / sqrt(square) / (double)quantiser.ranges[bits - 1];
                    unsigned planes[THR_MAX_BITS];
                    double margin = 0;
                    encode_by_the_paper(x, bits, planes, &margin);
                    compared++;
                    near += margin < 1e-6;
                    for (uint32_t p = 0; p < bits && margin >= 1e-6; p++)
                        assert_case(test_code_bit(codes, n_dims, bits, r, d, p) == planes[p],
                                    "seed %llu: %u bits, %u dims, row %u, dimension %u: plane %u of %.9g is not %u",
                                    (unsigned long long)test_seed(), bits, n_dims, r, d, p, x, planes[p]);
                }
            }
        }
    assert_case(near * 1000 < compared, "%zu of %zu values too near a border to judge", near, compared);
}

TEST(bytes_follow_the_layout) {
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    /* Two planes of nine dimensions: cells 0 1 2 3 are 00 01 10 11. Lengths 1, range 1/2: 3 is x >= 1/4. */
    const thr_quantiser quantiser = {.n_dims = 9, .item_bits = 2, .ranges = {1, 0.5f}};
    float rows[66 * 9] = {0};
    float *x = rows + 65 * 9;
    const float values[9] = {0.5f, -0.5f, 0.125f, -0.125f, 0.5f, -0.2f, 0.125f, 0.3f, 0.2f};
    memcpy(x, values, sizeof values);
    double square = 0;
    for (int d = 0; d < 8; d++)
        square += (double)values[d] * (double)values[d];
    x[8] = (float)-sqrt(1 - square);
    const thr_matrix matrix = thr_matrix_f32(rows, 66, 9);
    assert_int_equal(thr_code_size(&quantiser, 66), 2 * 64 * 2 * 2);
    assert_int_equal(thr_code_size(&quantiser, 0), 0);
    uint8_t codes[512];
    memset(codes, 0xee, sizeof codes);
    expect_ok(thr_code_quantiser_encode(context, &quantiser, &matrix, codes, NULL, &err));
    /* Item 65 is place 1 of block 1; cells by dimension: 3 0 2 1 3 1 2 3 | 0. */
    uint8_t wanted[512] = {0};
    wanted[256 + 0 * 64 + 1] = 0xd5; /* row 0, plane 0: dimensions 0 2 4 6 7 */
    wanted[256 + 1 * 64 + 1] = 0xb9; /* row 0, plane 1: dimensions 0 3 4 5 7 */
    assert_memory_equal(codes, wanted, sizeof codes);
}

TEST(zero_rows_get_the_all_minus_code_and_norm_zero) {
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    const thr_quantiser quantiser = {.n_dims = 3, .item_bits = 3, .ranges = {1, 1, 1, 1, 1, 1, 1, 1}};
    const float small = 0x1p-99f;
    const float rows[4 * 3] = {0, 0, 0, 0, -0.0f, 0, -0.0f, 0, 0, small, small, small};
    const thr_matrix matrix = thr_matrix_f32(rows, 4, 3);
    uint8_t codes[3 * 64];
    float norms[4];
    uint32_t squares[4];
    expect_ok(thr_code_encode_blocks(context, &quantiser, &matrix, 0, codes,
                                     &(const thr_measures){.norms = norms, .code_squares = squares}, &err));
    for (uint32_t r = 0; r < 3; r++) {
        assert_true(norms[r] == 0);
        assert_int_equal(squares[r], 3 * 49);
        for (uint32_t d = 0; d < 3; d++)
            assert_int_equal(test_code_value(codes, 3, 3, r, d), -7);
    }
    assert_true(norms[3] > 0);
    for (uint32_t d = 0; d < 3; d++)
        assert_int_equal(test_code_value(codes, 3, 3, 3, d), 5); /* 0.577 of 1: cell 6 */
}

TEST(short_rows_are_refused_by_number_in_every_type) {
    OWNED(thr_context, context) = test_context(2, THR_ISA_BEST, NULL);
    const thr_quantiser quantiser = {.n_dims = 3, .item_bits = 3, .ranges = {1, 1, 1, 1, 1, 1, 1, 1}};
    static const float floats[2 * 3] = {1, 1, 1, 0, 0x1p-101f, 0};
    static const double doubles[][2 * 3] = {{1, 1, 1, 1e-31, 0, 0}, {1, 1, 1, 0, 0, -1e-45}, {1, 1, 1, 5e-324, 0, 0}};
    static const uint16_t bfloats[2 * 3] = {0x3f80, 0, 0, 0, 0, 1};
    const thr_matrix matrices[] = {thr_matrix_f32(floats, 2, 3),
                                   {doubles[0], 2, 3, THR_DTYPE_F64, 24},
                                   {doubles[1], 2, 3, THR_DTYPE_F64, 24},
                                   {doubles[2], 2, 3, THR_DTYPE_F64, 24},
                                   {bfloats, 2, 3, THR_DTYPE_BF16, 6}};
    for (size_t i = 0; i < COUNT_OF(matrices); i++) {
        uint8_t codes[3 * 64];
        float norms[2];
        expect_error(thr_code_encode_blocks(context, &quantiser, &matrices[i], 40, codes,
                                            &(const thr_measures){.norms = norms}, &err),
                     THR_ERANGE, "row 41 is shorter than 2^-100 but not zero");
    }
}

TEST(code_squares_are_the_squared_lengths_of_the_integers) {
    uint64_t rng = test_seed();
    OWNED(thr_context, context) = test_context(2, THR_ISA_BEST, NULL);
    for (uint32_t bits = 1; bits <= THR_MAX_BITS; bits++)
        for (uint32_t n_dims = 1; n_dims <= MOST_DIMS; n_dims += 7) {
            enum { ROWS = 130 };
            thr_quantiser quantiser = {.n_dims = n_dims, .item_bits = bits};
            quantiser.ranges[bits - 1] = 0.3f;
            float *rows = test_new((size_t)ROWS * n_dims, sizeof *rows), norms[ROWS];
            uint32_t squares[ROWS];
            test_gaussian(&rng, rows, (size_t)ROWS * n_dims);
            const thr_matrix matrix = thr_matrix_f32(rows, ROWS, n_dims);
            uint8_t *codes = test_new(thr_code_size(&quantiser, ROWS), 1);
            expect_ok(thr_code_encode_blocks(context, &quantiser, &matrix, 0, codes,
                                             &(const thr_measures){.norms = norms, .code_squares = squares}, &err));
            for (uint32_t r = 0; r < ROWS; r++) {
                uint32_t square = 0;
                for (uint32_t d = 0; d < n_dims; d++) {
                    const int v = test_code_value(codes, n_dims, bits, r, d);
                    square += (uint32_t)(v * v);
                }
                assert_case(squares[r] == square, "seed %llu: %u bits, %u dims, row %u: %u, not %u",
                            (unsigned long long)test_seed(), bits, n_dims, r, squares[r], square);
            }
        }
}

/* <r^, b> by the definition, in double: b is read from the stored code, leading planes by dropping the others. */
static double product_with_code(const uint8_t *codes, uint32_t n_dims, uint32_t bits, uint32_t lead, uint64_t item,
                                const float *residual) {
    double sum = 0, square = 0;
    for (uint32_t d = 0; d < n_dims; d++) {
        const int u = (test_code_value(codes, n_dims, bits, item, d) + (1 << bits) - 1) / 2;
        sum += (double)residual[d] * (2 * (u >> (bits - lead)) + 1 - (1 << lead));
        square += (double)residual[d] * (double)residual[d];
    }
    return sum / sqrt(square);
}

/*
 * The stated order: 16 partial sums of scaled components times integers, halves 8, 4, 2, 1, then what undoes the scale.
 */
static float product_in_order(const uint8_t *codes, const thr_quantiser *quantiser, uint32_t lead, uint64_t item,
                              const float *residual) {
    const uint32_t n_dims = quantiser->n_dims, bits = quantiser->item_bits;
    const double half = 1 << (bits - 1), range = (double)quantiser->ranges[bits - 1];
    double square[8] = {0};
    float lanes[16] = {0};
    for (uint32_t d = 0; d < n_dims; d++)
        square[d % 8] += (double)residual[d] * (double)residual[d];
    for (size_t h = 4; h > 0; h /= 2)
        for (size_t l = 0; l < h; l++)
            square[l] += square[l + h];
    const float scale = (float)(half / range / sqrt(square[0]));
    for (uint32_t d = 0; d < n_dims; d++) {
        const int u = (test_code_value(codes, n_dims, bits, item, d) + (1 << bits) - 1) / 2;
        const float y = residual[d] * scale;
        lanes[d % 16] += y * (float)(2 * (u >> (bits - lead)) + 1 - (1 << lead));
    }
    for (size_t h = 8; h > 0; h /= 2)
        for (size_t l = 0; l < h; l++)
            lanes[l] += lanes[l + h];
    return (float)((double)lanes[0] * (range / half));
}

TEST(products_are_those_of_the_residuals_directions_and_their_codes) {
    enum { ROWS = 70 };
    uint64_t rng = test_seed();
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    for (uint32_t bits = 1; bits <= THR_MAX_BITS; bits++)
        for (uint32_t n_dims = 1; n_dims <= MOST_DIMS; n_dims += 9) {
            const uint32_t lead = 1 + (uint32_t)thr_rng_below(&rng, bits);
            thr_quantiser quantiser = {.n_dims = n_dims, .item_bits = bits};
            quantiser.ranges[bits - 1] = 0.1f + (float)thr_rng_below(&rng, 1000) / 1500;
            float rows[ROWS * MOST_DIMS], norms[ROWS], products[ROWS], lead_products[ROWS];
            test_gaussian(&rng, rows, (size_t)ROWS * n_dims);
            memset(rows, 0, n_dims * sizeof *rows);
            const thr_matrix matrix = thr_matrix_f32(rows, ROWS, n_dims);
            uint8_t *codes = test_new(thr_code_size(&quantiser, ROWS), 1);
            const thr_measures measures = {
                .norms = norms, .products = products, .lead_products = lead_products, .lead = lead};
            expect_ok(thr_code_encode_blocks(context, &quantiser, &matrix, 0, codes, &measures, &err));
            assert_true(products[0] == 0 && lead_products[0] == 0);
            for (uint32_t r = 1; r < ROWS; r++) {
                const float *row = rows + (size_t)r * n_dims;
                const double full = product_with_code(codes, n_dims, bits, bits, r, row);
                const double part = product_with_code(codes, n_dims, bits, lead, r, row);
                assert_case(fabs((double)products[r] - full) <= 1e-5 * full &&
                                fabs((double)lead_products[r] - part) <= 1e-5 * part,
                            "seed %llu: %u of %u bits, %u dims, row %u: %.9g and %.9g, not %.9g and %.9g",
                            (unsigned long long)test_seed(), lead, bits, n_dims, r, (double)products[r],
                            (double)lead_products[r], full, part);
                assert_true(products[r] == product_in_order(codes, &quantiser, bits, r, row));
                assert_true(lead_products[r] == product_in_order(codes, &quantiser, lead, r, row));
                assert_true(products[r] > 0.9999f && lead_products[r] > 0.9999f);
            }
        }
}

/*
 * With a centre and a rotation the residual is coded: the same codes and products as of rows rotated
 * beforehand.
 */
TEST(rotated_residuals_are_coded_as_if_they_were_the_rows) {
    enum { ROWS = 70, DIMS = 37, BITS = 3 };
    uint64_t rng = test_seed();
    OWNED(thr_context, context) = test_context(2, THR_ISA_BEST, NULL);
    float rows[ROWS * DIMS], turned[ROWS * DIMS], centre[DIMS], norms[ROWS], products[2][ROWS], residuals[2][ROWS];
    test_gaussian(&rng, rows, (size_t)ROWS * DIMS);
    test_gaussian(&rng, centre, DIMS);
    thr_quantiser plain = {.n_dims = DIMS, .item_bits = BITS, .ranges = {1, 1, 0.4f}}, rotating = plain;
    expect_ok(thr_code_quantiser_rotate(context, &rotating, 77, &err));
    for (int centred = 0; centred < 2; centred++) {
        rotating.centre = centred == 1 ? centre : NULL;
        for (size_t r = 0; r < ROWS; r++) {
            for (size_t d = 0; d < DIMS; d++)
                turned[r * DIMS + d] = rows[r * DIMS + d] - (centred == 1 ? centre[d] : 0);
            thr_code_rotation_apply(rotating.rotation, turned + r * DIMS);
        }
        const thr_matrix matrices[2] = {thr_matrix_f32(turned, ROWS, DIMS), thr_matrix_f32(rows, ROWS, DIMS)};
        uint8_t codes[2][2 * 64 * BITS * 5];
        for (int i = 0; i < 2; i++)
            expect_ok(thr_code_encode_blocks(
                context, i == 0 ? &plain : &rotating, &matrices[i], 0, codes[i],
                &(const thr_measures){.norms = norms, .residuals = residuals[i], .products = products[i]}, &err));
        /* Lengths differ in the last bits before and after a rotation: a component on a border may change its cell. */
        size_t other_bits = 0;
        for (size_t b = 0; b < sizeof codes[0]; b++)
            other_bits += (size_t)__builtin_popcount((unsigned)(codes[0][b] ^ codes[1][b]));
        assert_case(other_bits <= 6, "seed %llu: %zu bits differ", (unsigned long long)test_seed(), other_bits);
        for (size_t r = 0; r < ROWS; r++) {
            assert_true(fabsf(residuals[0][r] - residuals[1][r]) <= 1e-5f * residuals[0][r]);
            assert_true(fabsf(products[0][r] - products[1][r]) <= 1e-5f * products[0][r]);
        }
    }
    rotating.centre = NULL;
    thr_code_quantiser_free(context, &rotating);
    assert_null(rotating.rotation);
}

/* One value into a row of any dtype. */
static void put(void *row, thr_dtype dtype, uint32_t d, int value) {
    switch (dtype) {
#define CASE(name, type)                                                                                               \
    case THR_DTYPE_##name: {                                                                                           \
        const type x = (type)value;                                                                                    \
        memcpy((char *)row + d * sizeof x, &x, sizeof x);                                                              \
        break;                                                                                                         \
    }
        CASE(F32, float)
        CASE(I8, int8_t)
        CASE(U8, uint8_t)
        CASE(F64, double)
        CASE(I32, int32_t)
        CASE(U32, uint32_t)
        CASE(I64, int64_t)
        CASE(U64, uint64_t)
#undef CASE
    default: {
        const uint16_t x = thr_half_from_f32((float)value);
        memcpy((char *)row + d * sizeof x, &x, sizeof x);
    }
    }
}

TEST(every_dtype_and_stride_gives_the_same_codes) {
    enum { ROWS = 67, DIMS = 19, PAD = 5 };
    uint64_t rng = test_seed();
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    thr_quantiser quantiser = {.n_dims = DIMS, .item_bits = 4, .ranges = {0.5f, 0.5f, 0.5f, 0.5f}};
    int values[ROWS * DIMS];
    float floats[ROWS * DIMS];
    for (size_t i = 0; i < ROWS * DIMS; i++) {
        values[i] = (int)thr_rng_below(&rng, 128);
        floats[i] = (float)values[i];
    }
    const size_t size = thr_code_size(&quantiser, ROWS);
    uint8_t *wanted = test_new(size, 1), *codes = test_new(size, 1);
    float wanted_norms[ROWS], norms[ROWS];
    const thr_matrix plain = thr_matrix_f32(floats, ROWS, DIMS);
    expect_ok(thr_code_quantiser_encode(context, &quantiser, &plain, wanted, wanted_norms, &err));
    for (int dtype = THR_DTYPE_F32; dtype <= THR_DTYPE_U64; dtype++) {
        const size_t stride = DIMS * thr_dtype_size((thr_dtype)dtype) + PAD; /* rows become unaligned */
        char *data = test_new(ROWS, stride);
        for (size_t r = 0; r < ROWS; r++)
            for (uint32_t d = 0; d < DIMS; d++)
                put(data + r * stride, (thr_dtype)dtype, d, values[r * DIMS + d]);
        const thr_matrix matrix = {data, ROWS, DIMS, (thr_dtype)dtype, stride};
        expect_ok(thr_code_quantiser_encode(context, &quantiser, &matrix, codes, norms, &err));
        assert_memory_equal(codes, wanted, size);
        assert_memory_equal(norms, wanted_norms, sizeof norms);
    }
}

TEST(threads_and_levels_do_not_change_a_byte) {
    enum { ROWS = 1000, DIMS = 37 };
    uint64_t rng = test_seed();
    thr_quantiser quantiser = {.n_dims = DIMS, .item_bits = 3, .ranges = {0.4f, 0.4f, 0.4f}};
    OWNED(thr_context, owner) = test_context(1, THR_ISA_SCALAR, NULL);
    float *rows = test_new((size_t)ROWS * DIMS, sizeof *rows);
    test_gaussian(&rng, rows, (size_t)ROWS * DIMS);
    const thr_matrix matrix = thr_matrix_f32(rows, ROWS, DIMS);
    const size_t size = thr_code_size(&quantiser, ROWS);
    uint8_t *wanted = test_new(size, 1), *codes = test_new(size, 1);
    float wanted_norms[ROWS], norms[ROWS], wanted_products[2 * ROWS], products[2 * ROWS];
    expect_ok(thr_code_quantiser_rotate(owner, &quantiser, 5, &err));
    for (int isa = THR_ISA_SCALAR; isa <= THR_ISA_LAST; isa++)
        for (uint32_t n_threads = 1; n_threads <= 8 && thr_kernel_isa_has((thr_isa)isa); n_threads++) {
            const bool first = isa == THR_ISA_SCALAR && n_threads == 1;
            thr_context *context = test_context(n_threads, (thr_isa)isa, NULL);
            memset(codes, 0xee, size);
            float *out = first ? wanted_products : products;
            const thr_measures measures = {
                .norms = first ? wanted_norms : norms, .products = out, .lead_products = out + ROWS, .lead = 1};
            expect_ok(thr_code_encode_blocks(context, &quantiser, &matrix, 0, first ? wanted : codes, &measures, &err));
            thr_context_free(context);
            if (first)
                continue;
            assert_memory_equal(products, wanted_products, sizeof products);
            assert_memory_equal(codes, wanted, size);
            assert_memory_equal(norms, wanted_norms, sizeof norms);
        }
    thr_code_quantiser_free(owner, &quantiser);
}

TEST(rows_that_cannot_be_encoded_are_named) {
    enum { ROWS = 200, DIMS = 11 };
    OWNED(thr_context, context) = test_context(2, THR_ISA_BEST, NULL);
    const thr_quantiser quantiser = {.n_dims = DIMS, .item_bits = 1, .ranges = {1}, .unit = true};
    uint8_t *codes = test_new(thr_code_size(&quantiser, ROWS), 1);
    float *rows = test_new((size_t)ROWS * DIMS, sizeof *rows), norms[ROWS];
    const struct {
        float value;
        const char *text;
    } cases[] = {{NAN, "row 1137, dimension 7 is not a number"},
                 {INFINITY, "row 1137, dimension 7 is infinite"},
                 {-INFINITY, "row 1137, dimension 7 is infinite"},
                 {0x1.8p120f, "row 1137 is longer than 2^120"},
                 {3e38f, "row 1137 is longer than 2^120"}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        for (size_t i = 0; i < (size_t)ROWS * DIMS; i++)
            rows[i] = 1;
        rows[137 * DIMS + 7] = cases[c].value;
        const thr_matrix matrix = thr_matrix_f32(rows, ROWS, DIMS);
        expect_error(thr_code_encode_blocks(context, &quantiser, &matrix, 1000, codes,
                                            &(const thr_measures){.norms = norms, .code_squares = NULL}, &err),
                     THR_ERANGE, cases[c].text);
        expect_error(thr_code_quantiser_encode(context, &quantiser, &matrix, codes, NULL, &err), THR_ERANGE, "row 137");
    }
    /* Lengths count without unit, and products of two rows must stay inside float32. */
    const thr_quantiser raw = {.n_dims = DIMS, .item_bits = 1, .ranges = {1}};
    const thr_matrix matrix = thr_matrix_f32(rows, ROWS, DIMS);
    rows[137 * DIMS + 7] = 0x1.8p60f;
    expect_error(thr_code_quantiser_encode(context, &raw, &matrix, codes, NULL, &err), THR_ERANGE,
                 "row 137 is longer than 2^60");
    expect_ok(thr_code_quantiser_encode(context, &quantiser, &matrix, codes, NULL, &err));
}

/* The length is judged in double: rounded to float32 it is 2^120. */
TEST(a_row_a_hair_longer_than_2_to_the_120_is_refused) {
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    const thr_quantiser quantiser = {.n_dims = 2, .item_bits = 1, .ranges = {1}, .unit = true};
    uint8_t codes[64];
    float row[2] = {0x1p120f, 0};
    const thr_matrix matrix = thr_matrix_f32(row, 1, 2);
    expect_ok(thr_code_quantiser_encode(context, &quantiser, &matrix, codes, NULL, &err));
    row[1] = 0x1p107f;
    expect_error(thr_code_quantiser_encode(context, &quantiser, &matrix, codes, NULL, &err), THR_ERANGE, "row 0");
}

TEST(other_dimensions_are_edim) {
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    const thr_quantiser quantiser = {.n_dims = 2, .item_bits = 1, .ranges = {1}};
    uint8_t codes[64];
    const float row[3] = {1, 2, 3};
    const thr_matrix matrix = thr_matrix_f32(row, 1, 3);
    expect_error(thr_code_quantiser_encode(context, &quantiser, &matrix, codes, NULL, &err), THR_EDIM, "3 dimensions");
    const thr_matrix nothing = thr_matrix_f32(row, 0, 2);
    expect_ok(thr_code_quantiser_encode(context, &quantiser, &nothing, codes, NULL, &err));
}

TEST(every_failing_allocation_is_enomem_and_leaves_nothing) {
    const thr_quantiser quantiser = {.n_dims = 2, .item_bits = 1, .ranges = {1}};
    const float row[2] = {1, 2};
    const thr_matrix matrix = thr_matrix_f32(row, 1, 2);
    uint8_t codes[64];
    test_memory memory = {0};
    thr_context *context = test_context(1, THR_ISA_BEST, &memory);
    test_oom oom = test_oom_start(&memory);
    while (test_oom_next(&oom)) {
        test_oom_arm(&oom);
        const thr_status status = thr_code_quantiser_encode(context, &quantiser, &matrix, codes, NULL, &err);
        (void)test_oom_check(&oom, status, &err, "no memory");
    }
    assert_true(oom.n_failed > 0);
    thr_context_free(context);
    assert_int_equal(memory.live, 0);
}
