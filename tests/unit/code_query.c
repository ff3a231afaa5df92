/* SPDX-License-Identifier: Apache-2.0 */
/* code_query.c - total - 2 D is the inner product of the codes' odd integers, XFBQ (5) and (7), by every kernel. */
#include "owned.h"

#include "code/query.h"

#include "code/encode.h"

enum { BLOCKS = 2, ITEMS = BLOCKS * 64 };

/* Blocks of arbitrary bits, as RBE's learned planes are; bits past the last dimension are 0. */
static uint8_t *random_codes(uint64_t *rng, uint32_t n_dims, uint32_t bits) {
    const size_t size = BLOCKS * thr_block_size(n_dims, bits);
    uint8_t *codes = test_new(size, 1);
    for (size_t i = 0; i < size; i++) {
        codes[i] = (uint8_t)thr_rng_next(rng);
        const size_t row = i / 64 / bits % thr_code_rows(n_dims);
        if (row == n_dims / 8)
            codes[i] &= (uint8_t)((1u << n_dims % 8) - 1);
    }
    return codes;
}

/*
 * The integer the quantiser gives a query's component: the same arithmetic as thr_kernels' quantise, but one at a time.
 */
static int query_value(float x, float scale, uint32_t bits) {
    const float half = (float)(1u << (bits - 1));
    return 2 * (int)fminf(fmaxf(floorf(x * scale), -half), half - 1) + 1;
}

/* Every kernel's distances of the codes, from which follow the products of values. */
static void check_distances(const thr_query_code *code, const uint8_t *codes, const int32_t *products,
                            const char *shape) {
    for (int isa = THR_ISA_SCALAR; isa <= THR_ISA_LAST; isa++)
        for (int way = 0; way < 2 && thr_kernel_isa_has((thr_isa)isa); way++) {
            const thr_kernels *kernels = thr_kernels_get((thr_isa)isa);
            uint32_t distances[ITEMS], scratch[ITEMS];
            memset(distances, 0xee, sizeof distances);
            thr_code_query_distances(code, way == 0 ? kernels->distance_xor : kernels->distance_table, codes, BLOCKS,
                                     distances, scratch);
            for (size_t i = 0; i < ITEMS; i++)
                assert_case(code->total - 2 * (int32_t)distances[i] == products[i],
                            "seed %llu: %s, %s, %s: item %zu: %d, not %d", (unsigned long long)test_seed(), shape,
                            thr_isa_name((thr_isa)isa), way == 0 ? "xor" : "table", i,
                            code->total - 2 * (int32_t)distances[i], products[i]);
        }
}

static void check_pair(uint64_t *rng, uint32_t n_dims, uint32_t item_bits, uint32_t query_bits) {
    thr_quantiser quantiser = {.n_dims = n_dims, .item_bits = item_bits};
    for (int b = 0; b < THR_MAX_BITS; b++)
        quantiser.ranges[b] = 0.2f + (float)thr_rng_below(rng, 100) / 200;
    uint8_t *codes = random_codes(rng, n_dims, item_bits);
    float *query = test_new(n_dims, sizeof *query);
    test_gaussian(rng, query, n_dims);
    double square = 0;
    for (uint32_t d = 0; d < n_dims; d++)
        square += (double)query[d] * (double)query[d];
    const double norm = sqrt(square);
    void *memory = test_new_aligned(thr_code_query_size(n_dims));
    memset(memory, 0xee, thr_code_query_size(n_dims));
    thr_query_code code;
    thr_code_query_make(&code, &quantiser, quantiser.item_bits, query, norm, query_bits, memory);

    const float scale = (float)((double)(1u << (query_bits - 1)) / (norm * (double)quantiser.ranges[query_bits - 1]));
    int32_t products[ITEMS] = {0};
    uint64_t query_square = 0;
    for (uint32_t d = 0; d < n_dims; d++) {
        const int q = query_value(query[d], scale, query_bits);
        query_square += (uint64_t)(q * q);
        for (uint64_t i = 0; i < ITEMS; i++)
            products[i] += q * test_code_value(codes, n_dims, item_bits, i, d);
    }
    assert_true(code.gain == (float)(1 / sqrt((double)query_square)));
    assert_int_equal(code.total, (int32_t)(n_dims * ((1u << item_bits) - 1) * ((1u << query_bits) - 1)));
    char shape[64];
    (void)snprintf(shape, sizeof shape, "%u dims, %u x %u bits", n_dims, item_bits, query_bits);
    check_distances(&code, codes, products, shape);
}

TEST(total_minus_twice_the_distance_is_the_integer_product) {
    uint64_t rng = test_seed();
    const uint32_t dims[] = {1, 3, 7, 8, 9, 15, 17, 23, 24, 25, 31, 48, 49, 57, 71, 100};
    for (uint32_t item_bits = 1; item_bits <= THR_MAX_BITS; item_bits++)
        for (uint32_t query_bits = 1; query_bits <= THR_MAX_BITS; query_bits++)
            for (size_t i = 0; i < COUNT_OF(dims); i++)
                check_pair(&rng, dims[i], item_bits, query_bits);
}

/* 32,768 dimensions of 8 x 8 bits are the largest total, just below 2^31. */
TEST(the_largest_codes_do_not_overflow) {
    uint64_t rng = test_seed();
    check_pair(&rng, THR_MAX_DIMS, 8, 8);

    thr_quantiser quantiser = {.n_dims = THR_MAX_DIMS, .item_bits = 8, .ranges = {[7] = 1e-4f}};
    float *query = test_new(THR_MAX_DIMS, sizeof *query);
    for (uint32_t d = 0; d < THR_MAX_DIMS; d++)
        query[d] = 1;
    const size_t size = thr_block_size(THR_MAX_DIMS, 8);
    uint8_t *codes = test_new(size, 1); /* all minus: the largest distance there is */
    void *memory = test_new_aligned(thr_code_query_size(THR_MAX_DIMS));
    thr_query_code code;
    thr_code_query_make(&code, &quantiser, quantiser.item_bits, query, sqrt(THR_MAX_DIMS), 8, memory);
    uint32_t distances[64], scratch[64];
    for (int isa = THR_ISA_SCALAR; isa <= THR_ISA_LAST; isa++) {
        if (!thr_kernel_isa_has((thr_isa)isa))
            continue;
        const thr_kernels *kernels = thr_kernels_get((thr_isa)isa);
        thr_code_query_distances(&code, kernels->distance_table, codes, 1, distances, scratch);
        for (size_t i = 0; i < 64; i++)
            assert_int_equal(distances[i], THR_MAX_DIMS * 255 * 255);
        thr_code_query_distances(&code, kernels->distance_xor, codes, 1, distances, scratch);
        for (size_t i = 0; i < 64; i++)
            assert_int_equal(distances[i], THR_MAX_DIMS * 255 * 255);
    }
}

/* A query's code is the code the same vector gets as an item of as many bits. */
TEST(a_query_and_an_item_of_the_same_bits_have_the_same_code) {
    enum { DIMS = 45 };
    uint64_t rng = test_seed();
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    for (uint32_t bits = 1; bits <= THR_MAX_BITS; bits++) {
        thr_quantiser quantiser = {.n_dims = DIMS, .item_bits = bits};
        for (int b = 0; b < THR_MAX_BITS; b++)
            quantiser.ranges[b] = 0.4f;
        float row[DIMS], norm = 0;
        uint32_t square = 0;
        test_gaussian(&rng, row, DIMS);
        const thr_matrix matrix = thr_matrix_f32(row, 1, DIMS);
        uint8_t *codes = test_new(thr_code_size(&quantiser, 1), 1);
        expect_ok(thr_code_encode_blocks(context, &quantiser, &matrix, 0, codes,
                                         &(const thr_measures){.norms = &norm, .code_squares = &square}, &err));
        void *memory = test_new_aligned(thr_code_query_size(DIMS));
        thr_query_code code;
        const double length = sqrt(context->kernels->sum_squares(row, DIMS));
        thr_code_query_make(&code, &quantiser, quantiser.item_bits, row, length, bits, memory);
        uint32_t distances[64], scratch[64];
        thr_code_query_distances(&code, context->kernels->distance_xor, codes, 1, distances, scratch);
        assert_int_equal(code.total - 2 * (int32_t)distances[0], square);
    }
}
